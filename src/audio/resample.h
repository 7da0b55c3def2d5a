// SPDX-License-Identifier: Apache-2.0
// Resampler: changes the rate of mono audio with a Hann-windowed sinc, streamed.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"

namespace rill::audio {

/// Streaming windowed-sinc resampler. Equal rates copy. Any cut of the input gives the same bits.
/// Each output sample is one dot product of its phase's taps: 16 lanes (multiply, then add), then
/// folded by halves. Source: torchaudio functional.resample with its defaults (sinc_interp_hann,
/// width 6, rolloff 0.99), whose float32
///         kernel is computed here operation by operation.
class Resampler {
 public:
  /// Errors: kInvalidArgument (a rate of 0 or above kMaxSampleRateHz).
  /// Cost: a kernel of 12 to 16 values per Hz of the larger rate, the rates divided by their
  /// greatest common divisor:
  ///       30 KiB for 44.1 kHz to 16 kHz, at most 49 MB.
  static Result<Resampler> create(uint32_t from_hz, uint32_t to_hz);

  /// Takes samples and appends those of the output that are final.
  void push(std::span<const float> samples, std::vector<float>& out);
  /// Appends the rest, as if zeros followed; ceil(to * n / from) samples have then been put out.
  void finish(std::vector<float>& out);

 private:
  // The kernel: one row of taps per output phase. Shared by copies.
  struct Kernel {
    int64_t from = 1;  // rates divided by their greatest common divisor
    int64_t to = 1;
    size_t taps = 0;  // per phase, a multiple of kLanes
    std::vector<int64_t>
        first;  // per phase: input position of its first tap, relative to the block's start
    std::vector<float> weights;  // [to, taps]
  };
  static constexpr size_t kLanes = 16;

  explicit Resampler(std::shared_ptr<const Kernel> kernel) : kernel_(std::move(kernel)) {}
  static Kernel make_kernel(int64_t from, int64_t to);
  void produce(std::vector<float>& out);
  void drop_consumed();

  std::shared_ptr<const Kernel> kernel_;  // nullptr: equal rates
  std::vector<float> history_;            // input from position history_begin_ on
  int64_t history_begin_ = 0;
  int64_t received_ = 0;  // input samples so far
  int64_t produced_ = 0;  // output samples so far
  int64_t limit_ = 0;     // outputs that may be produced now
};

}  // namespace rill::audio
