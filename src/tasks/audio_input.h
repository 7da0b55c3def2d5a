// SPDX-License-Identifier: Apache-2.0
// AudioInput: the audio of a request, from wherever it comes, and its way to mono 16 kHz samples.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "audio/mono.h"
#include "audio/pcm.h"
#include "base/result.h"

namespace rill::tasks {

/// Sample rate of the speech encoder.
inline constexpr int32_t kModelSampleRateHz = 16000;

/// Audio as mono samples at 16 kHz, piece by piece.
/// Lifetime: the AudioInput that it was opened from must outlive it.
class MonoPieces {
 public:
  explicit MonoPieces(std::vector<float> whole)
      : total_samples_(static_cast<int64_t>(whole.size())), whole_(std::move(whole)) {}
  MonoPieces(std::unique_ptr<audio::AudioReader> reader, audio::MonoStream stream);

  /// Appends the next samples to `out`; false at the end, after which there are none.
  /// Errors: kIo, kInvalidFormat (damaged, a non-finite sample), kContextFull (past 24 hours).
  Result<bool> read(std::vector<float>& out);
  /// The length where it is known beforehand; a damaged file may claim another one than it has.
  [[nodiscard]] std::optional<int64_t> total_samples() const { return total_samples_; }

 private:
  std::optional<int64_t> total_samples_;
  std::vector<float> whole_;  // if it was read already
  std::unique_ptr<audio::AudioReader> reader_;
  std::optional<audio::MonoStream> stream_;
  std::vector<float> piece_;
  int64_t samples_read_ = 0;
};

/// A file, the bytes of one, or samples.
class AudioInput {
 public:
  AudioInput() = default;  // no audio
  /// A path, or "-" for standard input; opened when it is read.
  static AudioInput from_path(std::string path);
  /// A whole audio file; copied.
  static AudioInput from_file_bytes(std::span<const std::byte> bytes);
  /// Interleaved samples; copied. Errors: kInvalidArgument (channels not 1..64, rate not
  /// 1000..768000, too many).
  static Result<AudioInput> from_samples(const float* samples, size_t frames, int32_t channels,
                                         int32_t rate_hz);
  static Result<AudioInput> from_samples(const int16_t* samples, size_t frames, int32_t channels,
                                         int32_t rate_hz);

  [[nodiscard]] bool empty() const { return std::holds_alternative<std::monostate>(source_); }

  /// Reads everything: channels averaged, resampled to 16 kHz.
  /// Units: samples as the source has them (integers scaled to [-1, 1)).
  /// Errors: kNotFound, kIo, kInvalidFormat (not audio, damaged, empty, a non-finite sample),
  /// kUnsupported (codec),
  ///         kContextFull (past 24 hours), kCancelled.
  [[nodiscard]] Result<std::vector<float>> read_mono_16k(
      const std::atomic<bool>* cancel = nullptr) const;

  /// The same piece by piece, while a pipe still delivers.
  /// Errors: as above, as far as they show at the beginning. Lifetime: `cancel`, which may be null,
  /// must outlive the pieces.
  [[nodiscard]] Result<MonoPieces> open(const std::atomic<bool>* cancel = nullptr) const;

 private:
  struct Path {
    std::string path;
  };
  struct FileBytes {
    std::vector<std::byte> bytes;
  };
  struct Samples {
    std::vector<float> interleaved;
    int32_t channels;
    int32_t rate_hz;
  };

  std::variant<std::monostate, Path, FileBytes, Samples> source_;
};

}  // namespace rill::tasks
