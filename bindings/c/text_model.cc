// SPDX-License-Identifier: Apache-2.0
// rill_model for text: opening, options, and a package seen as a text model.
#include <cstddef>
#include <memory>
#include <string_view>

#include "base/parse_number.h"
#include "base/str_cat.h"
#include "objects.h"

using namespace rill;
using namespace rill::c_api;

namespace rill::c_api {
namespace {

Error bad_option(std::string_view key, std::string_view value, std::string_view expected) {
  return Error{ErrorCode::kInvalidArgument,
               cat("model option ", key, ": got '", printable(value), "', expected ", expected)};
}

bool wants_text(const rill_model_options* options) {
  constexpr size_t kCovers = offsetof(rill_model_options, for_text) + sizeof options->for_text;
  return options != nullptr && options->struct_size >= kCovers && options->for_text != 0;
}

Result<TextSettings> read_settings(const rill_model_options* options) {
  TextSettings settings;
  for (size_t i = 0; options != nullptr && i < options->num_options; ++i) {
    const rill_option& option = options->options[i];
    if (option.key == nullptr || option.value == nullptr) {
      return Error{ErrorCode::kInvalidArgument,
                   cat("open model: option ", i, " has no key or no value")};
    }
    const std::string_view key = option.key;
    // The package's word for it, which programs for speech use.
    RILL_RETURN_IF_ERROR(set_text_model_option(key == "lfm2_audio.cpu_repack" ? "text.repack" : key,
                                               option.value, settings));
  }
  return settings;
}

/// The cache and the tokenizer's handle beside an opened text model.
Status attach_text(rill_model& model, std::unique_ptr<tasks::TextModel> text) {
  // What outlives the program is bound to the meaning of the ids.
  if (!model.text_settings.cache.directory.empty())
    model.text_settings.cache.tokenizer = text->tokenizer().content_hash();
  RILL_ASSIGN_OR_RETURN(model.text_cache, session::PrefixCache::open(model.text_settings.cache));
  model.tokenizer = std::make_unique<rill_tokenizer>();
  model.tokenizer->tokenizer = &text->tokenizer();
  model.text = std::move(text);
  return {};
}

}  // namespace

bool opens_as_text(const char* path, const rill_model_options* options) {
  const auto kind = tasks::classify_model_path(path);
  if (!kind) return false;  // the package's reader says it
  return *kind != tasks::ModelPath::kPackageDirectory || wants_text(options);
}

Status set_text_model_option(std::string_view key, std::string_view value, TextSettings& settings) {
  if (key == "lfm2_audio.model_gguf") {
    settings.model.gguf = std::string(value);
  } else if (key == "text.chat_template") {
    settings.model.chat_template = std::string(value);
  } else if (key == "text.context_length") {
    const auto length = parse_uint(value);
    if (!length || *length > 1'000'000'000)
      return bad_option(key, value, "a number of tokens; 0: the model's");
    settings.model.context_length = static_cast<size_t>(*length);
  } else if (key == "text.kv_type") {
    if (value != "f16" && value != "f32") return bad_option(key, value, "f16 or f32");
    settings.model.kv_type = value == "f16" ? DType::kF16 : DType::kF32;
  } else if (key == "text.repack") {
    const auto repack = parse_bool(value);
    if (!repack) return bad_option(key, value, "true or false");
    settings.model.repack = *repack;
  } else if (key == "text.cache_prompts") {
    const auto prompts = parse_uint(value);
    if (!prompts || *prompts > 100'000) return bad_option(key, value, "an integer, 0 to 100000");
    settings.cache.max_prompts = static_cast<size_t>(*prompts);
  } else if (key == "text.cache_dir") {
    settings.cache.directory = std::string(value);
  } else {
    return Error{ErrorCode::kInvalidArgument,
                 cat("text models do not take model option ", printable(key))};
  }
  return {};
}

rill_status open_text_model(rill_engine* engine, const char* path,
                            const rill_model_options* options, rill_model** model,
                            rill_error** error) {
  auto settings = read_settings(options);
  if (!settings) return fail(std::move(settings).error(), error);
  const std::lock_guard<std::mutex> turn(engine->compute);
  auto text = tasks::TextModel::open(path, settings->model, *engine->pool);
  if (!text) return fail(std::move(text).error(), error);
  auto opened = std::make_unique<rill_model>();
  opened->engine = engine;
  opened->text_settings = *settings;
  opened->text_path = path;
  Status attached = attach_text(*opened, std::move(text).value());
  if (!attached) return fail(std::move(attached).error(), error);
  *model = opened.release();
  return RILL_OK;
}

Result<tasks::TextModel*> text_model(rill_model& model) {
  if (model.text == nullptr) {
    RILL_ASSIGN_OR_RETURN(auto text,
                          tasks::TextModel::of_package(*model.package, model.text_settings.model));
    RILL_RETURN_IF_ERROR(attach_text(model, std::move(text)));
  }
  return model.text.get();
}

Status need_package(const rill_session& session) {
  if (session.model->package != nullptr) return {};
  return Error{ErrorCode::kInvalidArgument,
               cat(session.model->text_path,
                   ": got a text model, expected the directory of a speech package")};
}

}  // namespace rill::c_api

extern "C" {

size_t rill_model_context_length(const rill_model* model) {
  if (model->text != nullptr) return model->text->context_length();
  return model->package->backbone().config().context_length;
}

const rill_tokenizer* rill_model_tokenizer(rill_model* model) {
  const std::lock_guard<std::mutex> turn(model->engine->compute);
  return text_model(*model) ? model->tokenizer.get() : nullptr;
}

}  // extern "C"
