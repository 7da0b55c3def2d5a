// SPDX-License-Identifier: Apache-2.0
// Model: a loaded LFM2-Audio package: backbone and tokenizer, encoder and adapter, and what speaks.
// Holds weights only; sequences and requests live above it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>

#include "audio/log_mel.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "format/gguf.h"
#include "model/conformer/adapter.h"
#include "model/conformer/encoder.h"
#include "model/lfm2/backbone.h"
#include "model/lfm2_audio/files.h"
#include "model/lfm2_audio/prompts.h"
#include "model/lfm2_audio/speech.h"
#include "ops/context.h"
#include "tensor/tensor.h"
#include "tensor/trace.h"
#include "text/tokenizer.h"

namespace rill::model::lfm2_audio {

/// Sample rate of the audio that the encoder's features are made from.
inline constexpr uint32_t kInputSampleRateHz = 16000;

struct LoadOptions {
  FileOptions files;
  bool repack = true;      ///< pack matrices for the kernels (lfm2_audio.cpu_repack); equal results
  Use use = Use::kListen;  ///< kSpeak also loads what speaks
  bool tokenizer = true;   ///< false: ids only, for measuring speed; tokenizer() must not be called
};

/// Ids of the tokens that steer generation, looked up by name.
struct SpecialIds {
  int32_t start_of_text = 0;  ///< <|startoftext|>
  int32_t im_start = 0;       ///< <|im_start|>
  int32_t im_end = 0;         ///< <|im_end|>
  int32_t audio_start = 0;    ///< <|audio_start|>
  int32_t text_end = 0;       ///< <|text_end|>
};

/// A package. Threading: const after loading; sessions share it.
class Model {
 public:
  /// Loads the package of a directory.
  /// Errors: those of select_files and of reading GGUFs; kUnsupported, kInvalidFormat, kNotFound
  /// for files that do not
  ///         fit each other or lack something; files, keys, tensors and values are named.
  static Result<std::unique_ptr<Model>> load(const std::string& directory,
                                             const LoadOptions& options, ThreadPool& pool);
  /// The same from memory, which must outlive the model. Names follow the rules of file names.
  static Result<std::unique_ptr<Model>> load(std::span<const MemoryFile> files,
                                             const LoadOptions& options, ThreadPool& pool);

  [[nodiscard]] const lfm2::Backbone& backbone() const { return *backbone_; }
  [[nodiscard]] const text::Tokenizer& tokenizer() const { return *tokenizer_; }
  [[nodiscard]] const conformer::Encoder& encoder() const { return *encoder_; }
  [[nodiscard]] const conformer::Adapter& adapter() const { return *adapter_; }
  /// What speaks; nullptr unless it was loaded for Use::kSpeak.
  [[nodiscard]] const SpeechParts* speech() const { return speech_.get(); }
  [[nodiscard]] const SpecialIds& special_ids() const { return special_ids_; }
  [[nodiscard]] Language language() const { return language_; }
  /// Keys of the backbone's file, for what a task reads there (rill.generation.*).
  [[nodiscard]] const format::Metadata& metadata() const { return backbone_file_.metadata(); }
  /// general.name of the backbone file; "" if it has none.
  [[nodiscard]] const std::string& name() const { return name_; }

  /// Settings of the features that the encoder takes: audio::log_mel(samples, log_mel_config()).
  [[nodiscard]] audio::LogMelConfig log_mel_config() const {
    return {.n_mels = encoder_->config().num_mel_bins};
  }
  /// Log-mel frames to the rows that stand for them in a prompt: encoder, then adapter.
  /// Shapes: mel [F, M] -> out [num_steps(F), D]. Errors: kOutOfMemory.
  Status embed_speech(ops::Context& context, ConstMat mel, Mat out,
                      const Trace* trace = nullptr) const;

 private:
  using FileOpener = Result<format::GgufFile> (*)(const void* source, const std::string& name);

  Model() = default;
  static Result<std::unique_ptr<Model>> load(const PackageFiles& files, const LoadOptions& options,
                                             ThreadPool& pool, FileOpener open, const void* source);
  Status bind_text(const LoadOptions& options, ThreadPool& pool);
  Status bind_tokenizer(size_t vocab_size);
  Status bind_listening(const LoadOptions& options, ThreadPool& pool);
  Status bind_speaking(const LoadOptions& options, ThreadPool& pool);

  // Files first: weights may be views into them.
  format::GgufFile backbone_file_;
  format::GgufFile mmproj_file_;
  format::GgufFile vocoder_file_;
  format::GgufFile detokenizer_file_;
  std::unique_ptr<lfm2::Backbone> backbone_;
  std::unique_ptr<text::Tokenizer> tokenizer_;
  std::optional<conformer::Encoder> encoder_;
  std::optional<conformer::Adapter> adapter_;
  std::unique_ptr<SpeechParts> speech_;
  SpecialIds special_ids_;
  Language language_ = Language::kEnglish;
  std::string name_;
};

}  // namespace rill::model::lfm2_audio
