// SPDX-License-Identifier: Apache-2.0
// AudioReader over opusfile, fed from memory.
#include <opusfile.h>

#include <algorithm>
#include <utility>

#include "base/str_cat.h"
#include "codec/compressed_readers.h"

namespace rill::codec {
namespace {

struct FreeOpusFile {
  void operator()(OggOpusFile* file) const { op_free(file); }
};
using OpusHandle = std::unique_ptr<OggOpusFile, FreeOpusFile>;

class OpusReader final : public audio::AudioReader {
 public:
  /// `as_stereo`: the links of a chained file differ in their channels, so the library mixes all to
  /// two.
  OpusReader(audio::AudioFormat format, std::vector<std::byte> bytes, OpusHandle file,
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
      return Error{ErrorCode::kInvalidFormat,
                   cat("Ogg Opus: damaged data (opusfile error ", got, ")")};
    }
  }

  std::vector<std::byte> bytes_;  // outlives file_, which reads from it
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

Result<std::unique_ptr<audio::AudioReader>> open_opus(std::vector<std::byte> bytes) {
  int error = 0;
  const auto* data = reinterpret_cast<const unsigned char*>(bytes.data());
  OpusHandle file(op_open_memory(data, bytes.size(), &error));
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
