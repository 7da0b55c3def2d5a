// SPDX-License-Identifier: Apache-2.0
#include "model/lfm2_audio/package.h"

#include <string_view>
#include <utility>
#include <vector>

#include "base/str_cat.h"
#include "format/portable.h"
#include "model/conformer/config.h"
#include "model/lfm2/load.h"
#include "model/weights/weight_reader.h"

namespace rill::model::lfm2_audio {
namespace {

/// The checkpoint's language: exactly one of en and ja in general.languages; nothing listed means
/// English.
Result<Language> read_language(const format::Metadata& metadata) {
  std::vector<std::string> languages;
  if (metadata.has("general.languages")) {
    RILL_ASSIGN_OR_RETURN(languages, metadata.get_strings("general.languages"));
  }
  bool english = false;
  bool japanese = false;
  std::string listed;
  for (const std::string& language : languages) {
    english = english || language == "en";
    japanese = japanese || language == "ja";
    listed += cat(listed.empty() ? "" : ", ", printable(language));
  }
  if (languages.empty() || (english && !japanese)) return Language::kEnglish;
  if (japanese && !english) return Language::kJapanese;
  return Error{ErrorCode::kUnsupported,
               cat(metadata.source(),
                   ": LFM2-Audio has prompts for en or ja checkpoints, not general.languages = [",
                   listed, "]")};
}

Result<SpecialIds> read_special_ids(const text::Tokenizer& tokenizer, const std::string& file) {
  SpecialIds ids;
  const std::pair<std::string_view, int32_t*> names[] = {
      {"<|startoftext|>", &ids.start_of_text},
      {"<|im_start|>", &ids.im_start},
      {"<|im_end|>", &ids.im_end},
      {"<|audio_start|>", &ids.audio_start},
      {"<|text_end|>", &ids.text_end},
  };
  for (const auto& [name, id] : names) {
    const std::optional<int32_t> found = tokenizer.find(name);
    if (!found) {
      return Error{ErrorCode::kNotFound,
                   cat("load tokenizer: ", file, ": tokenizer.ggml.tokens has no ", name)};
    }
    *id = *found;
  }
  return ids;
}

Status check_tokenizer_kind(const format::Metadata& metadata) {
  const std::pair<std::string_view, std::string_view> expected[] = {
      {"tokenizer.ggml.model", "gpt2"},
      {"tokenizer.ggml.pre", "lfm2"},
  };
  for (const auto& [key, value] : expected) {
    RILL_ASSIGN_OR_RETURN(const std::string got, metadata.get_string(key));
    if (got != value) {
      return Error{ErrorCode::kUnsupported, cat("load tokenizer: ", metadata.source(), ": ", key,
                                                ": got ", printable(got), ", expected ", value)};
    }
  }
  return {};
}

lfm2::MatrixForm matrix_form(const LoadOptions& options) {
  return options.repack ? lfm2::MatrixForm::kPacked : lfm2::MatrixForm::kBorrowed;
}

Result<format::GgufFile> open_in_directory(const void* source, const std::string& name) {
  const auto& directory = *static_cast<const std::string*>(source);
  return format::GgufFile::open(cat(directory, "/", name));
}

Result<format::GgufFile> open_in_memory(const void* source, const std::string& name) {
  for (const MemoryFile& file : *static_cast<const std::span<const MemoryFile>*>(source)) {
    if (file.name == name) return format::GgufFile::parse(file.bytes, name);
  }
  return Error{ErrorCode::kNotFound, cat("open package: no file ", printable(name))};
}

}  // namespace

Result<std::unique_ptr<Model>> Model::load(const std::string& directory, const LoadOptions& options,
                                           ThreadPool& pool) {
  RILL_ASSIGN_OR_RETURN(const PackageFiles files,
                        select_files(directory, options.files, options.use));
  return load(files, options, pool, open_in_directory, &directory);
}

Result<std::unique_ptr<Model>> Model::load(std::span<const MemoryFile> files,
                                           const LoadOptions& options, ThreadPool& pool) {
  std::vector<std::string> names;
  for (const MemoryFile& file : files) names.push_back(file.name);
  RILL_ASSIGN_OR_RETURN(const PackageFiles chosen,
                        choose_files("the package", std::move(names), options.files, options.use));
  return load(chosen, options, pool, open_in_memory, &files);
}

Result<std::unique_ptr<Model>> Model::load(const PackageFiles& files, const LoadOptions& options,
                                           ThreadPool& pool, FileOpener open, const void* source) {
  std::unique_ptr<Model> model(new Model());
  const std::pair<const std::string*, format::GgufFile*> all[] = {
      {&files.backbone, &model->backbone_file_},
      {&files.mmproj, &model->mmproj_file_},
      {&files.vocoder, &model->vocoder_file_},
      {&files.detokenizer, &model->detokenizer_file_}};
  for (const auto& [name, file] : all) {
    if (name->empty()) continue;
    RILL_ASSIGN_OR_RETURN(*file, open(source, *name));
    RILL_RETURN_IF_ERROR(format::check_portable(*file));
  }
  RILL_RETURN_IF_ERROR(model->bind_text(options, pool));
  RILL_RETURN_IF_ERROR(model->bind_listening(options, pool));
  if (options.use == Use::kSpeak) RILL_RETURN_IF_ERROR(model->bind_speaking(options, pool));
  return model;
}

Status Model::bind_text(const LoadOptions& options, ThreadPool& pool) {
  const format::Metadata& metadata = backbone_file_.metadata();
  RILL_ASSIGN_OR_RETURN(const lfm2::Config config, lfm2::config_from_gguf(backbone_file_));
  if (config.num_attention_layers() == 0) {
    return Error{
        ErrorCode::kUnsupported,
        cat("load backbone: ", backbone_file_.name(),
            ": lfm2.attention.head_count_kv has no attention layer, expected at least one")};
  }
  RILL_ASSIGN_OR_RETURN(language_, read_language(metadata));
  RILL_ASSIGN_OR_RETURN(name_, metadata.get_string_or("general.name", ""));
  RILL_ASSIGN_OR_RETURN(
      backbone_,
      lfm2::load_gguf(backbone_file_, lfm2::LoadOptions{.form = matrix_form(options)}, pool));
  return options.tokenizer ? bind_tokenizer(backbone_->config().vocab_size) : Status();
}

Status Model::bind_tokenizer(size_t vocab_size) {
  const format::Metadata& metadata = backbone_file_.metadata();
  RILL_RETURN_IF_ERROR(check_tokenizer_kind(metadata));
  RILL_ASSIGN_OR_RETURN(text::Tokenizer tokenizer, text::Tokenizer::from_metadata(metadata));
  tokenizer_ = std::make_unique<text::Tokenizer>(std::move(tokenizer));
  RILL_ASSIGN_OR_RETURN(special_ids_, read_special_ids(*tokenizer_, backbone_file_.name()));
  if (tokenizer_->vocab_size() != vocab_size) {
    return Error{ErrorCode::kInvalidFormat,
                 cat("load tokenizer: ", backbone_file_.name(), ": tokenizer.ggml.tokens: got ",
                     tokenizer_->vocab_size(), " tokens, expected ", vocab_size,
                     " as in token_embd.weight")};
  }
  return {};
}

Status Model::bind_listening(const LoadOptions& options, ThreadPool& pool) {
  RILL_ASSIGN_OR_RETURN(const conformer::Config config, conformer::read_config(mmproj_file_));
  const size_t width = backbone_->config().hidden_size;
  if (config.projection_size != width) {
    return Error{ErrorCode::kInvalidFormat,
                 cat("load mmproj: ", mmproj_file_.name(), ": clip.audio.projection_dim: got ",
                     config.projection_size, ", expected ", width, ", the width of ",
                     backbone_file_.name())};
  }
  auto front_end = audio::LogMel::create({.n_mels = config.num_mel_bins});
  if (!front_end) {
    return std::move(front_end).error().with_context(
        cat("load mmproj: ", mmproj_file_.name(), ": clip.audio.num_mel_bins"));
  }
  const WeightReader reader(mmproj_file_, options.repack, pool);
  RILL_ASSIGN_OR_RETURN(encoder_, conformer::Encoder::load(reader, config));
  RILL_ASSIGN_OR_RETURN(adapter_, conformer::Adapter::load(reader, config));
  return {};
}

Status Model::bind_speaking(const LoadOptions& options, ThreadPool& pool) {
  const SpeechParts::Files files = {mmproj_file_, vocoder_file_, detokenizer_file_};
  RILL_ASSIGN_OR_RETURN(
      speech_, SpeechParts::load(files, backbone_->config().hidden_size, options.repack, pool));
  return {};
}

Status Model::embed_speech(ops::Context& context, ConstMat mel, Mat out, const Trace* trace) const {
  Arena::Scope scope(*context.scratch);
  const size_t width = encoder_->config().hidden_size;
  RILL_ASSIGN_OR_RETURN(const std::span<float> values,
                        context.scratch->take<float>(out.rows * width));
  const Mat encoded = {values.data(), out.rows, width, width};
  RILL_RETURN_IF_ERROR(encoder_->encode(context, mel, encoded, trace));
  return adapter_->apply(context, encoded, out, trace);
}

}  // namespace rill::model::lfm2_audio
