// SPDX-License-Identifier: Apache-2.0
#include "audio/mel_filterbank.h"

#include <algorithm>

#include "base/check.h"
#include "base/det_math.h"

namespace rill::audio {
namespace {

// Slaney's scale: linear to 1000 Hz, then 27 steps for a factor of 6.4.
constexpr double kHzPerMel = 200.0 / 3.0;
constexpr double kLogStartHz = 1000.0;
constexpr double kLogStartMel = kLogStartHz / kHzPerMel;

double log_step() { return det::log(6.4) / 27.0; }

double hz_to_mel(double hz) {
  if (hz < kLogStartHz) return hz / kHzPerMel;
  return kLogStartMel + det::log(hz / kLogStartHz) / log_step();
}

double mel_to_hz(double mel) {
  if (mel < kLogStartMel) return mel * kHzPerMel;
  return kLogStartHz * det::exp(log_step() * (mel - kLogStartMel));
}

}  // namespace

MelFilterbank::MelFilterbank(double sample_rate_hz, size_t n_fft, size_t n_mels, double f_min_hz,
                             double f_max_hz)
    : filters_(n_mels), n_bins_(n_fft / 2 + 1) {
  const double low = hz_to_mel(f_min_hz);
  const double step = (hz_to_mel(f_max_hz) - low) / static_cast<double>(n_mels + 1);
  auto edge_hz = [&](size_t i) { return mel_to_hz(low + step * static_cast<double>(i)); };
  for (size_t m = 0; m < n_mels; ++m) {
    const double left = edge_hz(m);
    const double centre = edge_hz(m + 1);
    const double right = edge_hz(m + 2);
    Filter& filter = filters_[m];
    for (size_t bin = 0; bin < n_bins_; ++bin) {
      const double hz = static_cast<double>(bin) * sample_rate_hz / static_cast<double>(n_fft);
      const double rising = (hz - left) / (centre - left);
      const double falling = (right - hz) / (right - centre);
      const double weight = std::max(0.0, std::min(rising, falling)) * (2.0 / (right - left));
      if (weight <= 0.0) continue;
      if (filter.weights.empty()) filter.first_bin = bin;
      filter.weights.push_back(static_cast<float>(weight));
    }
  }
}

std::vector<float> MelFilterbank::dense_row(size_t mel) const {
  std::vector<float> row(n_bins_, 0.0f);
  const Filter& filter = filters_[mel];
  std::copy(filter.weights.begin(), filter.weights.end(),
            row.begin() + static_cast<std::ptrdiff_t>(filter.first_bin));
  return row;
}

void MelFilterbank::apply(std::span<const double> power, std::span<double> mel) const {
  RILL_CHECK(power.size() == n_bins_ && mel.size() == filters_.size(),
             "mel filterbank: sizes disagree");
  for (size_t m = 0; m < filters_.size(); ++m) {
    const Filter& filter = filters_[m];
    double sum = 0.0;
    for (size_t i = 0; i < filter.weights.size(); ++i) {
      sum += static_cast<double>(filter.weights[i]) * power[filter.first_bin + i];
    }
    mel[m] = sum;
  }
}

}  // namespace rill::audio
