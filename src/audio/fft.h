// SPDX-License-Identifier: Apache-2.0
// RealFft: Fourier transforms of real signals in double precision, with the same bits on every
// machine.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "base/result.h"

namespace rill::audio {

struct Complex {
  double re = 0.0;
  double im = 0.0;
};

/// Transforms of one size. The object is constant after creation; the work space belongs to the
/// caller. Threading: one object may serve many threads, each with its own Work.
class RealFft {
 public:
  /// Work space of one caller.
  struct Work {
    std::vector<Complex> a;
    std::vector<Complex> b;
  };

  static constexpr size_t kMaxSize = size_t{1} << 20;

  /// size must be even, at most kMaxSize, and hold no prime factor but 2, 3 and 5.
  /// Errors: kInvalidArgument.
  static Result<RealFft> create(size_t size);

  [[nodiscard]] size_t size() const { return size_; }
  [[nodiscard]] size_t num_bins() const { return size_ / 2 + 1; }

  /// spectrum[k] = sum over n of signal[n] * exp(-2 pi i k n / size).
  /// Shapes: signal [size] -> spectrum [num_bins].
  void forward(std::span<const double> signal, Work& work, std::span<Complex> spectrum) const;
  /// The inverse, with the factor 1 / size; the imaginary parts of the first and last bin are
  /// ignored. Shapes: spectrum [num_bins] -> signal [size].
  void inverse(std::span<const Complex> spectrum, Work& work, std::span<double> signal) const;

 private:
  explicit RealFft(size_t size);
  // The transform of work.a (size/2 values), left in work.a.
  void transform(Work& work) const;

  size_t size_;
  std::vector<size_t> factors_;      // of size / 2, each 2 to 5
  std::vector<Complex> half_roots_;  // exp(-2 pi i k / (size/2)), k < size/2
  std::vector<Complex> roots_;       // exp(-2 pi i k / size), k <= size/2
};

}  // namespace rill::audio
