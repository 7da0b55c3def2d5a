// SPDX-License-Identifier: Apache-2.0
#include "live_pcm.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <string_view>
#include <vector>

#include "exit_codes.h"
#include "handles.h"

namespace rill::cli {
namespace {

/// How files with a header begin. A bare MP3 stream has none, so it is not among them.
constexpr std::string_view kMagics[] = {"RIFF", "RIFX", "RF64", "BW64", "riff",
                                        "fLaC", "OggS", "FORM", "caff", ".snd"};

/// Appends up to `count` bytes of standard input; fewer at its end.
void read_bytes_of_input(size_t count, std::string& bytes) {
  const size_t held = bytes.size();
  bytes.resize(held + count);
  bytes.resize(held + std::fread(bytes.data() + held, 1, count, stdin));
}

int check_read() {
  if (std::ferror(stdin) == 0) return kExitOk;
  return report(kExitUnreadable, std::string("standard input: ") + std::strerror(errno));
}

int push(rill_stream* stream, const PcmFormat& format, const std::string& bytes, size_t frames) {
  const auto channels = static_cast<size_t>(format.channels);
  ErrorSlot error;
  rill_status status = RILL_OK;
  if (format.sample_format == "f32le") {
    std::vector<float> samples(frames * channels);
    std::memcpy(samples.data(), bytes.data(), samples.size() * sizeof(float));
    status = rill_stream_push_audio_f32(stream, samples.data(), frames, format.channels,
                                        format.sample_rate_hz, error.out());
  } else {
    std::vector<int16_t> samples(frames * channels);
    std::memcpy(samples.data(), bytes.data(), samples.size() * sizeof(int16_t));
    status = rill_stream_push_audio_s16(stream, samples.data(), frames, format.channels,
                                        format.sample_rate_hz, error.out());
  }
  return status == RILL_OK ? kExitOk : report(status, error);
}

}  // namespace

bool begins_audio_file(std::string_view head) {
  if (head.substr(0, 3) == "ID3") return true;
  for (const std::string_view magic : kMagics) {
    if (head == magic) return true;
  }
  return false;
}

bool starts_audio_file(std::string& head) {
  read_bytes_of_input(kHeadBytes, head);
  return begins_audio_file(head);
}

int read_rest(std::string& head) {
  constexpr size_t kPiece = size_t{1} << 16;
  while (std::feof(stdin) == 0 && std::ferror(stdin) == 0) read_bytes_of_input(kPiece, head);
  return check_read();
}

int push_live_pcm(rill_stream* stream, const PcmFormat& format, const std::string& head) {
  const size_t sample_bytes = format.sample_format == "f32le" ? sizeof(float) : sizeof(int16_t);
  const size_t frame_bytes = sample_bytes * static_cast<size_t>(format.channels);
  const size_t piece_bytes = frame_bytes * static_cast<size_t>(format.sample_rate_hz / 10 + 1);
  std::string bytes = head;
  while (true) {
    if (bytes.size() < piece_bytes) read_bytes_of_input(piece_bytes - bytes.size(), bytes);
    const bool at_end = std::feof(stdin) != 0 || std::ferror(stdin) != 0;
    const size_t frames = bytes.size() / frame_bytes;
    if (frames > 0) {
      const int exit_code = push(stream, format, bytes, frames);
      if (exit_code != kExitOk) return exit_code;
      bytes.erase(0, frames * frame_bytes);
    }
    if (!at_end) continue;
    if (const int exit_code = check_read(); exit_code != kExitOk) return exit_code;
    if (bytes.empty()) return kExitOk;
    return report(kExitUnreadable, "standard input: ends within a sample: " +
                                       std::to_string(bytes.size()) + " bytes are left over");
  }
}

}  // namespace rill::cli
