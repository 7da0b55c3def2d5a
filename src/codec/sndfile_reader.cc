// SPDX-License-Identifier: Apache-2.0
// AudioReader over libsndfile, fed from memory.
#include <sndfile.h>

#include <algorithm>
#include <cstdio>
#include <cstring>
#include <limits>
#include <utility>

#include "base/str_cat.h"
#include "codec/compressed_readers.h"

namespace rill::codec {
namespace {

// What libsndfile's callbacks read.
struct MemoryFile {
  std::vector<std::byte> bytes;
  sf_count_t position = 0;

  [[nodiscard]] sf_count_t size() const { return static_cast<sf_count_t>(bytes.size()); }
};

MemoryFile& file_of(void* user) { return *static_cast<MemoryFile*>(user); }

sf_count_t length_callback(void* user) { return file_of(user).size(); }

sf_count_t seek_callback(sf_count_t offset, int whence, void* user) {
  MemoryFile& file = file_of(user);
  const sf_count_t base = whence == SEEK_CUR ? file.position : whence == SEEK_END ? file.size() : 0;
  if (offset < -base || offset > file.size() - base) return -1;
  file.position = base + offset;
  return file.position;
}

sf_count_t read_callback(void* out, sf_count_t count, void* user) {
  MemoryFile& file = file_of(user);
  const sf_count_t got = std::clamp<sf_count_t>(count, 0, file.size() - file.position);
  if (got > 0) std::memcpy(out, file.bytes.data() + file.position, static_cast<size_t>(got));
  file.position += got;
  return got;
}

sf_count_t write_callback(const void*, sf_count_t, void*) { return 0; }

sf_count_t tell_callback(void* user) { return file_of(user).position; }

struct CloseSndfile {
  void operator()(SNDFILE* file) const { sf_close(file); }
};
using SndfileHandle = std::unique_ptr<SNDFILE, CloseSndfile>;

std::string format_name(int format, int command) {
  SF_FORMAT_INFO info = {};
  info.format = format;
  const int failed = sf_command(nullptr, command, &info, sizeof info);
  return failed == 0 && info.name != nullptr ? std::string(info.name) : std::string("unknown");
}

class SndfileReader final : public audio::AudioReader {
 public:
  SndfileReader(audio::AudioFormat format, std::unique_ptr<MemoryFile> memory, SndfileHandle file)
      : AudioReader(std::move(format)), memory_(std::move(memory)), file_(std::move(file)) {}

 private:
  Result<size_t> read_frames(std::span<float> interleaved) override {
    const sf_count_t wanted = static_cast<sf_count_t>(interleaved.size() / channels());
    const sf_count_t got = sf_readf_float(file_.get(), interleaved.data(), wanted);
    if (got <= 0 && sf_error(file_.get()) != SF_ERR_NO_ERROR) {
      return Error{ErrorCode::kInvalidFormat,
                   cat(format().container, ": ", sf_strerror(file_.get()))};
    }
    return static_cast<size_t>(std::max<sf_count_t>(got, 0));
  }

  std::unique_ptr<MemoryFile> memory_;  // outlives file_, which reads from it
  SndfileHandle file_;
};

}  // namespace

Result<std::unique_ptr<audio::AudioReader>> open_sndfile(std::vector<std::byte> bytes,
                                                         const std::string& kind) {
  auto memory = std::make_unique<MemoryFile>();
  memory->bytes = std::move(bytes);
  SF_VIRTUAL_IO callbacks = {length_callback, seek_callback, read_callback, write_callback,
                             tell_callback};
  SF_INFO info = {};
  SndfileHandle file(sf_open_virtual(&callbacks, SFM_READ, &info, memory.get()));
  if (!file)
    return Error{ErrorCode::kInvalidFormat,
                 cat("found ", kind, ", but it does not open: ", sf_strerror(nullptr))};
  audio::AudioFormat format;
  format.sample_rate_hz = static_cast<uint32_t>(std::max(info.samplerate, 0));
  format.channels = static_cast<uint32_t>(std::max(info.channels, 0));
  format.container = format_name(info.format & SF_FORMAT_TYPEMASK, SFC_GET_FORMAT_INFO);
  format.codec = format_name(info.format & SF_FORMAT_SUBMASK, SFC_GET_FORMAT_INFO);
  // Streams of unknown length are given the largest number there is.
  if (info.frames >= 0 && info.frames < std::numeric_limits<int64_t>::max() / 2)
    format.total_frames = info.frames;
  RILL_RETURN_IF_ERROR(audio::check_audio_format(format, kind));
  return std::unique_ptr<audio::AudioReader>(
      std::make_unique<SndfileReader>(std::move(format), std::move(memory), std::move(file)));
}

}  // namespace rill::codec
