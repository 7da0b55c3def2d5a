// SPDX-License-Identifier: Apache-2.0
#include "audio/istft.h"

#include <algorithm>
#include <cmath>

#include "base/check.h"
#include "base/det_math.h"
#include "base/str_cat.h"

namespace rill::audio {
namespace {

constexpr size_t kRowsTogether = 8;  // transformed by several threads at once
constexpr double kMinEnvelope = 1e-11;
constexpr float kMaxLogMagnitude = 60.0f;  // e^60 leaves room for the sums in float
constexpr float kMaxPhase = 1e9f;          // as far as det::sin and det::cos go

bool row_is_sane(const float* row, size_t bins) {
  for (size_t k = 0; k < bins; ++k) {
    if (!(row[k] <= kMaxLogMagnitude) || !(std::fabs(row[bins + k]) <= kMaxPhase)) return false;
  }
  return true;
}

}  // namespace

Result<IstftStream> IstftStream::create(std::span<const float> window, size_t hop_length) {
  const size_t n_fft = window.size();
  RILL_ASSIGN_OR_RETURN(RealFft fft, RealFft::create(n_fft));
  const size_t hop = hop_length == 0 ? n_fft / 4 : hop_length;
  if (hop == 0 || hop > n_fft || (n_fft - hop) % 2 != 0) {
    return Error{ErrorCode::kInvalidArgument,
                 cat("istft: got n_fft ", n_fft, " and hop_length ", hop,
                     ", expected a hop up to n_fft with an even difference")};
  }
  std::vector<double> wide(window.begin(), window.end());
  // Each sample that is kept lies in the middle `hop` samples of one row, so this bounds the
  // envelope below.
  const size_t margin = (n_fft - hop) / 2;
  for (size_t i = 0; i < n_fft; ++i) {
    const bool kept = i >= margin && i < margin + hop;
    if (!std::isfinite(wide[i]) || std::fabs(wide[i]) > 1e6 ||
        (kept && wide[i] * wide[i] < kMinEnvelope)) {
      return Error{ErrorCode::kInvalidFormat, cat("istft window: value ", i, ": got ", window[i])};
    }
  }
  return IstftStream(std::move(fft), std::move(wide), hop);
}

IstftStream::IstftStream(RealFft fft, std::vector<double> window, size_t hop)
    : fft_(std::move(fft)), window_(std::move(window)), hop_(hop), work_(kRowsTogether) {
  for (RowWork& work : work_) {
    work.spectrum.resize(fft_.num_bins());
    work.block.resize(fft_.size());
  }
}

void IstftStream::transform(const float* row, RowWork& work) const {
  const size_t bins = fft_.num_bins();
  det::polar(row, row + bins, bins, &work.spectrum[0].re);
  fft_.inverse(work.spectrum, work.fft, work.block);
}

// Adds the next row's samples to the sums.
void IstftStream::add(const std::vector<double>& block) {
  const size_t begin = static_cast<size_t>(rows_ * static_cast<int64_t>(hop_) - position_);
  signal_.resize(begin + block.size(), 0.0);
  envelope_.resize(begin + block.size(), 0.0);
  for (size_t i = 0; i < block.size(); ++i) {
    signal_[begin + i] += block[i] * window_[i];
    envelope_[begin + i] += window_[i] * window_[i];
  }
  ++rows_;
}

Status IstftStream::push(ConstMat rows, std::vector<float>& out, ThreadPool* pool) {
  const size_t bins = fft_.num_bins();
  RILL_CHECK(rows.cols == 2 * bins, "istft: rows hold n_fft + 2 values");
  for (size_t first = 0; first < rows.rows; first += kRowsTogether) {
    const size_t count = std::min(kRowsTogether, rows.rows - first);
    size_t sane = 0;
    while (sane < count && row_is_sane(rows.row(first + sane), bins)) ++sane;
    const auto run = [&](size_t i) { transform(rows.row(first + i), work_[i]); };
    if (pool != nullptr) {
      pool->parallel_for(sane, run);
    } else {
      for (size_t i = 0; i < sane; ++i) run(i);
    }
    for (size_t i = 0; i < sane; ++i) {
      add(work_[i].block);
      emit(rows_ * static_cast<int64_t>(hop_), out);
    }
    if (sane < count) {
      return Error{ErrorCode::kInternal,
                   cat("istft: row ", rows_, ": a log-magnitude or phase is not finite or absurd")};
    }
  }
  return {};
}

// Puts out the samples before position `end` and forgets them; the margin before the first is
// dropped.
void IstftStream::emit(int64_t end, std::vector<float>& out) {
  const int64_t margin = static_cast<int64_t>((fft_.size() - hop_) / 2);
  const size_t count = static_cast<size_t>(end - position_);
  for (size_t i = 0; i < count; ++i) {
    if (position_ + static_cast<int64_t>(i) < margin) continue;
    out.push_back(static_cast<float>(signal_[i] / envelope_[i]));
  }
  signal_.erase(signal_.begin(), signal_.begin() + static_cast<std::ptrdiff_t>(count));
  envelope_.erase(envelope_.begin(), envelope_.begin() + static_cast<std::ptrdiff_t>(count));
  position_ = end;
}

void IstftStream::finish(std::vector<float>& out) {
  if (rows_ == 0) return;
  emit(rows_ * static_cast<int64_t>(hop_) + static_cast<int64_t>((fft_.size() - hop_) / 2), out);
}

}  // namespace rill::audio
