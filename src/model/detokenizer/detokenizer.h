// SPDX-License-Identifier: Apache-2.0
// Detokenizer: audio codes to PCM. Mean code embedding per frame, repeated; LFM2 layers with a
// sliding window; a linear map to log-magnitude and phase; inverse STFT. Streaming first: decoding
// a whole clip is a stream pushed at once.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "audio/istft.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "format/gguf.h"
#include "model/lfm2/backbone.h"
#include "ops/context.h"
#include "quant/packed_matrix.h"
#include "tensor/tensor.h"
#include "tensor/trace.h"

namespace rill::model::detokenizer {

/// Rows of the layer stack per frame of codes.
inline constexpr size_t kUpsample = 6;
inline constexpr uint32_t kSampleRateHz = 24000;

/// What the codes are: the depthformer's sizes.
struct CodeShape {
  size_t num_codebooks = 0;   ///< Q
  size_t codes_per_book = 0;  ///< without the end code
};

/// The detokenizer of a package. Threading: const after loading; each stream has its own state.
class Detokenizer {
 public:
  /// detokenizer: the tokenizer-... file (layers, dense_2); vocoder: code embedding and window.
  /// Errors: kNotFound, kInvalidFormat, kUnsupported, kOutOfMemory; file and tensor or key are
  /// named. Lifetime: both files must outlive it.
  static Result<std::unique_ptr<Detokenizer>> load(const format::GgufFile& detokenizer,
                                                   const format::GgufFile& vocoder,
                                                   const CodeShape& codes, bool repack,
                                                   ThreadPool& pool);

  [[nodiscard]] const CodeShape& codes() const { return codes_; }
  /// Samples per frame of codes.
  [[nodiscard]] size_t frame_samples() const { return kUpsample * window_.cols() / 4; }

 private:
  friend class Stream;
  Detokenizer() = default;

  CodeShape codes_;
  std::unique_ptr<lfm2::Backbone> layers_;
  quant::PackedMatrix
      embedding_;  // [Q*codes, D]    emb.emb.weight of the vocoder; single rows are read
  quant::PackedMatrix dense_;  // [n_fft + 2, D]  dense_2.weight
  Tensor dense_bias_;          // [n_fft + 2]     dense_2.bias
  Tensor window_;              // [n_fft]         istft.window of the vocoder
};

/// The speech of one reply, frame by frame. The cut into pushes changes no bit. Threading: one
/// thread.
class Stream {
 public:
  /// The detokenizer must outlive the stream. Errors: kOutOfMemory, kInvalidFormat (the window).
  static Result<Stream> create(const Detokenizer& detokenizer);

  /// Appends the samples that are final after these frames.
  /// Shapes: codes [F, Q], row-major. After R frames in all, frame_samples() * R - 480 samples are
  /// out (at n_fft 1280). Units: pcm at kSampleRateHz, not clipped. Errors: kInvalidArgument (a
  /// code outside the embedding, as the end code), kContextFull, kOutOfMemory, kInternal. With a
  /// trace, stages: frame_embedding, those of the layer stack, head.
  Status push(ops::Context& context, std::span<const int32_t> codes, std::vector<float>& pcm,
              const Trace* trace = nullptr);
  /// Appends the rest. Nothing may be pushed after it.
  void finish(std::vector<float>& pcm) { istft_.finish(pcm); }

 private:
  Stream(const Detokenizer& detokenizer, lfm2::SequenceState state, audio::IstftStream istft)
      : detokenizer_(&detokenizer), state_(std::move(state)), istft_(std::move(istft)) {}
  Status push_piece(ops::Context& context, std::span<const int32_t> codes, std::vector<float>& pcm,
                    const Trace* trace);
  Status embed(ops::Context& context, std::span<const int32_t> codes, Mat out) const;

  const Detokenizer* detokenizer_;
  lfm2::SequenceState state_;
  audio::IstftStream istft_;
};

}  // namespace rill::model::detokenizer
