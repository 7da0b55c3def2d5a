// SPDX-License-Identifier: Apache-2.0
#include "audio/resample.h"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "audio/pcm.h"
#include "base/check.h"
#include "base/det_math.h"
#include "base/str_cat.h"

namespace rill::audio {
namespace {

constexpr double kRolloff = 0.99;
constexpr double kWidth = 6.0;  // zero crossings on each side

// Values of the kernel per phase, before rounding up to whole lanes: all taps with |t| < kWidth.
int64_t half_width(int64_t from, int64_t to) {
  const double base = static_cast<double>(std::min(from, to)) * kRolloff;
  return static_cast<int64_t>(std::ceil(kWidth * static_cast<double>(from) / base));
}

// The position of tap k against output phase p in zero crossings, in float as the reference
// computes it.
float tap_position(int64_t k, int64_t p, int64_t from, int64_t to, float base) {
  const float input = static_cast<float>(k) / static_cast<float>(from);
  const float output = static_cast<float>(-p) / static_cast<float>(to);
  return (output + input) * base;
}

float tap_weight(float t, float scale) {
  constexpr float kPiF = static_cast<float>(det::kPi);
  const float angle = t * kPiF / 6.0f / 2.0f;
  const float cosine = static_cast<float>(det::cos(static_cast<double>(angle)));
  const float window = cosine * cosine;
  const float x = t * kPiF;
  const float sinc = x == 0.0f ? 1.0f : static_cast<float>(det::sin(static_cast<double>(x))) / x;
  return sinc * (window * scale);
}

// 16 partial sums, then folded by halves: a fixed order that vectorises without changing a bit.
float dot(const float* a, const float* b, size_t count) {
  float lanes[16] = {};
  for (size_t i = 0; i < count; i += 16) {
    for (size_t l = 0; l < 16; ++l) lanes[l] += a[i + l] * b[i + l];
  }
  for (size_t half = 8; half > 0; half /= 2) {
    for (size_t l = 0; l < half; ++l) lanes[l] += lanes[l + half];
  }
  return lanes[0];
}

}  // namespace

Resampler::Kernel Resampler::make_kernel(int64_t from, int64_t to) {
  Kernel kernel;
  kernel.from = from;
  kernel.to = to;
  const int64_t width = half_width(from, to);
  const size_t used = static_cast<size_t>(2 * width + 2);
  kernel.taps = (used + kLanes - 1) / kLanes * kLanes;
  kernel.first.resize(static_cast<size_t>(to));
  kernel.weights.assign(static_cast<size_t>(to) * kernel.taps, 0.0f);
  const double base = static_cast<double>(std::min(from, to)) * kRolloff;
  const float scale = static_cast<float>(base / static_cast<double>(from));
  for (int64_t p = 0; p < to; ++p) {
    // Taps outside p*from/to +/- width have |t| clamped to 6, where the window is zero but for
    // rounding (1e-15).
    const int64_t first = p * from / to - width;
    float* row = kernel.weights.data() + static_cast<size_t>(p) * kernel.taps;
    for (size_t i = 0; i < used; ++i) {
      const int64_t k = first + static_cast<int64_t>(i);
      const float t = tap_position(k, p, from, to, static_cast<float>(base));
      if (t > -6.0f && t < 6.0f) row[i] = tap_weight(t, scale);
    }
    kernel.first[static_cast<size_t>(p)] = first;
  }
  return kernel;
}

Result<Resampler> Resampler::create(uint32_t from_hz, uint32_t to_hz) {
  if (from_hz == 0 || to_hz == 0 || from_hz > kMaxSampleRateHz || to_hz > kMaxSampleRateHz) {
    return Error{ErrorCode::kInvalidArgument, cat("resample: got ", from_hz, " Hz to ", to_hz,
                                                  " Hz, expected 1 to ", kMaxSampleRateHz)};
  }
  if (from_hz == to_hz) return Resampler(nullptr);
  const uint32_t divisor = std::gcd(from_hz, to_hz);
  const int64_t from = from_hz / divisor;
  const int64_t to = to_hz / divisor;
  return Resampler(std::make_shared<const Kernel>(make_kernel(from, to)));
}

void Resampler::produce(std::vector<float>& out) {
  const Kernel& kernel = *kernel_;
  while (produced_ < limit_) {
    const int64_t block = produced_ / kernel.to;
    const size_t phase = static_cast<size_t>(produced_ % kernel.to);
    const int64_t begin = block * kernel.from + kernel.first[phase] - history_begin_;
    RILL_DCHECK(begin >= 0, "the history was dropped too early");
    if (begin + static_cast<int64_t>(kernel.taps) > static_cast<int64_t>(history_.size())) return;
    out.push_back(
        dot(history_.data() + begin, kernel.weights.data() + phase * kernel.taps, kernel.taps));
    ++produced_;
  }
}

void Resampler::drop_consumed() {
  const int64_t block = produced_ / kernel_->to;
  const int64_t next =
      block * kernel_->from + kernel_->first[static_cast<size_t>(produced_ % kernel_->to)];
  const int64_t unused = std::min(next - history_begin_, static_cast<int64_t>(history_.size()));
  if (unused <= 0) return;
  history_.erase(history_.begin(), history_.begin() + unused);
  history_begin_ += unused;
}

void Resampler::push(std::span<const float> samples, std::vector<float>& out) {
  received_ += static_cast<int64_t>(samples.size());
  if (!kernel_) {
    out.insert(out.end(), samples.begin(), samples.end());
    return;
  }
  if (history_.empty() && received_ == static_cast<int64_t>(samples.size())) {
    history_begin_ = kernel_->first[0];  // the zeros before the start
    history_.assign(static_cast<size_t>(-history_begin_), 0.0f);
  }
  // Pieces keep the history short whatever the caller pushes.
  constexpr size_t kPiece = 65536;
  while (!samples.empty()) {
    const size_t count = std::min(samples.size(), kPiece);
    history_.insert(history_.end(), samples.begin(),
                    samples.begin() + static_cast<std::ptrdiff_t>(count));
    samples = samples.subspan(count);
    limit_ = received_ * kernel_->to / kernel_->from;
    produce(out);
    drop_consumed();
  }
}

void Resampler::finish(std::vector<float>& out) {
  if (!kernel_ || received_ == 0) return;
  limit_ = (received_ * kernel_->to + kernel_->from - 1) / kernel_->from;
  while (produced_ < limit_) {
    history_.insert(history_.end(), kernel_->taps, 0.0f);
    produce(out);
    drop_consumed();
  }
}

}  // namespace rill::audio
