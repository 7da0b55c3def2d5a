// SPDX-License-Identifier: Apache-2.0
// Triangular mel filters (Slaney's scale and area normalisation), stored without their zeros.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

namespace rill::audio {

/// Filters over the bins of a power spectrum.
class MelFilterbank {
 public:
  /// Filters for n_mels bands from f_min_hz to f_max_hz over n_fft / 2 + 1 bins; the arguments must
  /// make sense. Source: librosa filters.mel with htk=False, norm="slaney".
  MelFilterbank(double sample_rate_hz, size_t n_fft, size_t n_mels, double f_min_hz,
                double f_max_hz);

  [[nodiscard]] size_t n_mels() const { return filters_.size(); }
  [[nodiscard]] size_t n_bins() const { return n_bins_; }
  /// One filter as a dense row, [n_bins].
  [[nodiscard]] std::vector<float> dense_row(size_t mel) const;

  /// mel[m] = sum over bins of weight * power, in ascending bins.
  /// Shapes: power [n_bins] -> mel [n_mels].
  void apply(std::span<const double> power, std::span<double> mel) const;

 private:
  struct Filter {
    size_t first_bin = 0;
    std::vector<float> weights;
  };
  std::vector<Filter> filters_;
  size_t n_bins_;
};

}  // namespace rill::audio
