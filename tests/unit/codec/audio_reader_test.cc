// SPDX-License-Identifier: Apache-2.0
// open_audio: what it recognises, and what it says about the rest.
#include "codec/audio_reader.h"

#include <gtest/gtest.h>

#include <cstdio>

#include "base/str_cat.h"
#include "support/test_data.h"
#include "support/wav_builder.h"
#include "unit/audio/audio_helpers.h"

namespace rill::codec {
namespace {

using namespace std::string_view_literals;

using test::Bytes;

Result<std::unique_ptr<audio::AudioReader>> open(const Bytes& bytes) {
  return open_audio(std::make_unique<audio::MemorySource>(bytes, "upload"));
}

struct SniffCase {
  std::string_view bytes;
  FileKind kind;
  std::string_view name;
};

const SniffCase kCases[] = {
    {"", FileKind::kEmpty, "no bytes at all"},
    {"RIFF\x24\x00\x00\x00WAVE"sv, FileKind::kWav, "WAV"},
    {"RIFX\x24\x00\x00\x00WAVE"sv, FileKind::kWav, "WAV"},
    {"RF64\xFF\xFF\xFF\xFFWAVE"sv, FileKind::kWav, "WAV"},
    {"BW64\xFF\xFF\xFF\xFFWAVE"sv, FileKind::kWav, "WAV"},
    {"riff\x2E\x91\xCF\x11\xA5\xD6\x28\xDB\x04\xC1\x00\x00"sv, FileKind::kWav, "WAV"},
    {"fLaC\x00\x00\x00\x22"sv, FileKind::kSndfile, "FLAC"},
    {"OggS\x00\x02\0\0\0\0\0\0\0\0\x01\x02\x03\x04\0\0\0\0\0\0\0\0\x01\x1E\x01vorbis"sv,
     FileKind::kSndfile, "Ogg Vorbis"},
    {"OggS\x00\x02\0\0\0\0\0\0\0\0\x01\x02\x03\x04\0\0\0\0\0\0\0\0\x01\x13OpusHead"sv,
     FileKind::kOggOpus, "Ogg Opus"},
    {"OggS\x00\x02\0\0\0\0\0\0\0\0\x01\x02\x03\x04\0\0\0\0\0\0\0\0\x01\x50Speex   "sv,
     FileKind::kOther, "Ogg Speex"},
    {"OggS\x00\x02nothing known here"sv, FileKind::kOther, "Ogg file of another codec"},
    {"ID3\x04\x00\x00\x00\x00\x00\x23"sv, FileKind::kSndfile, "MP3"},
    {"\xFF\xFB\x90\x64\x00\x00"sv, FileKind::kSndfile, "MP3"},
    {"\xFF\xF3\x40\xC0\x00\x00"sv, FileKind::kSndfile, "MP3"},
    {"\xFF\xF1\x50\x80\x00\x00"sv, FileKind::kOther, "AAC stream (ADTS)"},
    {"FORM\x00\x00\x10\x00"
     "AIFF"sv,
     FileKind::kSndfile, "AIFF"},
    {"caff\x00\x01\x00\x00"sv, FileKind::kSndfile, "CAF"},
    {".snd\x00\x00\x00\x18"sv, FileKind::kSndfile, "AU"},
    {"\x1A\x45\xDF\xA3\x9F\x42\x86\x81"sv, FileKind::kOther, "WebM or Matroska file"},
    {"\x00\x00\x00\x20"
     "ftypM4A \x00\x00"sv,
     FileKind::kOther, "MP4 or M4A file"},
    {"GGUF\x03\x00\x00\x00"sv, FileKind::kOther, "GGUF model file"},
    {"\x20\x00\x00\x00\x00\x00\x00\x00{\"a\""sv, FileKind::kOther, "safetensors model file"},
    {"PK\x03\x04\x14\x00"sv, FileKind::kOther, "ZIP archive"},
    {"%PDF-1.7\n"sv, FileKind::kOther, "PDF document"},
    {"\x89PNG\r\n\x1A\n"sv, FileKind::kOther, "PNG image"},
    {"\n <!DOCTYPE HTML><html>"sv, FileKind::kOther, "HTML page"},
    {"<html lang=en>"sv, FileKind::kOther, "HTML page"},
    {"<?xml version='1.0'?>"sv, FileKind::kOther, "XML document"},
    {"{\"error\": \"not found\"}"sv, FileKind::kOther, "JSON text"},
    {"version https://git-lfs.github.com/spec/v1\n"sv, FileKind::kOther, "Git LFS pointer"},
    {"\xEF\xBB\xBFplain text named a.wav\r\n"sv, FileKind::kOther, "text"},
    {"caf\xC3\xA9 cut in a character \xE3\x81"sv, FileKind::kOther, "text"},
    {"\x01\x00\xFF\x7F\x00\x80\x12\x34"sv, FileKind::kUnknown, "data of no known kind"},
};

TEST(SniffAudio, NamesWhatItSees) {
  for (const SniffCase& item : kCases) {
    const SniffedFile sniffed = sniff_audio(test::bytes_of(item.bytes));
    EXPECT_EQ(sniffed.name, item.name);
    EXPECT_EQ(static_cast<int>(sniffed.kind), static_cast<int>(item.kind)) << item.name;
  }
}

TEST(OpenAudio, SaysWhatItFoundAndWhatItTakes) {
  for (const SniffCase& item : kCases) {
    const bool refused = item.kind == FileKind::kEmpty || item.kind == FileKind::kOther ||
                         item.kind == FileKind::kUnknown;
    if (!refused) continue;
    auto reader = open(test::bytes_of(item.bytes));
    ASSERT_FALSE(reader) << item.name;
    EXPECT_EQ(reader.error().code, ErrorCode::kInvalidFormat);
    EXPECT_EQ(reader.error().message, cat("upload: found ", item.name,
                                          ", expected audio: WAV, FLAC, Ogg Vorbis, Opus or MP3"));
  }
}

TEST(OpenAudio, ReadsWavFromAPipe) {
  const test::WavFmt fmt;
  const Bytes file = test::WavBuilder()
                         .fmt(fmt)
                         .chunk("data", test::wav_test_samples(fmt, 30), 0xFFFFFFFF)
                         .build();
  auto reader = open_audio(std::make_unique<test::PipeSource>(file, 1));
  ASSERT_TRUE(reader) << reader.error().message;
  auto samples = test::read_samples(**reader);
  ASSERT_TRUE(samples);
  EXPECT_EQ(samples->size(), 30u);
}

TEST(OpenAudio, PrefixesWavErrorsWithTheSource) {
  test::WavFmt fmt;
  fmt.tag = 0x55;
  auto reader = open(test::WavBuilder().fmt(fmt).chunk("data", Bytes(8)).build());
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(reader.error().message.rfind("upload: wav: unsupported codec 0x0055", 0), 0u)
      << reader.error().message;
}

TEST(OpenAudio, PassesReadErrorsOn) {
  auto reader = open_audio(std::make_unique<test::FailingSource>(test::bytes_of("fLaC")));
  ASSERT_FALSE(reader);
  EXPECT_EQ(reader.error().code, ErrorCode::kIo);
}

TEST(OpenAudioFile, ReadsAFileAndNamesAMissingOne) {
  auto reader = open_audio_file(test::data_path("audio/clip_hello.wav"));
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ((*reader)->sample_rate_hz(), 22050u);
  EXPECT_EQ((*reader)->format().total_frames, 28037);
  auto missing = open_audio_file("/nonexistent/a.wav");
  ASSERT_FALSE(missing);
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
}

TEST(OpenAudioFile, GoesByContentNotByName) {
  const std::string path = test::temp_path("speech.mp3");
  const test::WavFmt fmt;
  test::write_file(
      path, test::WavBuilder().fmt(fmt).chunk("data", test::wav_test_samples(fmt, 3)).build());
  auto reader = open_audio_file(path);
  ASSERT_TRUE(reader) << reader.error().message;
  EXPECT_EQ((*reader)->format().container, "WAV");
  std::remove(path.c_str());
}

}  // namespace
}  // namespace rill::codec
