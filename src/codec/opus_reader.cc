// SPDX-License-Identifier: Apache-2.0
// AudioReader over opusfile.
#include <opusfile.h>

#include <algorithm>
#include <utility>

#include "base/str_cat.h"
#include "codec/compressed_readers.h"

namespace rill::codec {
namespace {

SeekableFile& file_of(void* user) { return *static_cast<SeekableFile*>(user); }

int read_callback(void* user, unsigned char* out, int count) {
  SeekableFile& file = file_of(user);
  if (count <= 0) return 0;
  const size_t got = file.read({reinterpret_cast<std::byte*>(out), static_cast<size_t>(count)});
  return file.status() ? static_cast<int>(got) : -1;
}

int seek_callback(void* user, opus_int64 offset, int whence) {
  return file_of(user).seek(offset, whence) ? 0 : -1;
}

opus_int64 tell_callback(void* user) { return file_of(user).position(); }

struct FreeOpusFile {
  void operator()(OggOpusFile* file) const { op_free(file); }
};
using OpusHandle = std::unique_ptr<OggOpusFile, FreeOpusFile>;

class OpusReader final : public audio::AudioReader {
 public:
  /// `as_stereo`: the links of a chained file differ in their channels, so the library mixes all to
  /// two.
  OpusReader(audio::AudioFormat format, std::unique_ptr<SeekableFile> bytes, OpusHandle file,
             bool as_stereo)
      : AudioReader(std::move(format)),
        bytes_(std::move(bytes)),
        file_(std::move(file)),
        as_stereo_(as_stereo) {}

 private:
  Result<size_t> read_frames(std::span<float> interleaved) override {
    const int room = static_cast<int>(std::min<size_t>(interleaved.size(), size_t{1} << 20));
    while (true) {
      const int got = as_stereo_ ? op_read_float_stereo(file_.get(), interleaved.data(), room)
                                 : op_read_float(file_.get(), interleaved.data(), room, nullptr);
      if (got >= 0) return static_cast<size_t>(got);
      if (got == OP_HOLE) continue;  // lost packets: what follows is still good
      RILL_RETURN_IF_ERROR(bytes_->status());
      return Error{ErrorCode::kInvalidFormat,
                   cat("Ogg Opus: damaged data (opusfile error ", got, ")")};
    }
  }

  std::unique_ptr<SeekableFile> bytes_;  // outlives file_, which reads from it
  OpusHandle file_;
  bool as_stereo_;
};

bool links_differ(const OggOpusFile* file) {
  const int links = op_link_count(file);
  for (int i = 1; i < links; ++i) {
    if (op_channel_count(file, i) != op_channel_count(file, 0)) return true;
  }
  return false;
}

}  // namespace

Result<std::unique_ptr<audio::AudioReader>> open_opus(std::unique_ptr<audio::ByteSource> source) {
  int error = 0;
  auto bytes = std::make_unique<SeekableFile>(std::move(source));
  const OpusFileCallbacks callbacks = {read_callback, seek_callback, tell_callback, nullptr};
  OpusHandle file(op_open_callbacks(bytes.get(), &callbacks, nullptr, 0, &error));
  RILL_RETURN_IF_ERROR(bytes->status());
  if (!file) {
    return Error{ErrorCode::kInvalidFormat,
                 cat("found Ogg Opus, but it does not open (opusfile error ", error, ")")};
  }
  const bool as_stereo = links_differ(file.get());
  audio::AudioFormat format;
  format.sample_rate_hz = 48000;
  format.channels =
      as_stereo ? 2 : static_cast<uint32_t>(std::max(op_channel_count(file.get(), 0), 0));
  format.container = "Ogg";
  format.codec = "Opus";
  if (const ogg_int64_t total = op_pcm_total(file.get(), -1); total >= 0)
    format.total_frames = total;
  RILL_RETURN_IF_ERROR(audio::check_audio_format(format, "Ogg Opus"));
  return std::unique_ptr<audio::AudioReader>(std::make_unique<OpusReader>(
      std::move(format), std::move(bytes), std::move(file), as_stereo));
}

}  // namespace rill::codec
