// SPDX-License-Identifier: Apache-2.0
// Depthformer: picks the codes of an audio frame one codebook after the other, each given those
// before it. The choice from the logits is the caller's.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "model/depthformer/config.h"
#include "model/depthformer/weights.h"
#include "ops/attention.h"
#include "ops/context.h"
#include "tensor/tensor.h"

namespace rill::model::depthformer {

/// The network of a vocoder file. Threading: const after loading; each user has its own
/// FrameDecoder.
class Depthformer {
 public:
  /// Errors: those of load_weights. Lifetime: the file must outlive it (embeddings are read from
  /// it).
  static Result<Depthformer> load(const WeightReader& reader, const Config& config);

  [[nodiscard]] const Config& config() const { return config_; }
  /// Bytes of the matrices that one frame reads, each as often as it reads it.
  [[nodiscard]] size_t frame_bytes() const;

 private:
  friend class FrameDecoder;

  Config config_;
  Weights weights_;
  Tensor cos_sin_;  // [Q, d] rope of the positions in a frame
};

/// Working memory for one frame at a time. Threading: one thread.
///   decoder.begin(context, hidden);
///   for each codebook i: logits = decoder.next(context, codes[i - 1]); codes[i] = pick(logits);
class FrameDecoder {
 public:
  /// The depthformer must outlive the decoder. Errors: kOutOfMemory.
  static Result<FrameDecoder> create(const Depthformer& depthformer);

  /// Starts a frame from the backbone's final-normed hidden state of the last step,
  /// [backbone_size]. Errors: kOutOfMemory (scratch).
  Status begin(ops::Context& context, std::span<const float> hidden);

  /// Logits [V] of the next codebook; previous_code is the pick for the codebook before (of no use
  /// to the first). Errors: kInvalidArgument (a code outside the vocabulary), kOutOfMemory,
  /// kInternal (a logit that is not finite). Lifetime: until the next call; the caller may change
  /// them.
  Result<std::span<float>> next(ops::Context& context, int32_t previous_code);

 private:
  explicit FrameDecoder(const Depthformer& depthformer) : depthformer_(&depthformer) {}
  Status run_layer(ops::Context& context, size_t layer, Mat x);
  Status attend(ops::Context& context, size_t layer, ConstMat normed, Mat out);
  [[nodiscard]] Error not_finite() const;

  const Depthformer* depthformer_;
  std::vector<AlignedBuffer> kv_;    // per layer: one block of keys and values
  std::vector<std::byte*> kv_data_;  // where they are, as KvView wants it
  Tensor slices_;                    // [1, Q*D]: depth_linear of the hidden state
  Tensor logits_;                    // [1, V]
  size_t position_ = 0;              // codebook that comes next
};

}  // namespace rill::model::depthformer
