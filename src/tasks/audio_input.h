// SPDX-License-Identifier: Apache-2.0
// AudioInput: the audio of a request, from wherever it comes, and its way to mono 16 kHz samples.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <variant>
#include <vector>

#include "base/result.h"

namespace rill::tasks {

/// Sample rate of the speech encoder.
inline constexpr int32_t kModelSampleRateHz = 16000;

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
  ///         kContextFull (past 24 hours).
  [[nodiscard]] Result<std::vector<float>> read_mono_16k() const;

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
