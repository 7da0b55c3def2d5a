// SPDX-License-Identifier: Apache-2.0
// WavReader: sample formats and the contradictions of fmt chunks. Chunk walking is in
// wav_chunks_test.cc.
#include "audio/wav.h"

#include <gtest/gtest.h>

#include <limits>

#include "audio/wav_writer.h"
#include "base/str_cat.h"
#include "support/wav_builder.h"
#include "unit/audio/audio_helpers.h"

namespace rill::audio {
namespace {

using test::Bytes;
using test::WavBuilder;
using test::WavFmt;

Result<std::unique_ptr<WavReader>> open(Bytes bytes) {
  return WavReader::open(std::make_unique<MemorySource>(std::move(bytes)));
}

Bytes file_of(const WavFmt& fmt, const Bytes& samples) {
  WavBuilder builder;
  builder.big_endian = fmt.big_endian;
  if (fmt.big_endian) builder.magic = "RIFX";
  return builder.fmt(fmt).chunk("data", samples).build();
}

std::string describe(const WavFmt& fmt) {
  return cat("tag ", fmt.tag, fmt.extensible ? " extensible" : "",
             fmt.big_endian ? " big-endian" : "", ", ", fmt.bits, " in ", fmt.container_bits,
             " bits, ", fmt.channels, " channels, ", fmt.rate, " Hz");
}

void expect_round_trip(const WavFmt& fmt) {
  SCOPED_TRACE(describe(fmt));
  const size_t frames = 40;
  auto reader = open(file_of(fmt, test::wav_test_samples(fmt, frames * fmt.channels)));
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ((*reader)->sample_rate_hz(), fmt.rate);
  EXPECT_EQ((*reader)->channels(), fmt.channels);
  EXPECT_EQ((*reader)->format().total_frames, static_cast<int64_t>(frames));
  auto samples = test::read_samples(**reader, 7);
  ASSERT_TRUE(samples) << samples.error().message;
  ASSERT_EQ(samples->size(), frames * fmt.channels);
  for (size_t i = 0; i < samples->size(); ++i) {
    ASSERT_EQ((*samples)[i], static_cast<float>(test::wav_test_value(fmt, i))) << "sample " << i;
  }
}

struct SampleForm {
  uint16_t tag;
  uint16_t bits;
  uint16_t container_bits;
};

constexpr SampleForm kForms[] = {
    {1, 8, 8},   {1, 12, 16}, {1, 16, 16}, {1, 20, 24}, {1, 24, 24}, {1, 24, 32},
    {1, 32, 32}, {1, 64, 64}, {3, 32, 32}, {3, 64, 64}, {6, 8, 8},   {7, 8, 8},
};

TEST(WavReader, DecodesEverySampleFormAtEveryRateAndChannelCount) {
  for (const SampleForm& form : kForms) {
    for (const bool extensible : {false, true}) {
      for (const uint16_t channels : {uint16_t{1}, uint16_t{2}, uint16_t{6}}) {
        for (const uint32_t rate : std::initializer_list<uint32_t>{8000, 11025, 16000, 22050, 24000,
                                                                   44100, 48000, 96000, 192000}) {
          WavFmt fmt;
          fmt.tag = form.tag;
          fmt.bits = form.bits;
          fmt.container_bits = form.container_bits;
          fmt.extensible = extensible;
          fmt.channels = channels;
          fmt.rate = rate;
          expect_round_trip(fmt);
        }
      }
    }
  }
}

TEST(WavReader, DecodesBigEndianFiles) {
  for (const SampleForm& form : kForms) {
    for (const bool extensible : {false, true}) {
      WavFmt fmt;
      fmt.tag = form.tag;
      fmt.bits = form.bits;
      fmt.container_bits = form.container_bits;
      fmt.extensible = extensible;
      fmt.channels = 2;
      fmt.big_endian = true;
      expect_round_trip(fmt);
    }
  }
}

TEST(WavReader, DecodesEveryG711Code) {
  for (const uint16_t tag : {uint16_t{6}, uint16_t{7}}) {
    WavFmt fmt;
    fmt.tag = tag;
    fmt.bits = fmt.container_bits = 8;
    Bytes codes;
    for (int code = 0; code < 256; ++code) codes.push_back(static_cast<std::byte>(code));
    auto samples = test::read_samples(**open(file_of(fmt, codes)));
    ASSERT_TRUE(samples);
    for (size_t code = 0; code < 256; ++code) {
      const auto c = static_cast<uint8_t>(code);
      EXPECT_EQ((*samples)[code] * 32768.0f,
                static_cast<float>(tag == 6 ? test::a_law_value(c) : test::mu_law_value(c)));
    }
  }
  EXPECT_EQ(test::a_law_value(0xAA), 32256);
  EXPECT_EQ(test::mu_law_value(0x00), -32124);
}

TEST(WavReader, NamesTheCodecOfTheFile) {
  WavFmt fmt;
  fmt.bits = 24;
  fmt.container_bits = 32;
  auto reader = open(file_of(fmt, {}));
  ASSERT_TRUE(reader);
  EXPECT_EQ((*reader)->format().codec, "24-bit PCM");
  EXPECT_EQ((*reader)->format().container, "WAV");
}

void expect_error(const WavFmt& fmt, ErrorCode code, std::string_view part) {
  SCOPED_TRACE(describe(fmt));
  auto reader = open(file_of(fmt, Bytes(64)));
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, code);
  EXPECT_NE(reader.error().message.find(part), std::string::npos) << reader.error().message;
}

TEST(WavReader, NamesUnsupportedCodecs) {
  WavFmt fmt;
  fmt.tag = 0x0055;
  expect_error(fmt, ErrorCode::kUnsupported, "unsupported codec 0x0055");
  fmt.extensible = true;
  expect_error(fmt, ErrorCode::kUnsupported, "unsupported codec 0x0055");
  fmt = WavFmt();
  fmt.tag = 2;
  fmt.bits = 4;
  fmt.block_align = 256;
  expect_error(fmt, ErrorCode::kUnsupported, "unsupported codec 0x0002");
}

TEST(WavReader, NamesUnknownSubFormatGuids) {
  Bytes payload = WavFmt{.extensible = true}.payload();
  payload[30] = std::byte{0x77};
  auto reader = open(WavBuilder().chunk("fmt ", payload).chunk("data", Bytes(8)).build());
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, ErrorCode::kUnsupported);
  EXPECT_NE(reader.error().message.find("GUID 01000000000077008000"), std::string::npos)
      << reader.error().message;
}

TEST(WavReader, TakesExtensibleWithoutExtensionSize) {
  Bytes payload = WavFmt{.extensible = true}.payload();
  payload[16] = payload[17] = std::byte{0};  // cbSize
  EXPECT_TRUE(open(WavBuilder().chunk("fmt ", payload).chunk("data", Bytes(8)).build()));
}

TEST(WavReader, RejectsContradictions) {
  WavFmt fmt;
  fmt.block_align = 3;
  expect_error(fmt, ErrorCode::kInvalidFormat, "block of 3 bytes");
  fmt = WavFmt{.channels = 2};
  fmt.block_align = 2;
  expect_error(fmt, ErrorCode::kInvalidFormat, "block of 2 bytes for 2 channels of 16 bits");
  fmt = WavFmt();
  fmt.block_align = 4;
  expect_error(fmt, ErrorCode::kInvalidFormat, "block of 4 bytes");
  fmt = WavFmt();
  fmt.block_align = 0;
  expect_error(fmt, ErrorCode::kInvalidFormat, "block of 0 bytes");
  expect_error(WavFmt{.bits = 0}, ErrorCode::kInvalidFormat, "0 bits");
  expect_error(WavFmt{.tag = 3}, ErrorCode::kInvalidFormat, "floats of 16 bits");
  expect_error(WavFmt{.tag = 6}, ErrorCode::kInvalidFormat, "expected 8 for A-law");
  expect_error(WavFmt{.extensible = true, .bits = 24}, ErrorCode::kInvalidFormat, "24 valid bits");
  expect_error(WavFmt{.bits = 40, .container_bits = 40}, ErrorCode::kInvalidFormat,
               "5 bytes per PCM sample");
}

TEST(WavReader, RejectsRatesAndChannelsOutOfBounds) {
  expect_error(WavFmt{.rate = 0}, ErrorCode::kInvalidFormat, "sample rate of 0 Hz");
  expect_error(WavFmt{.rate = 999}, ErrorCode::kInvalidFormat, "sample rate of 999 Hz");
  expect_error(WavFmt{.rate = 768001}, ErrorCode::kInvalidFormat, "768001");
  expect_error(WavFmt{.channels = 0}, ErrorCode::kInvalidFormat, "0 channels");
  expect_error(WavFmt{.channels = 65}, ErrorCode::kInvalidFormat, "65 channels");
  expect_error(WavFmt{.channels = 65535}, ErrorCode::kInvalidFormat, "65535 channels");
}

TEST(WavReader, TakesFmtChunksOfSeveralSizes) {
  for (const size_t size : std::initializer_list<size_t>{16, 18, 40, 41, 100}) {
    EXPECT_TRUE(open(file_of(WavFmt{.size = size}, Bytes(8)))) << size;
  }
  for (const size_t size : std::initializer_list<size_t>{0, 1, 14, 15})
    expect_error(WavFmt{.size = size}, ErrorCode::kInvalidFormat, "fmt chunk");
  expect_error(WavFmt{.extensible = true, .size = 39}, ErrorCode::kInvalidFormat,
               "expected at least 40");
}

TEST(WavReader, KeepsFloatsBeyondOneAndNamesValuesThatAreNoNumbers) {
  const std::vector<float> loud = {0.5f, -3.25f, 7.0f, 1e6f};
  auto reader = open(encode_wav(WavSampleType::kFloat32, 16000, 1, loud));
  ASSERT_TRUE(reader);
  EXPECT_EQ(*test::read_samples(**reader), loud);
  for (const float bad :
       {std::numeric_limits<float>::quiet_NaN(), std::numeric_limits<float>::infinity(), -1e30f}) {
    std::vector<float> samples(5000, 0.25f);
    samples[4321] = bad;
    auto broken = open(encode_wav(WavSampleType::kFloat32, 16000, 2, samples));
    ASSERT_TRUE(broken);
    auto result = test::read_samples(**broken, 100);
    ASSERT_FALSE(result);
    EXPECT_EQ(result.error().code, ErrorCode::kInvalidFormat);
    EXPECT_NE(result.error().message.find("sample 4321"), std::string::npos)
        << result.error().message;
  }
}

TEST(WavWriter, WritesWhatTheReaderReads) {
  const std::vector<float> samples = {0.0f, 1.0f, -1.0f, 0.5f, 2.0f, -2.0f};
  auto reader = open(encode_wav(WavSampleType::kInt16, 24000, 2, samples));
  ASSERT_TRUE(reader);
  EXPECT_EQ((*reader)->sample_rate_hz(), 24000u);
  EXPECT_EQ((*reader)->format().total_frames, 3);
  auto read = test::read_samples(**reader);
  ASSERT_TRUE(read);
  const float top = 32767.0f / 32768.0f;
  EXPECT_EQ(*read, (std::vector<float>{0.0f, top, -top, 16384.0f / 32768.0f, top, -top}));
}

TEST(WavWriter, HeaderOfUnknownLengthReadsToTheEnd) {
  for (const WavSampleType type : {WavSampleType::kInt16, WavSampleType::kFloat32}) {
    Bytes bytes = wav_header(type, 16000, 1, std::nullopt);
    append_wav_samples(type, std::vector<float>(1234, 0.5f), bytes);
    auto reader = open(bytes);
    ASSERT_TRUE(reader);
    EXPECT_EQ(test::read_samples(**reader)->size(), 1234u);
  }
}

TEST(WavWriter, HeaderPastFourGigabytesHasNoSizes) {
  const Bytes header = wav_header(WavSampleType::kInt16, 48000, 2, uint64_t{1} << 40);
  for (size_t i = header.size() - 4; i < header.size(); ++i) EXPECT_EQ(header[i], std::byte{0xFF});
}

TEST(ToInt16, ClampsAndRounds) {
  EXPECT_EQ(to_int16(0.0f), 0);
  EXPECT_EQ(to_int16(1.0f), 32767);
  EXPECT_EQ(to_int16(-1.5f), -32767);
  EXPECT_EQ(to_int16(0.51f / 32767.0f), 1);
  EXPECT_EQ(to_int16(-0.51f / 32767.0f), -1);
  EXPECT_EQ(to_int16(0.49f / 32767.0f), 0);
  EXPECT_EQ(to_int16(std::numeric_limits<float>::quiet_NaN()), 0);
}

}  // namespace
}  // namespace rill::audio
