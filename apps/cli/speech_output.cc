// SPDX-License-Identifier: Apache-2.0
#include "speech_output.h"

#include <cerrno>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <vector>

#include "exit_codes.h"
#include "handles.h"
#include "wav_header.h"

namespace rill::cli {
namespace {

constexpr uint32_t kSampleRateHz = 24000;

/// The extension in lower case, without its dot; "wav" where there is none.
std::string format_of(const std::string& path) {
  std::string extension = std::filesystem::path(path).extension().string();
  if (path == "-" || extension.size() < 2) return "wav";
  extension.erase(0, 1);
  for (char& c : extension) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
  return extension;
}

}  // namespace

int check_sound_path(const std::string& path, const std::string& command) {
  const std::string format = format_of(path);
  for (const char* known : {"wav", "flac", "opus", "ogg"}) {
    if (format == known) return kExitOk;
  }
  return report_usage(path + ": unknown kind of sound file; use .wav, .flac, .opus or .ogg",
                      command);
}

bool streams_sound(const std::string& path) { return format_of(path) == "wav"; }

SpeechOutput::~SpeechOutput() {
  if (owned_ && file_ != nullptr) std::fclose(file_);
}

int SpeechOutput::fail() const { return report(kExitFailed, path_ + ": " + std::strerror(errno)); }

bool SpeechOutput::write_header(uint32_t data_bytes) {
  const auto header = wav_header(kSampleRateHz, data_bytes);
  return std::fwrite(header.data(), 1, header.size(), file_) == header.size();
}

int SpeechOutput::open(const std::string& path) {
  path_ = path == "-" ? "standard output" : path;
  owned_ = path != "-";
  format_ = format_of(path);
  file_ = owned_ ? std::fopen(path.c_str(), "wb") : stdout;
  if (file_ == nullptr) return fail();
  return format_ != "wav" || write_header(kUnknownWavSize) ? kExitOk : fail();
}

int SpeechOutput::write(const float* samples, size_t count) {
  if (format_ != "wav") return kExitOk;
  std::vector<int16_t> words(count);
  rill_samples_to_s16(samples, count, words.data());
  std::vector<unsigned char> bytes(2 * count);
  for (size_t i = 0; i < count; ++i) {
    const auto word = static_cast<uint16_t>(words[i]);
    bytes[2 * i] = static_cast<unsigned char>(word & 0xFF);
    bytes[2 * i + 1] = static_cast<unsigned char>(word >> 8);
  }
  num_samples_ += count;
  // Each event is heard as soon as it is made.
  const bool written = std::fwrite(bytes.data(), 1, bytes.size(), file_) == bytes.size();
  return written && std::fflush(file_) == 0 ? kExitOk : fail();
}

int SpeechOutput::write_compressed(const rill_result* result) {
  ErrorSlot error;
  StringHandle bytes;
  const rill_status status =
      rill_result_audio_file(result, format_.c_str(), Out(bytes), error.out());
  if (status != RILL_OK) return report(status, error);
  const size_t size = rill_string_size(bytes.get());
  return std::fwrite(rill_string_data(bytes.get()), 1, size, file_) == size ? kExitOk : fail();
}

int SpeechOutput::close() {
  FILE* file = file_;
  file_ = nullptr;
  return std::fclose(file) == 0 ? kExitOk : fail();
}

int SpeechOutput::finish(const rill_result* result) {
  if (!owned_) return kExitOk;
  if (format_ != "wav") {
    const int exit_code = result == nullptr ? kExitOk : write_compressed(result);
    const int close_code = close();
    return exit_code != kExitOk ? exit_code : close_code;
  }
  const uint64_t data_bytes = 2 * num_samples_;
  if (data_bytes < kUnknownWavSize - kWavHeaderBytes) {
    if (std::fseek(file_, 0, SEEK_SET) != 0 || !write_header(static_cast<uint32_t>(data_bytes)))
      return fail();
  }
  return close();
}

}  // namespace rill::cli
