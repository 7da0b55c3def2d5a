// SPDX-License-Identifier: Apache-2.0
// Sound files that rill writes, read back by rill.
#include "codec/audio_writer.h"

#include <gtest/gtest.h>

#include <cmath>

#include "audio/wav_writer.h"
#include "codec/audio_reader.h"
#include "unit/audio/audio_helpers.h"

namespace rill::codec {
namespace {

constexpr uint32_t kRateHz = 24000;

std::vector<float> tone(size_t count) {
  std::vector<float> samples(count);
  for (size_t i = 0; i < count; ++i) samples[i] = 0.5f * std::sin(static_cast<float>(i) * 0.1f);
  return samples;
}

struct Decoded {
  audio::AudioFormat format;
  std::vector<float> samples;
};

Decoded decode(const std::vector<std::byte>& bytes) {
  auto reader = open_audio(std::make_unique<audio::MemorySource>(bytes, "file"));
  EXPECT_TRUE(reader.has_value()) << reader.error().message;
  if (!reader) return {};
  Decoded out{(*reader)->format(), {}};
  std::vector<float> piece(1000);
  while (true) {
    const auto got = (*reader)->read(piece);
    EXPECT_TRUE(got.has_value());
    if (!got || *got == 0) return out;
    out.samples.insert(out.samples.end(), piece.begin(),
                       piece.begin() + static_cast<std::ptrdiff_t>(*got * out.format.channels));
  }
}

double energy(const std::vector<float>& samples) {
  double sum = 0;
  for (const float sample : samples) sum += static_cast<double>(sample) * sample;
  return sum / static_cast<double>(samples.size());
}

TEST(SoundFile, NamesAreThoseOfExtensions) {
  EXPECT_EQ(sound_file_format_by_name("wav"), SoundFileFormat::kWav);
  EXPECT_EQ(sound_file_format_by_name("flac"), SoundFileFormat::kFlac);
  EXPECT_EQ(sound_file_format_by_name("opus"), SoundFileFormat::kOpus);
  EXPECT_EQ(sound_file_format_by_name("ogg"), SoundFileFormat::kVorbis);
  EXPECT_EQ(sound_file_format_by_name("mp3"), std::nullopt);
  EXPECT_EQ(sound_file_format_by_name(""), std::nullopt);
}

TEST(SoundFile, WavAndFlacHoldTheSame16Bits) {
  std::vector<float> samples = tone(5000);
  samples[7] = 1.5f;  // beyond what files hold
  samples[8] = -2.0f;
  const auto wav = encode_sound_file(SoundFileFormat::kWav, kRateHz, samples);
  ASSERT_TRUE(wav.has_value());
  EXPECT_EQ(*wav, audio::encode_wav(audio::WavSampleType::kInt16, kRateHz, 1, samples));
  const auto flac = encode_sound_file(SoundFileFormat::kFlac, kRateHz, samples);
  if (!flac && flac.error().message.find("RILL_BUILD_CODECS") != std::string::npos)
    GTEST_SKIP() << "built without codecs";
  ASSERT_TRUE(flac.has_value()) << flac.error().message;
  EXPECT_LT(flac->size(), wav->size());
  const Decoded from_flac = decode(*flac);
  EXPECT_EQ(from_flac.format.sample_rate_hz, kRateHz);
  EXPECT_EQ(from_flac.samples, decode(*wav).samples);
  EXPECT_EQ(*flac, *encode_sound_file(SoundFileFormat::kFlac, kRateHz, samples));
}

TEST(SoundFile, OpusAndVorbisKeepLengthAndLoudness) {
  const std::vector<float> samples = tone(kRateHz);
  for (const auto format : {SoundFileFormat::kOpus, SoundFileFormat::kVorbis}) {
    const auto file = encode_sound_file(format, kRateHz, samples);
    if (!file && file.error().message.find("RILL_BUILD_CODECS") != std::string::npos)
      GTEST_SKIP() << "built without codecs";
    ASSERT_TRUE(file.has_value()) << file.error().message;
    EXPECT_LT(file->size(), samples.size());  // an eighth of the WAV file and less
    const Decoded decoded = decode(*file);
    const double seconds = static_cast<double>(decoded.samples.size()) /
                           static_cast<double>(decoded.format.sample_rate_hz);
    EXPECT_NEAR(seconds, 1.0, 0.001);
    EXPECT_NEAR(energy(decoded.samples), energy(samples), 0.01);
  }
}

TEST(SoundFile, OnlyWavHoldsNothing) {
  EXPECT_EQ(encode_sound_file(SoundFileFormat::kWav, kRateHz, {})->size(), 44u);
  for (const auto format :
       {SoundFileFormat::kFlac, SoundFileFormat::kOpus, SoundFileFormat::kVorbis}) {
    EXPECT_FALSE(encode_sound_file(format, kRateHz, {}).has_value());
  }
}

TEST(SoundFile, ARateThatTheCodecLacksIsRefused) {
  const auto file = encode_sound_file(SoundFileFormat::kOpus, 44100, tone(100));
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(file.error().code, ErrorCode::kUnsupported);
}

}  // namespace
}  // namespace rill::codec
