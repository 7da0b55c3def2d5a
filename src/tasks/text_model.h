// SPDX-License-Identifier: Apache-2.0
// TextModel: what text tasks need of a model (backbone, tokenizer, chat template, defaults), from a
// GGUF file, a package's directory or a Transformers directory.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "base/thread_pool.h"
#include "format/gguf.h"
#include "model/lfm2/backbone.h"
#include "model/lfm2_audio/package.h"
#include "tasks/grammar_constraint.h"
#include "tasks/text_options.h"
#include "text/chat_template.h"
#include "text/tokenizer.h"

namespace rill::tasks {

struct TextModelOptions {
  /// A built-in template's name, or a file; "": the model's own, else the family's latest.
  std::string chat_template;
  std::string gguf;           ///< of a directory with several GGUF files the one to take
  size_t context_length = 0;  ///< most steps of prompt and reply; 0: the model's
  DType kv_type = DType::kF16;
  bool repack = true;  ///< pack the matrices of a GGUF file; equal results
};

/// What a path is, by its content.
enum class ModelPath {
  kGgufFile,               ///< a file
  kPackageDirectory,       ///< a directory with GGUF files
  kTransformersDirectory,  ///< a directory with config.json
};

/// Errors: kNotFound (there is no such path).
Result<ModelPath> classify_model_path(const std::string& path);

/// Only the tokenizer of a model: also from a directory with tokenizer.json alone.
/// Errors: those of the tokenizer's readers and of reading files.
Result<text::Tokenizer> open_tokenizer(const std::string& path);

/// A text model, or a speech model's backbone seen as one. Threading: const after opening.
class TextModel {
 public:
  /// Errors: those of the readers of files, weights, tokenizer and template; files, keys and lines
  /// are named. kInvalidArgument: a directory with several models.
  static Result<std::unique_ptr<TextModel>> open(const std::string& path,
                                                 const TextModelOptions& options, ThreadPool& pool);
  /// A view of a loaded package, which must outlive it.
  static Result<std::unique_ptr<TextModel>> of_package(const model::lfm2_audio::Model& package,
                                                       const TextModelOptions& options);

  [[nodiscard]] const model::lfm2::Backbone& backbone() const { return *backbone_; }
  [[nodiscard]] const text::Tokenizer& tokenizer() const { return *tokenizer_; }
  [[nodiscard]] const text::ChatTemplate& chat_template() const { return *template_; }
  /// "model", or the name of the built-in template, or the file.
  [[nodiscard]] const std::string& chat_template_name() const { return template_name_; }
  [[nodiscard]] const GenerationDefaults& defaults() const { return defaults_; }
  /// Tokens that end a reply; ascending.
  [[nodiscard]] std::span<const int32_t> end_ids() const { return end_ids_; }
  /// The token, if the vocabulary has it as one.
  [[nodiscard]] std::optional<int32_t> think_open_id() const { return tokenizer().find("<think>"); }
  [[nodiscard]] std::optional<int32_t> think_close_id() const {
    return tokenizer().find("</think>");
  }
  /// What makes the rules of replies; made at the first call. Errors: those of
  /// GrammarConstraints::create.
  Result<const GrammarConstraints*> constraints() const;
  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] size_t context_length() const { return context_length_; }
  [[nodiscard]] DType kv_type() const { return kv_type_; }

 private:
  TextModel() = default;
  Status read_metadata(const format::Metadata& metadata, const TextModelOptions& options);
  Status open_gguf(const std::string& path, const TextModelOptions& options, ThreadPool& pool);
  Status open_directory(const std::string& path, ThreadPool& pool, const TextModelOptions& options);
  Status read_generation_config(const std::string& path);
  Status choose_template(const TextModelOptions& options, const std::string& own,
                         const std::string& where);
  Status finish(const TextModelOptions& options);

  format::GgufFile file_;  // first: weights may be views into it
  std::unique_ptr<model::lfm2::Backbone> owned_backbone_;
  std::unique_ptr<text::Tokenizer> owned_tokenizer_;
  const model::lfm2::Backbone* backbone_ = nullptr;
  const text::Tokenizer* tokenizer_ = nullptr;
  std::optional<text::ChatTemplate> template_;
  std::string template_name_;
  GenerationDefaults defaults_;
  std::vector<int32_t> end_ids_;
  std::string name_;
  size_t context_length_ = 0;
  DType kv_type_ = DType::kF16;
  mutable std::mutex constraints_mutex_;
  mutable std::unique_ptr<GrammarConstraints> constraints_;
};

}  // namespace rill::tasks
