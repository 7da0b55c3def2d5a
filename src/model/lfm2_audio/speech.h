// SPDX-License-Identifier: Apache-2.0
// SpeechParts: what a package needs to speak: depthformer, detokenizer, and the embedding by which
// generated frames go back into the backbone.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>

#include "base/result.h"
#include "base/thread_pool.h"
#include "format/gguf.h"
#include "model/depthformer/depthformer.h"
#include "model/detokenizer/detokenizer.h"
#include "ops/context.h"
#include "quant/packed_matrix.h"

namespace rill::model::lfm2_audio {

/// Lengths of the blocks of a spoken reply: text tokens, then audio frames, and so on.
struct Interleave {
  size_t num_text = 6;    ///< interleaved_n_text of the vocoder file, where it has the key
  size_t num_audio = 12;  ///< interleaved_n_audio
};

/// The speaking half of a package. Threading: const after loading.
class SpeechParts {
 public:
  /// The files of the package that a speaking model takes from.
  struct Files {
    const format::GgufFile& mmproj;
    const format::GgufFile& vocoder;
    const format::GgufFile& detokenizer;
  };

  /// Errors: those of the parts; kInvalidFormat for parts that do not fit each other or a backbone
  /// of backbone_size;
  ///         files, tensors and values are named. Lifetime: the files must outlive it.
  static Result<std::unique_ptr<SpeechParts>> load(const Files& files, size_t backbone_size,
                                                   bool repack, ThreadPool& pool);

  [[nodiscard]] const depthformer::Depthformer& depthformer() const { return *depthformer_; }
  [[nodiscard]] const detokenizer::Detokenizer& detokenizer() const { return *detokenizer_; }
  [[nodiscard]] const Interleave& interleave() const { return interleave_; }

  /// The backbone's input for a frame: the sum of its codes' embeddings, in ascending codebook
  /// order. Shapes: codes [Q], out [backbone_size]. Errors: kInvalidArgument (a code outside the
  /// vocabulary).
  Status embed_frame(ops::Context& context, std::span<const int32_t> codes,
                     std::span<float> out) const;

 private:
  SpeechParts() = default;

  std::optional<depthformer::Depthformer> depthformer_;
  std::unique_ptr<detokenizer::Detokenizer> detokenizer_;
  quant::PackedMatrix
      code_embedding_;  // [Q*V, D]  a.position_embd.weight of the mmproj; single rows are read
  Interleave interleave_;
};

}  // namespace rill::model::lfm2_audio
