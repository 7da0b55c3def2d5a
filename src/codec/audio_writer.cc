// SPDX-License-Identifier: Apache-2.0
#include "codec/audio_writer.h"

#include "audio/wav_writer.h"
#include "base/str_cat.h"
#include "codec/sndfile_writer.h"

namespace rill::codec {
namespace {

struct FormatName {
  std::string_view name;
  SoundFileFormat format;
};
constexpr FormatName kNames[] = {{"wav", SoundFileFormat::kWav},
                                 {"flac", SoundFileFormat::kFlac},
                                 {"opus", SoundFileFormat::kOpus},
                                 {"ogg", SoundFileFormat::kVorbis}};

}  // namespace

std::optional<SoundFileFormat> sound_file_format_by_name(std::string_view name) {
  for (const FormatName& known : kNames) {
    if (known.name == name) return known.format;
  }
  return std::nullopt;
}

Result<std::vector<std::byte>> encode_sound_file(SoundFileFormat format, uint32_t sample_rate_hz,
                                                 std::span<const float> samples) {
  if (format == SoundFileFormat::kWav)
    return audio::encode_wav(audio::WavSampleType::kInt16, sample_rate_hz, 1, samples);
#ifdef RILL_HAVE_CODECS
  return encode_with_sndfile(format, sample_rate_hz, samples);
#else
  return Error{ErrorCode::kUnsupported,
               "encode sound file: this build writes only WAV (it was made with "
               "RILL_BUILD_CODECS=OFF)"};
#endif
}

}  // namespace rill::codec
