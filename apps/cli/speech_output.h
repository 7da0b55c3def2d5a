// SPDX-License-Identifier: Apache-2.0
// Speech to a WAV file or to standard output, as it is made: the bytes are those of the whole
// speech at once.
#pragma once

#include <cstdio>
#include <string>

#include "rill/rill.h"

namespace rill::cli {

/// A 16-bit mono WAV at 24 kHz. The header's sizes are filled in at the end where the output can be
/// sought.
class SpeechOutput {
 public:
  SpeechOutput() = default;
  ~SpeechOutput();
  SpeechOutput(const SpeechOutput&) = delete;
  SpeechOutput& operator=(const SpeechOutput&) = delete;

  /// Opens a file, or standard output for "-". Returns 0, or an exit code after printing why.
  int open(const std::string& path);
  /// Appends samples. Returns 0, or an exit code after printing why.
  int write(const float* samples, size_t count);
  /// Completes the file. Returns 0, or an exit code after printing why.
  int finish();

 private:
  int fail() const;
  bool write_header(uint32_t data_bytes);

  std::string path_;
  FILE* file_ = nullptr;
  bool owned_ = false;
  uint64_t num_samples_ = 0;
};

}  // namespace rill::cli
