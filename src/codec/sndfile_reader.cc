// SPDX-License-Identifier: Apache-2.0
// AudioReader over libsndfile.
#include <sndfile.h>

#include <algorithm>
#include <limits>
#include <utility>

#include "base/str_cat.h"
#include "codec/compressed_readers.h"

namespace rill::codec {
namespace {

SeekableFile& file_of(void* user) { return *static_cast<SeekableFile*>(user); }

sf_count_t length_callback(void* user) { return file_of(user).size(); }

sf_count_t seek_callback(sf_count_t offset, int whence, void* user) {
  return file_of(user).seek(offset, whence) ? file_of(user).position() : -1;
}

sf_count_t read_callback(void* out, sf_count_t count, void* user) {
  if (count <= 0) return 0;
  return static_cast<sf_count_t>(
      file_of(user).read({static_cast<std::byte*>(out), static_cast<size_t>(count)}));
}

sf_count_t write_callback(const void*, sf_count_t, void*) { return 0; }

sf_count_t tell_callback(void* user) { return file_of(user).position(); }

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
  SndfileReader(audio::AudioFormat format, std::unique_ptr<SeekableFile> bytes, SndfileHandle file)
      : AudioReader(std::move(format)), bytes_(std::move(bytes)), file_(std::move(file)) {}

 private:
  Result<size_t> read_frames(std::span<float> interleaved) override {
    const sf_count_t wanted = static_cast<sf_count_t>(interleaved.size() / channels());
    const sf_count_t got = sf_readf_float(file_.get(), interleaved.data(), wanted);
    RILL_RETURN_IF_ERROR(bytes_->status());
    if (got <= 0 && sf_error(file_.get()) != SF_ERR_NO_ERROR) {
      return Error{ErrorCode::kInvalidFormat,
                   cat(format().container, ": ", sf_strerror(file_.get()))};
    }
    return static_cast<size_t>(std::max<sf_count_t>(got, 0));
  }

  std::unique_ptr<SeekableFile> bytes_;  // outlives file_, which reads from it
  SndfileHandle file_;
};

}  // namespace

Result<std::unique_ptr<audio::AudioReader>> open_sndfile(std::unique_ptr<audio::ByteSource> source,
                                                         const std::string& kind) {
  auto bytes = std::make_unique<SeekableFile>(std::move(source));
  SF_VIRTUAL_IO callbacks = {length_callback, seek_callback, read_callback, write_callback,
                             tell_callback};
  SF_INFO info = {};
  SndfileHandle file(sf_open_virtual(&callbacks, SFM_READ, &info, bytes.get()));
  RILL_RETURN_IF_ERROR(bytes->status());
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
      std::make_unique<SndfileReader>(std::move(format), std::move(bytes), std::move(file)));
}

}  // namespace rill::codec
