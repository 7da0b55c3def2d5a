// SPDX-License-Identifier: Apache-2.0
// Compressed audio, encoded by the test itself with libsndfile.
#include <gtest/gtest.h>
#include <sndfile.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstring>

#include "base/str_cat.h"
#include "codec/audio_reader.h"
#include "support/test_data.h"
#include "support/wav_builder.h"
#include "unit/audio/audio_helpers.h"

// libsndfile 1.2 forgets this memory when a damaged Vorbis file does not open.
extern "C" const char* __lsan_default_suppressions();
// Visible, or the runtime of gcc does not find it.
extern "C" __attribute__((visibility("default"))) const char* __lsan_default_suppressions() {
  return "leak:vorbis_info_init";
}

namespace rill::codec {
namespace {

using test::Bytes;
using test::operator+;

constexpr int kRate = 48000;
constexpr size_t kFrames = 24000;

struct WriteTarget {
  Bytes bytes;
  size_t position = 0;
};

sf_count_t target_length(void* user) {
  return static_cast<sf_count_t>(static_cast<WriteTarget*>(user)->bytes.size());
}
sf_count_t target_tell(void* user) {
  return static_cast<sf_count_t>(static_cast<WriteTarget*>(user)->position);
}
sf_count_t target_seek(sf_count_t offset, int whence, void* user) {
  auto* target = static_cast<WriteTarget*>(user);
  const sf_count_t base = whence == SEEK_CUR   ? target_tell(user)
                          : whence == SEEK_END ? target_length(user)
                                               : 0;
  target->position = static_cast<size_t>(base + offset);
  return base + offset;
}
sf_count_t target_read(void* out, sf_count_t count, void* user) {
  auto* target = static_cast<WriteTarget*>(user);
  const size_t got =
      std::min(static_cast<size_t>(count),
               target->bytes.size() - std::min(target->bytes.size(), target->position));
  std::memcpy(out, target->bytes.data() + target->position, got);
  target->position += got;
  return static_cast<sf_count_t>(got);
}
sf_count_t target_write(const void* data, sf_count_t count, void* user) {
  auto* target = static_cast<WriteTarget*>(user);
  target->bytes.resize(
      std::max(target->bytes.size(), target->position + static_cast<size_t>(count)));
  std::memcpy(target->bytes.data() + target->position, data, static_cast<size_t>(count));
  target->position += static_cast<size_t>(count);
  return count;
}

// Half a second of a 440 Hz tone on every channel, halved on the second.
std::vector<float> tone(int channels) {
  const std::vector<float> mono = test::sine(440.0, kRate, kFrames);
  std::vector<float> out;
  for (const float s : mono) {
    for (int c = 0; c < channels; ++c) out.push_back(c == 1 ? 0.5f * s : s);
  }
  return out;
}

Bytes encode(int format, int channels) {
  WriteTarget target;
  SF_VIRTUAL_IO io = {target_length, target_seek, target_read, target_write, target_tell};
  SF_INFO info = {};
  info.samplerate = kRate;
  info.channels = channels;
  info.format = format;
  SNDFILE* file = sf_open_virtual(&io, SFM_WRITE, &info, &target);
  EXPECT_NE(file, nullptr) << sf_strerror(nullptr);
  if (file == nullptr) return {};
  const std::vector<float> samples = tone(channels);
  EXPECT_EQ(sf_writef_float(file, samples.data(), kFrames), static_cast<sf_count_t>(kFrames));
  sf_close(file);
  return target.bytes;
}

struct CodecCase {
  const char* name;
  int format;
  double max_relative_rms;
};

const CodecCase kCases[] = {
    {"FLAC", SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 1e-4},
    {"Ogg Vorbis", SF_FORMAT_OGG | SF_FORMAT_VORBIS, 0.1},
    {"Ogg Opus", SF_FORMAT_OGG | SF_FORMAT_OPUS, 0.2},
    {"MP3", SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, 0.2},
    {"AIFF", SF_FORMAT_AIFF | SF_FORMAT_PCM_24, 1e-6},
    {"AU", SF_FORMAT_AU | SF_FORMAT_FLOAT, 1e-7},
    {"CAF", SF_FORMAT_CAF | SF_FORMAT_PCM_16, 1e-4},
};

void expect_tone(audio::AudioReader& reader, int channels, double max_relative_rms) {
  EXPECT_EQ(reader.channels(), static_cast<uint32_t>(channels));
  EXPECT_EQ(reader.sample_rate_hz(), static_cast<uint32_t>(kRate));
  auto samples = test::read_samples(reader, 333);
  ASSERT_TRUE(samples) << samples.error().message;
  const std::vector<float> expected = tone(channels);
  // Lossy codecs may pad the end.
  ASSERT_GE(samples->size(), expected.size());
  ASSERT_LT(samples->size(), expected.size() + 4096 * static_cast<size_t>(channels));
  EXPECT_LT(test::relative_rms(std::span(*samples).first(expected.size()), expected),
            max_relative_rms);
}

TEST(OpenAudio, DecodesEveryCompressedForm) {
  for (const CodecCase& item : kCases) {
    for (const int channels : {1, 2}) {
      SCOPED_TRACE(cat(item.name, ", ", channels, " channels"));
      const Bytes file = encode(item.format, channels);
      EXPECT_EQ(sniff_audio(std::span(file).first(std::min(file.size(), kSniffBytes))).name,
                item.name);
      auto reader = open_audio(std::make_unique<audio::MemorySource>(file));
      ASSERT_TRUE(reader) << reader.error().message;
      expect_tone(**reader, channels, item.max_relative_rms);
    }
  }
}

TEST(OpenAudio, DecodesCompressedPipes) {
  for (const CodecCase& item : kCases) {
    SCOPED_TRACE(item.name);
    auto reader = open_audio(std::make_unique<test::PipeSource>(encode(item.format, 1), 777));
    ASSERT_TRUE(reader) << reader.error().message;
    expect_tone(**reader, 1, item.max_relative_rms);
  }
}

TEST(OpenAudio, DecodesCompressedFilesWhereTheyLie) {
  for (const CodecCase& item : kCases) {
    SCOPED_TRACE(item.name);
    const std::string path = test::temp_path("compressed");
    const Bytes bytes = encode(item.format, 1);
    FILE* file = std::fopen(path.c_str(), "wb");
    ASSERT_NE(file, nullptr);
    EXPECT_EQ(std::fwrite(bytes.data(), 1, bytes.size(), file), bytes.size());
    std::fclose(file);
    auto reader = open_audio_file(path);
    ASSERT_TRUE(reader) << reader.error().message;
    expect_tone(**reader, 1, item.max_relative_rms);
    std::remove(path.c_str());
  }
}

/// A disk whose sectors behind `good` bytes cannot be read.
class BadSectors final : public audio::ByteSource {
 public:
  BadSectors(Bytes bytes, uint64_t good) : memory_(std::move(bytes), "bad disk"), good_(good) {}
  Result<size_t> read(std::span<std::byte> out) override { return memory_.read(out); }
  Result<size_t> read_at(uint64_t offset, std::span<std::byte> out) override {
    if (offset + out.size() > good_)
      return Error{ErrorCode::kIo, "read audio: bad disk: Input/output error"};
    return memory_.read_at(offset, out);
  }
  [[nodiscard]] bool has_random_access() const override { return true; }
  [[nodiscard]] const std::string& name() const override { return memory_.name(); }
  [[nodiscard]] std::optional<uint64_t> size_bytes() const override { return memory_.size_bytes(); }

 private:
  audio::MemorySource memory_;
  uint64_t good_;
};

TEST(OpenAudio, ReportsSectorsThatCannotBeRead) {
  for (const CodecCase& item : kCases) {
    SCOPED_TRACE(item.name);
    const Bytes bytes = encode(item.format, 1);
    for (const uint64_t good : {uint64_t{0}, uint64_t{bytes.size() / 2}}) {
      auto reader = open_audio(std::make_unique<BadSectors>(bytes, good));
      Error error{ErrorCode::kInternal, ""};
      if (!reader) {
        error = reader.error();
      } else {
        auto samples = test::read_samples(**reader);
        ASSERT_FALSE(samples);
        error = samples.error();
      }
      EXPECT_EQ(error.code, ErrorCode::kIo) << error.message;
      EXPECT_EQ(error.message, "read audio: bad disk: Input/output error");
    }
  }
}

TEST(OpenAudio, SkipsAnId3Tag) {
  Bytes file = test::bytes_of(std::string_view("ID3\x04\x00\x00\x00\x00\x00\x14", 10)) + Bytes(20);
  file = file + encode(SF_FORMAT_MPEG | SF_FORMAT_MPEG_LAYER_III, 1);
  auto reader = open_audio(std::make_unique<audio::MemorySource>(file));
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ((*reader)->sample_rate_hz(), static_cast<uint32_t>(kRate));
  auto samples = test::read_samples(**reader);
  ASSERT_TRUE(samples);
  EXPECT_GE(samples->size(), kFrames);
}

TEST(OpenAudio, ReportsLengthAndCodec) {
  auto flac = open_audio(
      std::make_unique<audio::MemorySource>(encode(SF_FORMAT_FLAC | SF_FORMAT_PCM_16, 1)));
  ASSERT_TRUE(flac);
  EXPECT_EQ((*flac)->format().total_frames, static_cast<int64_t>(kFrames));
  EXPECT_NE((*flac)->format().container.find("FLAC"), std::string::npos)
      << (*flac)->format().container;
  auto opus =
      open_audio(std::make_unique<audio::MemorySource>(encode(SF_FORMAT_OGG | SF_FORMAT_OPUS, 2)));
  ASSERT_TRUE(opus);
  EXPECT_EQ((*opus)->format().codec, "Opus");
  EXPECT_TRUE((*opus)->format().total_frames.has_value());
}

TEST(OpenAudio, SurvivesCutAndDamagedFiles) {
  for (const CodecCase& item : kCases) {
    SCOPED_TRACE(item.name);
    const Bytes file = encode(item.format, 1);
    for (size_t size = 1; size < file.size(); size += 1 + file.size() / 11) {
      Bytes cut(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size));
      auto reader = open_audio(std::make_unique<audio::MemorySource>(cut));
      if (reader) (void)test::read_samples(**reader);
      Bytes damaged = file;
      for (size_t i = size; i < std::min(size + 40, file.size()); ++i)
        damaged[i] ^= std::byte{0x5A};
      reader = open_audio(std::make_unique<audio::MemorySource>(damaged));
      if (reader) (void)test::read_samples(**reader);
    }
  }
}

TEST(OpenAudio, NamesCompressedDataThatDoesNotOpen) {
  for (const std::string_view head :
       {std::string_view("fLaC"),
        std::string_view("OggS\0\2\0\0\0\0\0\0\0\0\1\2\3\4\0\0\0\0\0\0\0\0\1\x13OpusHead", 36)}) {
    auto reader = open_audio(
        std::make_unique<audio::MemorySource>(test::bytes_of(head) + Bytes(100), "upload"));
    ASSERT_FALSE(reader);
    EXPECT_EQ(reader.error().code, ErrorCode::kInvalidFormat);
    EXPECT_EQ(reader.error().message.rfind("upload: found ", 0), 0u) << reader.error().message;
  }
}

}  // namespace
}  // namespace rill::codec
