// SPDX-License-Identifier: Apache-2.0
#include "tasks/text_model.h"

#include <algorithm>
#include <filesystem>
#include <system_error>

#include "base/mapped_file.h"
#include "base/str_cat.h"
#include "format/portable.h"
#include "model/lfm2/load.h"
#include "text/builtin_templates.h"

namespace rill::tasks {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kDefaultTemplate = "lfm2.5";

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

Result<std::string> read_text(const std::string& path) {
  RILL_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path));
  const std::span<const std::byte> bytes = file.bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<std::string> read_text_if_there(const std::string& path) {
  if (!exists(path)) return std::string();
  return read_text(path);
}

/// The language model's file among the GGUF files of a directory.
Result<std::string> choose_gguf(const std::string& directory, const std::string& wanted) {
  if (!wanted.empty()) return directory + "/" + wanted;
  std::vector<std::string> names;
  std::error_code failed;
  for (fs::directory_iterator it(directory, failed), end; !failed && it != end;
       it.increment(failed)) {
    const std::string name = it->path().filename().string();
    const bool is_companion = name.starts_with("mmproj-") || name.starts_with("vocoder-") ||
                              name.starts_with("tokenizer-");
    if (name.ends_with(".gguf") && !is_companion) names.push_back(name);
  }
  if (failed) return Error{ErrorCode::kIo, cat(directory, ": ", failed.message())};
  std::sort(names.begin(), names.end());
  if (names.size() == 1) return directory + "/" + names[0];
  if (names.empty()) {
    return Error{ErrorCode::kNotFound,
                 cat("open text model: ", directory,
                     ": got neither a GGUF file nor config.json, expected a model")};
  }
  std::string list;
  for (const std::string& name : names) list += cat(list.empty() ? "" : ", ", printable(name));
  return Error{ErrorCode::kInvalidArgument,
               cat("open text model: ", directory, ": got several models (", list,
                   "), expected the path of one")};
}

Result<text::Tokenizer> directory_tokenizer(const std::string& directory) {
  RILL_ASSIGN_OR_RETURN(const std::string json, read_text(directory + "/tokenizer.json"));
  RILL_ASSIGN_OR_RETURN(const std::string config,
                        read_text_if_there(directory + "/tokenizer_config.json"));
  return text::Tokenizer::from_json(json, config, directory);
}

/// The default template of a tokenizer_config.json; "" if it has none.
Result<std::string> config_template(const std::string& path) {
  if (!exists(path)) return std::string();
  RILL_ASSIGN_OR_RETURN(const Json config, model::lfm2::read_json_file(path));
  const Json* value = config.find("chat_template");
  if (value == nullptr || value->is_null()) return std::string();
  if (value->is_string()) return value->as_string();
  if (value->is_array()) {
    for (const Json& item : value->items()) {
      const Json* name = item.find("name");
      const Json* text = item.find("template");
      if (name != nullptr && name->is_string() && name->as_string() == "default" &&
          text != nullptr && text->is_string())
        return text->as_string();
    }
  }
  return Error{ErrorCode::kInvalidFormat,
               cat(path, ": chat_template: expected a text, or a list with a default")};
}

Error out_of_range(const std::string& where, std::string_view key, double got) {
  return Error{ErrorCode::kInvalidFormat, cat(where, ": ", key, ": got ", got, ", out of range")};
}

/// Sets a default by the name that generation_config.json has for it.
Status set_default(const std::string& where, std::string_view key, double value,
                   GenerationDefaults& defaults) {
  if (!(value >= 0 && value <= 1e6)) return out_of_range(where, key, value);
  const auto number = static_cast<float>(value);
  if (key == "temperature") {
    defaults.temperature = number;
  } else if (key == "top_k") {
    defaults.top_k = static_cast<size_t>(value);
  } else if (key == "top_p") {
    if (value == 0 || value > 1) return out_of_range(where, key, value);
    defaults.top_p = number;
  } else if (key == "min_p") {
    if (value > 1) return out_of_range(where, key, value);
    defaults.min_p = number;
  } else {
    if (value == 0 || value > 100) return out_of_range(where, key, value);
    defaults.repetition_penalty = number;
  }
  return {};
}

constexpr std::string_view kDefaultKeys[] = {"temperature", "top_k", "top_p", "min_p",
                                             "repetition_penalty"};
/// What llama.cpp's converters call them.
constexpr std::string_view kGeneralKeys[] = {"temp", "top_k", "top_p", "min_p", "penalty_repeat"};

/// A model that states one of its settings states them all: what it leaves out is neutral.
constexpr GenerationDefaults kNeutral = {1.0f, 0, 1.0f, 0.0f, 1.0f};

Result<std::optional<double>> metadata_number(const format::Metadata& metadata,
                                              const std::string& key, bool is_count) {
  if (!metadata.has(key)) return std::optional<double>();
  if (is_count) {
    RILL_ASSIGN_OR_RETURN(const uint32_t count, metadata.get_u32(key));
    return std::optional<double>(count);
  }
  RILL_ASSIGN_OR_RETURN(const double value, metadata.get_float(key));
  return std::optional<double>(value);
}

Status read_metadata_defaults(const format::Metadata& metadata, GenerationDefaults& defaults) {
  GenerationDefaults stated = kNeutral;
  bool any = false;
  for (size_t i = 0; i < std::size(kDefaultKeys); ++i) {
    for (const std::string& key : {cat("general.sampling.", kGeneralKeys[i]),
                                   cat("rill.generation.chat.", kDefaultKeys[i])}) {
      RILL_ASSIGN_OR_RETURN(const auto value,
                            metadata_number(metadata, key, kDefaultKeys[i] == "top_k"));
      if (!value) continue;
      any = true;
      RILL_RETURN_IF_ERROR(
          set_default(cat(metadata.source(), ": ", key), kDefaultKeys[i], *value, stated));
    }
  }
  if (any) defaults = stated;
  return {};
}

}  // namespace

Result<ModelPath> classify_model_path(const std::string& path) {
  std::error_code ignored;
  if (!fs::exists(path, ignored)) {
    return Error{ErrorCode::kNotFound, cat("open model: ", path, ": no such file or directory")};
  }
  if (!fs::is_directory(path, ignored)) return ModelPath::kGgufFile;
  return exists(path + "/config.json") ? ModelPath::kTransformersDirectory
                                       : ModelPath::kPackageDirectory;
}

Result<text::Tokenizer> open_tokenizer(const std::string& path) {
  RILL_ASSIGN_OR_RETURN(const ModelPath kind, classify_model_path(path));
  std::string file = path;
  if (kind != ModelPath::kGgufFile) {
    if (exists(path + "/tokenizer.json")) return directory_tokenizer(path);
    RILL_ASSIGN_OR_RETURN(file, choose_gguf(path, ""));
  } else if (path.ends_with(".json")) {
    RILL_ASSIGN_OR_RETURN(const std::string json, read_text(path));
    return text::Tokenizer::from_json(json, "", path);
  }
  RILL_ASSIGN_OR_RETURN(const auto gguf, format::GgufFile::open(file));
  return text::Tokenizer::from_metadata(gguf.metadata());
}

Result<std::unique_ptr<TextModel>> TextModel::open(const std::string& path,
                                                   const TextModelOptions& options,
                                                   ThreadPool& pool) {
  RILL_ASSIGN_OR_RETURN(const ModelPath kind, classify_model_path(path));
  std::unique_ptr<TextModel> model(new TextModel());
  if (kind == ModelPath::kTransformersDirectory) {
    RILL_RETURN_IF_ERROR(model->open_directory(path, pool, options));
  } else {
    std::string file = path;
    if (kind == ModelPath::kPackageDirectory) {
      RILL_ASSIGN_OR_RETURN(file, choose_gguf(path, options.gguf));
    }
    RILL_RETURN_IF_ERROR(model->open_gguf(file, options, pool));
  }
  RILL_RETURN_IF_ERROR(model->finish(options));
  return model;
}

Result<std::unique_ptr<TextModel>> TextModel::of_package(const model::lfm2_audio::Model& package,
                                                         const TextModelOptions& options) {
  std::unique_ptr<TextModel> model(new TextModel());
  model->backbone_ = &package.backbone();
  model->tokenizer_ = &package.tokenizer();
  RILL_RETURN_IF_ERROR(model->read_metadata(package.metadata(), options));
  RILL_RETURN_IF_ERROR(model->finish(options));
  return model;
}

Status TextModel::open_gguf(const std::string& path, const TextModelOptions& options,
                            ThreadPool& pool) {
  RILL_ASSIGN_OR_RETURN(file_, format::GgufFile::open(path));
  RILL_RETURN_IF_ERROR(format::check_portable(file_));
  RILL_ASSIGN_OR_RETURN(auto tokenizer, text::Tokenizer::from_metadata(file_.metadata()));
  owned_tokenizer_ = std::make_unique<text::Tokenizer>(std::move(tokenizer));
  tokenizer_ = owned_tokenizer_.get();
  RILL_RETURN_IF_ERROR(read_metadata(file_.metadata(), options));
  const auto form =
      options.repack ? model::lfm2::MatrixForm::kPacked : model::lfm2::MatrixForm::kBorrowed;
  RILL_ASSIGN_OR_RETURN(owned_backbone_, model::lfm2::load_gguf(file_, {.form = form}, pool));
  backbone_ = owned_backbone_.get();
  return {};
}

Status TextModel::read_metadata(const format::Metadata& metadata, const TextModelOptions& options) {
  RILL_ASSIGN_OR_RETURN(name_, metadata.get_string_or("general.name", ""));
  RILL_ASSIGN_OR_RETURN(const std::string own,
                        metadata.get_string_or("tokenizer.chat_template", ""));
  RILL_RETURN_IF_ERROR(read_metadata_defaults(metadata, defaults_));
  return choose_template(options, own, cat(metadata.source(), ": tokenizer.chat_template"));
}

Status TextModel::open_directory(const std::string& path, ThreadPool& pool,
                                 const TextModelOptions& options) {
  RILL_ASSIGN_OR_RETURN(auto tokenizer, directory_tokenizer(path));
  owned_tokenizer_ = std::make_unique<text::Tokenizer>(std::move(tokenizer));
  tokenizer_ = owned_tokenizer_.get();
  name_ = fs::path(path).filename().string();
  if (name_.empty()) name_ = fs::path(path).parent_path().filename().string();
  RILL_ASSIGN_OR_RETURN(std::string own, read_text_if_there(path + "/chat_template.jinja"));
  std::string where = path + "/chat_template.jinja";
  if (own.empty()) {
    where = path + "/tokenizer_config.json";
    RILL_ASSIGN_OR_RETURN(own, config_template(where));
  }
  RILL_RETURN_IF_ERROR(choose_template(options, own, where));
  RILL_RETURN_IF_ERROR(read_generation_config(path + "/generation_config.json"));
  RILL_ASSIGN_OR_RETURN(owned_backbone_, model::lfm2::load_directory(path, pool));
  backbone_ = owned_backbone_.get();
  return {};
}

Status TextModel::read_generation_config(const std::string& path) {
  if (!exists(path)) return {};
  RILL_ASSIGN_OR_RETURN(const Json config, model::lfm2::read_json_file(path));
  GenerationDefaults stated = kNeutral;
  bool any = false;
  for (const std::string_view key : kDefaultKeys) {
    const Json* value = config.find(key);
    if (value == nullptr || value->is_null()) continue;
    if (!value->is_number())
      return Error{ErrorCode::kInvalidFormat, cat(path, ": ", key, ": expected a number")};
    any = true;
    RILL_RETURN_IF_ERROR(set_default(path, key, value->as_double(), stated));
  }
  const Json* do_sample = config.find("do_sample");
  if (any && do_sample != nullptr && do_sample->is_bool() && !do_sample->as_bool())
    stated.temperature = 0;
  if (any) defaults_ = stated;
  const Json* eos = config.find("eos_token_id");
  if (eos == nullptr || eos->is_null()) return {};
  const Json list = eos->is_array() ? *eos : Json::array({*eos});
  for (const Json& id : list.items()) {
    if (!id.is_int() || id.as_int() < 0 ||
        static_cast<uint64_t>(id.as_int()) >= tokenizer_->vocab_size()) {
      return Error{ErrorCode::kInvalidFormat,
                   cat(path, ": eos_token_id: got ", printable(id.dump()),
                       ", expected ids of the vocabulary")};
    }
    end_ids_.push_back(static_cast<int32_t>(id.as_int()));
  }
  return {};
}

Status TextModel::choose_template(const TextModelOptions& options, const std::string& own,
                                  const std::string& where) {
  const std::string& wanted = options.chat_template;
  if (wanted.empty() && !own.empty()) {
    template_name_ = "model";
    auto compiled = text::ChatTemplate::compile(own);
    if (!compiled) {
      Error error = std::move(compiled).error().with_context(where);
      error.message += "; the option chat_template takes a built-in one or a file instead";
      return error;
    }
    template_ = std::move(compiled).value();
    return {};
  }
  template_name_ = wanted.empty() ? std::string(kDefaultTemplate) : wanted;
  if (!text::builtin_template(template_name_) && exists(template_name_)) {
    RILL_ASSIGN_OR_RETURN(const std::string source, read_text(template_name_));
    auto compiled = text::ChatTemplate::compile(source);
    if (!compiled) return std::move(compiled).error().with_context(template_name_);
    template_ = std::move(compiled).value();
    return {};
  }
  auto builtin = text::ChatTemplate::builtin(template_name_);
  if (!builtin) {
    Error error = std::move(builtin).error();
    error.message += ", or a file";
    return error;
  }
  template_ = std::move(builtin).value();
  return {};
}

Result<const GrammarConstraints*> TextModel::constraints() const {
  const std::lock_guard<std::mutex> lock(constraints_mutex_);
  if (constraints_ == nullptr) {
    RILL_ASSIGN_OR_RETURN(auto made, GrammarConstraints::create(*tokenizer_, end_ids_));
    constraints_ = std::make_unique<GrammarConstraints>(std::move(made));
  }
  return constraints_.get();
}

Status TextModel::finish(const TextModelOptions& options) {
  const model::lfm2::Config& config = backbone_->config();
  if (tokenizer_->vocab_size() > config.vocab_size) {
    return Error{ErrorCode::kInvalidFormat,
                 cat("open text model: ", config.source, ": got ", tokenizer_->vocab_size(),
                     " tokens, expected at most the ", config.vocab_size, " of the embedding")};
  }
  for (const int32_t id : tokenizer_->end_of_generation_ids()) end_ids_.push_back(id);
  std::sort(end_ids_.begin(), end_ids_.end());
  end_ids_.erase(std::unique(end_ids_.begin(), end_ids_.end()), end_ids_.end());
  if (options.context_length > config.context_length) {
    return Error{ErrorCode::kInvalidArgument,
                 cat("open text model: context_length: got ", options.context_length,
                     ", expected at most the model's ", config.context_length)};
  }
  context_length_ = options.context_length > 0 ? options.context_length : config.context_length;
  kv_type_ = options.kv_type;
  return {};
}

}  // namespace rill::tasks
