// SPDX-License-Identifier: Apache-2.0
// The speech encoder's front end: pre-emphasis, STFT, mel filterbank, log, normalisation over the
// clip. Streamed: frames are computed as samples come, and only the normalisation waits for the
// end.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "audio/fft.h"
#include "audio/mel_filterbank.h"
#include "base/result.h"
#include "tensor/tensor.h"

namespace rill::audio {

/// Log-mel settings; the defaults are LFM2-Audio's.
struct LogMelConfig {
  uint32_t sample_rate_hz = 16000;
  size_t n_fft = 512;
  size_t win_length = 400;  ///< 2 to n_fft; the window is centred in the n_fft block
  size_t hop_length = 160;  ///< 1 to win_length
  size_t n_mels = 128;
  double f_min_hz = 0.0;
  double f_max_hz = 8000.0;       ///< at most half the sample rate
  float preemphasis = 0.97f;      ///< 0: none
  double log_guard = 0x1p-24;     ///< added before the logarithm
  double deviation_guard = 1e-5;  ///< added to the standard deviation
};

/// Frames of a clip: n / hop_length + 1. The last one is always zeroed by the normalisation.
[[nodiscard]] size_t log_mel_frames(size_t num_samples, const LogMelConfig& config = {});

/// Steps that the speech encoder makes of a clip of 16 kHz samples: ceil(frames / 8), at least 1.
[[nodiscard]] size_t audio_steps(size_t num_samples);

/// The tables of a configuration and the stages between them. Constant after creation.
/// Source: NeMo AudioToMelSpectrogramPreprocessor as liquid-audio uses it.
class LogMel {
 public:
  /// Errors: kInvalidArgument, naming the setting.
  static Result<LogMel> create(const LogMelConfig& config = {});

  [[nodiscard]] const LogMelConfig& config() const { return config_; }
  /// The symmetric Hann window, [win_length].
  [[nodiscard]] std::span<const float> window() const { return window_; }
  [[nodiscard]] const MelFilterbank& filterbank() const { return filterbank_; }

  /// y[i] = x[i] - preemphasis * previous, in float.
  /// Shapes: x [n] -> y [n]. `previous` is the sample before x (0 at the start) and becomes the
  /// last one.
  void preemphasise(std::span<const float> x, float& previous, std::span<float> y) const;

  /// Room for one frame's intermediate values.
  struct Work {
    RealFft::Work fft;
    std::vector<double> block;
    std::vector<Complex> spectrum;
    std::vector<double> power;
  };
  /// |STFT|^2 of one frame, into work.power.
  /// Shapes: samples [win_length], pre-emphasised, those under the window -> work.power [n_fft / 2
  /// + 1].
  void power_spectrum(std::span<const float> samples, Work& work) const;
  /// log(mel + log_guard) of one frame.
  /// Shapes: power [n_fft / 2 + 1] -> row [n_mels].
  void log_mel_row(std::span<const double> power, std::span<float> row) const;
  /// Normalises each mel bin over the first valid_frames rows, with statistics in double, and
  /// zeroes the other rows. One valid frame becomes zeros. Shapes: features [F, n_mels], in place.
  void normalise(size_t valid_frames, Mat features) const;

 private:
  LogMel(const LogMelConfig& config, RealFft fft, MelFilterbank filterbank);

  LogMelConfig config_;
  RealFft fft_;
  MelFilterbank filterbank_;
  std::vector<float> window_;
};

/// Computes the features of one clip from samples pushed in pieces of any size; any cut gives the
/// same bits. Lifetime: `front_end` must outlive the stream.
class LogMelStream {
 public:
  explicit LogMelStream(const LogMel& front_end);

  /// Takes mono samples at the configuration's rate, which check_samples has passed.
  void push(std::span<const float> samples);

  [[nodiscard]] size_t num_samples() const { return num_samples_; }
  /// Frames computed so far; their rows, not yet normalised, are [frames_ready(), n_mels].
  [[nodiscard]] size_t frames_ready() const { return frames_; }
  [[nodiscard]] std::span<const float> rows() const { return rows_; }

  /// Computes the frames that reach past the end (into zeros), so that frames_ready() is all of
  /// them.
  void finish_frames();
  /// The normalised features; the stream takes nothing after it.
  /// Shapes: -> [F, n_mels], time-major, F = log_mel_frames(num_samples()). Frames >= num_samples /
  /// hop_length are zero
  ///         (always exactly one), so fewer than hop_length samples give one zero frame.
  /// Errors: kOutOfMemory.
  Result<Tensor> finish();

 private:
  void add_frame();

  const LogMel& front_end_;
  LogMel::Work work_;
  std::vector<float> history_;  // pre-emphasised samples under the next frames' windows
  std::vector<float> rows_;
  size_t num_samples_ = 0;
  size_t frames_ = 0;
  float previous_ = 0.0f;
};

/// The features of a whole clip.
/// Shapes: pcm [n] -> [F, n_mels], as LogMelStream::finish.
/// Units:  pcm in [-1, 1] at config.sample_rate_hz; natural logarithm, normalised.
/// Errors: kInvalidArgument (settings); kInvalidFormat (check_samples); kOutOfMemory.
Result<Tensor> log_mel(std::span<const float> pcm, const LogMelConfig& config = {});

}  // namespace rill::audio
