// SPDX-License-Identifier: Apache-2.0
// Silero VAD: the probability of speech for each 32 ms block of 16 kHz audio, streamed. What
// follows from the probabilities (segments, chunks) is audio/vad_segments.h and audio/chunk_plan.h.
#pragma once

#include <array>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"
#include "model/silero_vad/weights.h"
#include "ops/context.h"
#include "tensor/trace.h"

namespace rill::model::silero_vad {

/// The network. Threading: const after loading; any number of streams may use it.
/// Source: Silero VAD (MIT), the 16 kHz branch; weights by tools/convert_silero_vad.py.
class SileroVad {
 public:
  /// Opens the file, or the file kFileName in a directory.
  /// Errors: those of format::SafetensorsFile::open and load_weights.
  static Result<SileroVad> open(const std::string& path, ThreadPool& pool);
  /// The same from memory, which is copied; `name` stands for the path in messages.
  static Result<SileroVad> parse(std::span<const std::byte> bytes, std::string name,
                                 ThreadPool& pool);
  static constexpr const char* kFileName = "silero_vad_16k.safetensors";
  explicit SileroVad(Weights weights) : weights_(std::move(weights)) {}

  [[nodiscard]] const Weights& weights() const { return weights_; }

 private:
  Weights weights_;
};

/// One signal's way through the network; any cut gives the same bits.
/// Lifetime: `vad` must outlive the stream.
class SileroVadStream {
 public:
  explicit SileroVadStream(const SileroVad& vad) : weights_(vad.weights()) {}

  /// Takes mono samples at 16 kHz and appends the probability of each block that is complete.
  /// Stages (rows of several blocks): magnitude, conv1 .. conv4, hidden, cell.
  /// Errors: kOutOfMemory.
  Status push(ops::Context& context, std::span<const float> samples,
              std::vector<float>& probabilities, const Trace* trace = nullptr);
  /// Completes the last block with zeros, if one was begun. The stream takes nothing after it.
  Status finish(ops::Context& context, std::vector<float>& probabilities,
                const Trace* trace = nullptr);

 private:
  Status run_blocks(ops::Context& context, std::span<const float> samples,
                    std::vector<float>& probabilities, const Trace* trace);
  Status run_lstm(ops::Context& context, ConstMat features, std::vector<float>& probabilities,
                  const Trace* trace);

  const Weights& weights_;
  std::array<float, kContext> context_ = {};  // the end of the block before
  std::vector<float> pending_;                // samples of the block that is not complete
  std::array<float, kHidden> hidden_ = {};
  std::array<float, kHidden> cell_ = {};
};

}  // namespace rill::model::silero_vad
