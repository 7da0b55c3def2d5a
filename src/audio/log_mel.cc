// SPDX-License-Identifier: Apache-2.0
#include "audio/log_mel.h"

#include <algorithm>
#include <array>
#include <cmath>

#include "audio/pcm.h"
#include "base/check.h"
#include "base/det_math.h"
#include "base/str_cat.h"

namespace rill::audio {
namespace {

constexpr size_t kMaxMels = 512;

Error bad_setting(const std::string& what) {
  return {ErrorCode::kInvalidArgument, "log-mel: " + what};
}

Status check_config(const LogMelConfig& c) {
  if (c.sample_rate_hz < kMinSampleRateHz || c.sample_rate_hz > kMaxSampleRateHz) {
    return bad_setting(cat("sample_rate_hz: got ", c.sample_rate_hz));
  }
  if (c.win_length < 2 || c.win_length > c.n_fft) {
    return bad_setting(
        cat("win_length: got ", c.win_length, ", expected 2 to n_fft (", c.n_fft, ")"));
  }
  if (c.hop_length < 1 || c.hop_length > c.win_length) {
    return bad_setting(
        cat("hop_length: got ", c.hop_length, ", expected 1 to win_length (", c.win_length, ")"));
  }
  if (c.n_mels < 1 || c.n_mels > kMaxMels) {
    return bad_setting(cat("n_mels: got ", c.n_mels, ", expected 1 to ", kMaxMels));
  }
  if (!(c.f_min_hz >= 0.0 && c.f_min_hz < c.f_max_hz && c.f_max_hz <= 0.5 * c.sample_rate_hz)) {
    return bad_setting(cat("f_min_hz, f_max_hz: got ", c.f_min_hz, ", ", c.f_max_hz));
  }
  if (!(c.log_guard > 0.0) || !(c.deviation_guard > 0.0) || !std::isfinite(c.preemphasis)) {
    return bad_setting("log_guard and deviation_guard must be positive, preemphasis finite");
  }
  return {};
}

std::vector<float> symmetric_hann(size_t length) {
  std::vector<float> window(length);
  for (size_t i = 0; i < length; ++i) {
    const double angle = 2.0 * det::kPi * static_cast<double>(i) / static_cast<double>(length - 1);
    window[i] = static_cast<float>(0.5 - 0.5 * det::cos(angle));
  }
  return window;
}

}  // namespace

size_t log_mel_frames(size_t num_samples, const LogMelConfig& config) {
  return num_samples / config.hop_length + 1;
}

size_t audio_steps(size_t num_samples) { return (log_mel_frames(num_samples) + 7) / 8; }

Result<LogMel> LogMel::create(const LogMelConfig& config) {
  RILL_RETURN_IF_ERROR(check_config(config));
  RILL_ASSIGN_OR_RETURN(RealFft fft, RealFft::create(config.n_fft));
  MelFilterbank filterbank(config.sample_rate_hz, config.n_fft, config.n_mels, config.f_min_hz,
                           config.f_max_hz);
  return LogMel(config, std::move(fft), std::move(filterbank));
}

LogMel::LogMel(const LogMelConfig& config, RealFft fft, MelFilterbank filterbank)
    : config_(config),
      fft_(std::move(fft)),
      filterbank_(std::move(filterbank)),
      window_(symmetric_hann(config.win_length)) {}

void LogMel::preemphasise(std::span<const float> x, float& previous, std::span<float> y) const {
  RILL_CHECK(x.size() == y.size(), "preemphasise: sizes disagree");
  for (size_t i = 0; i < x.size(); ++i) {
    const float current = x[i];
    y[i] = current - config_.preemphasis * previous;
    previous = current;
  }
}

void LogMel::power_spectrum(std::span<const float> samples, Work& work) const {
  RILL_CHECK(samples.size() == window_.size(),
             "power_spectrum: expected the samples under one window");
  const size_t margin = (config_.n_fft - window_.size()) / 2;
  work.block.assign(config_.n_fft, 0.0);
  for (size_t i = 0; i < samples.size(); ++i) {
    work.block[margin + i] = static_cast<double>(samples[i] * window_[i]);
  }
  work.spectrum.resize(fft_.num_bins());
  fft_.forward(work.block, work.fft, work.spectrum);
  work.power.resize(fft_.num_bins());
  for (size_t k = 0; k < work.power.size(); ++k) {
    const Complex bin = work.spectrum[k];
    work.power[k] = bin.re * bin.re + bin.im * bin.im;
  }
}

void LogMel::log_mel_row(std::span<const double> power, std::span<float> row) const {
  std::array<double, kMaxMels> mel;
  filterbank_.apply(power, std::span(mel).first(config_.n_mels));
  RILL_CHECK(row.size() == config_.n_mels, "log_mel_row: sizes disagree");
  for (size_t m = 0; m < row.size(); ++m)
    row[m] = static_cast<float>(det::log(mel[m] + config_.log_guard));
}

void LogMel::normalise(size_t valid_frames, Mat features) const {
  RILL_CHECK(valid_frames <= features.rows && features.cols == config_.n_mels,
             "normalise: sizes disagree");
  const double count = std::max(1.0, static_cast<double>(valid_frames));
  // Row by row: the columns' sums still run over ascending frames.
  std::vector<double> mean(features.cols, 0.0);
  std::vector<double> deviation(features.cols, 0.0);
  for (size_t f = 0; f < valid_frames; ++f) {
    for (size_t m = 0; m < features.cols; ++m) mean[m] += static_cast<double>(features.row(f)[m]);
  }
  for (double& value : mean) value /= count;
  for (size_t f = 0; f < valid_frames; ++f) {
    for (size_t m = 0; m < features.cols; ++m) {
      const double difference = static_cast<double>(features.row(f)[m]) - mean[m];
      deviation[m] += difference * difference;
    }
  }
  for (double& value : deviation) value = valid_frames > 1 ? std::sqrt(value / (count - 1.0)) : 0.0;
  for (size_t f = 0; f < features.rows; ++f) {
    float* row = features.row(f);
    for (size_t m = 0; m < features.cols; ++m) {
      const double scaled =
          (static_cast<double>(row[m]) - mean[m]) / (deviation[m] + config_.deviation_guard);
      row[m] = f < valid_frames ? static_cast<float>(scaled) : 0.0f;
    }
  }
}

LogMelStream::LogMelStream(const LogMel& front_end) : front_end_(front_end) {
  // The first block is centred on sample 0, and the window on its block: zeros before the clip come
  // under it.
  const LogMelConfig& config = front_end.config();
  history_.assign(config.n_fft / 2 - (config.n_fft - config.win_length) / 2, 0.0f);
}

void LogMelStream::add_frame() {
  const LogMelConfig& config = front_end_.config();
  front_end_.power_spectrum(std::span(history_).first(config.win_length), work_);
  rows_.resize(rows_.size() + config.n_mels);
  front_end_.log_mel_row(work_.power, std::span(rows_).last(config.n_mels));
  ++frames_;
  history_.erase(history_.begin(),
                 history_.begin() + static_cast<std::ptrdiff_t>(config.hop_length));
}

void LogMelStream::push(std::span<const float> samples) {
  const LogMelConfig& config = front_end_.config();
  num_samples_ += samples.size();
  constexpr size_t kPiece = 4096;  // keeps the history short whatever the caller pushes
  while (!samples.empty()) {
    const size_t count = std::min(samples.size(), kPiece);
    const size_t held = history_.size();
    history_.resize(held + count);
    front_end_.preemphasise(samples.first(count), previous_, std::span(history_).subspan(held));
    samples = samples.subspan(count);
    while (history_.size() >= config.win_length) add_frame();
  }
}

void LogMelStream::finish_frames() {
  const size_t total = log_mel_frames(num_samples_, front_end_.config());
  while (frames_ < total) {
    history_.resize(std::max(history_.size(), front_end_.config().win_length), 0.0f);
    add_frame();
  }
}

Result<Tensor> LogMelStream::finish() {
  finish_frames();
  const LogMelConfig& config = front_end_.config();
  RILL_ASSIGN_OR_RETURN(Tensor features, Tensor::create(frames_, config.n_mels));
  std::copy(rows_.begin(), rows_.end(), features.data());
  front_end_.normalise(num_samples_ / config.hop_length, features.mat());
  return features;
}

Result<Tensor> log_mel(std::span<const float> pcm, const LogMelConfig& config) {
  RILL_RETURN_IF_ERROR(check_samples(pcm, 0));
  RILL_ASSIGN_OR_RETURN(const LogMel front_end, LogMel::create(config));
  LogMelStream stream(front_end);
  stream.push(pcm);
  return stream.finish();
}

}  // namespace rill::audio
