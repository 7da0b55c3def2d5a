// SPDX-License-Identifier: Apache-2.0
// IstftStream: from rows of log-magnitude and phase to samples, as rows come; the last stage of
// speech output.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "audio/fft.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "tensor/tensor.h"

namespace rill::audio {

/// Streaming inverse STFT. R rows give R * hop samples whatever the cut, with the same bits.
/// After R rows, max(0, R * hop - (n_fft - hop) / 2) samples are final; the rest comes with
/// finish(). Source: liquid-audio's detokenizer ISTFT ("same" padding).
class IstftStream {
 public:
  /// n_fft is window.size(); hop_length is n_fft / 4 if 0.
  /// Errors: kInvalidArgument (sizes that do not fit each other); kInvalidFormat (a window that
  /// vanishes where samples
  ///         are divided by it, or holds a value that is not finite).
  static Result<IstftStream> create(std::span<const float> window, size_t hop_length = 0);

  [[nodiscard]] size_t n_fft() const { return fft_.size(); }
  [[nodiscard]] size_t hop_length() const { return hop_; }

  /// Takes rows and appends the samples that are final.
  /// Shapes: rows [R, n_fft + 2]: n_fft / 2 + 1 natural logarithms of magnitudes, then as many
  /// phases in radians. pool: threads that share the rows, or nullptr.
  /// Errors: kInternal, naming the row, if a value is not finite or so large that samples would not
  ///         be; nothing is appended for that row and later ones.
  Status push(ConstMat rows, std::vector<float>& out, ThreadPool* pool = nullptr);
  /// Appends the rest. The stream takes nothing after it.
  void finish(std::vector<float>& out);

 private:
  /// A row on its way to samples.
  struct RowWork {
    std::vector<Complex> spectrum;
    RealFft::Work fft;
    std::vector<double> block;  // n_fft samples
  };

  IstftStream(RealFft fft, std::vector<double> window, size_t hop);
  void transform(const float* row, RowWork& work) const;
  void add(const std::vector<double>& block);
  void emit(int64_t final_samples, std::vector<float>& out);

  RealFft fft_;
  std::vector<double> window_;
  size_t hop_;
  std::vector<RowWork> work_;  // of rows that are transformed together
  // Sums over the rows so far, from the first sample that is not final: windowed signal, squared
  // window.
  std::vector<double> signal_;
  std::vector<double> envelope_;
  int64_t rows_ = 0;
  int64_t position_ = 0;  // of signal_[0], counted from the first row's first sample
};

}  // namespace rill::audio
