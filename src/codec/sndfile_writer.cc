// SPDX-License-Identifier: Apache-2.0
#include "codec/sndfile_writer.h"

#include <sndfile.h>

#include <algorithm>
#include <cstring>
#include <memory>

#include "audio/wav_writer.h"
#include "base/str_cat.h"

namespace rill::codec {
namespace {

// What libsndfile's callbacks write; FLAC goes back to its header at the end.
struct MemoryFile {
  std::vector<std::byte> bytes;
  size_t position = 0;
};

MemoryFile& file_of(void* user) { return *static_cast<MemoryFile*>(user); }

sf_count_t length_callback(void* user) {
  return static_cast<sf_count_t>(file_of(user).bytes.size());
}

sf_count_t tell_callback(void* user) { return static_cast<sf_count_t>(file_of(user).position); }

sf_count_t seek_callback(sf_count_t offset, int whence, void* user) {
  const sf_count_t base = whence == SEEK_CUR   ? tell_callback(user)
                          : whence == SEEK_END ? length_callback(user)
                                               : 0;
  if (offset < -base) return -1;
  file_of(user).position = static_cast<size_t>(base + offset);
  return base + offset;
}

sf_count_t read_callback(void* out, sf_count_t count, void* user) {
  MemoryFile& file = file_of(user);
  const size_t left = file.bytes.size() - std::min(file.position, file.bytes.size());
  const size_t got = std::min(static_cast<size_t>(std::max<sf_count_t>(count, 0)), left);
  if (got > 0) std::memcpy(out, file.bytes.data() + file.position, got);
  file.position += got;
  return static_cast<sf_count_t>(got);
}

sf_count_t write_callback(const void* data, sf_count_t count, void* user) {
  MemoryFile& file = file_of(user);
  if (count <= 0) return 0;
  const auto size = static_cast<size_t>(count);
  if (file.bytes.size() < file.position + size) file.bytes.resize(file.position + size);
  std::memcpy(file.bytes.data() + file.position, data, size);
  file.position += size;
  return count;
}

int sndfile_format(SoundFileFormat format) {
  switch (format) {
    case SoundFileFormat::kFlac:
      return SF_FORMAT_FLAC | SF_FORMAT_PCM_16;
    case SoundFileFormat::kOpus:
      return SF_FORMAT_OGG | SF_FORMAT_OPUS;
    default:
      return SF_FORMAT_OGG | SF_FORMAT_VORBIS;
  }
}

struct CloseSndfile {
  void operator()(SNDFILE* file) const { sf_close(file); }
};

/// False if libsndfile took less than everything.
bool write_samples(SNDFILE* file, SoundFileFormat format, std::span<const float> samples) {
  // Pieces: the encoders keep large ones on their stack.
  constexpr size_t kPiece = 4096;
  std::vector<float> clamped;
  std::vector<int16_t> words;
  for (size_t at = 0; at < samples.size(); at += kPiece) {
    const auto piece = samples.subspan(at, std::min(kPiece, samples.size() - at));
    const auto count = static_cast<sf_count_t>(piece.size());
    if (format == SoundFileFormat::kFlac) {
      words.assign(piece.size(), 0);
      std::transform(piece.begin(), piece.end(), words.begin(), audio::to_int16);
      if (sf_writef_short(file, words.data(), count) != count) return false;
    } else {
      clamped.assign(piece.begin(), piece.end());
      for (float& sample : clamped) sample = std::clamp(sample, -1.0f, 1.0f);
      if (sf_writef_float(file, clamped.data(), count) != count) return false;
    }
  }
  return true;
}

Error failed(const char* what) {
  return Error{ErrorCode::kUnsupported, cat("encode sound file: ", what)};
}

}  // namespace

Result<std::vector<std::byte>> encode_with_sndfile(SoundFileFormat format, uint32_t sample_rate_hz,
                                                   std::span<const float> samples) {
  // FLAC's encoder would leave a file of no bytes.
  if (samples.empty())
    return Error{ErrorCode::kInvalidArgument, "encode sound file: there are no samples"};
  MemoryFile memory;
  SF_VIRTUAL_IO callbacks = {length_callback, seek_callback, read_callback, write_callback,
                             tell_callback};
  SF_INFO info = {};
  info.samplerate = static_cast<int>(sample_rate_hz);
  info.channels = 1;
  info.format = sndfile_format(format);
  if (sf_format_check(&info) == 0)
    return failed("this build's libsndfile does not write this format at this rate");
  std::unique_ptr<SNDFILE, CloseSndfile> file(
      sf_open_virtual(&callbacks, SFM_WRITE, &info, &memory));
  if (!file) return failed(sf_strerror(nullptr));
  if (!write_samples(file.get(), format, samples)) return failed(sf_strerror(file.get()));
  file.reset();  // writes what the encoder holds
  return std::move(memory.bytes);
}

}  // namespace rill::codec
