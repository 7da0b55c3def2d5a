// SPDX-License-Identifier: Apache-2.0
// Speech to a sound file or to standard output. WAV is written while it is made, and its bytes are
// those of the whole speech at once; compressed files are written at the end.
#pragma once

#include <cstdio>
#include <string>

#include "rill/rill.h"

namespace rill::cli {

/// Refuses a path whose extension names no kind of sound file that rill writes, as a usage error of
/// `command`; paths without an extension (and "-") are for WAV. Returns 0, or the exit code.
int check_sound_path(const std::string& path, const std::string& command);

/// Whether this kind of file is written while its speech is made.
[[nodiscard]] bool streams_sound(const std::string& path);

/// A sound file, mono at 24 kHz, of the kind that its name's extension says. The sizes of a WAV
/// header are filled in at the end where the output can be sought.
class SpeechOutput {
 public:
  SpeechOutput() = default;
  ~SpeechOutput();
  SpeechOutput(const SpeechOutput&) = delete;
  SpeechOutput& operator=(const SpeechOutput&) = delete;

  /// Opens a file that check_sound_path passed, or standard output for "-". Returns 0, or an exit
  /// code after printing why.
  int open(const std::string& path);
  /// Appends samples. Returns 0, or an exit code after printing why.
  int write(const float* samples, size_t count);
  /// Completes the file; `result` is the whole speech, or null if there is none after all. Returns
  /// 0, or an exit code after printing why.
  int finish(const rill_result* result);

 private:
  int fail() const;
  bool write_header(uint32_t data_bytes);
  int write_compressed(const rill_result* result);
  int close();

  std::string path_;
  std::string format_;  ///< as rill_result_audio_file names it
  FILE* file_ = nullptr;
  bool owned_ = false;
  uint64_t num_samples_ = 0;
};

}  // namespace rill::cli
