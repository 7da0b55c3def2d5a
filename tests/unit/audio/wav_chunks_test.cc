// SPDX-License-Identifier: Apache-2.0
// WavReader: the chunk walk over what recorders, pipes and broken writers leave.
#include <gtest/gtest.h>

#include <algorithm>

#include "audio/wav.h"
#include "base/str_cat.h"
#include "support/wav_builder.h"
#include "unit/audio/audio_helpers.h"

namespace rill::audio {
namespace {

using test::Bytes;
using test::WavBuilder;
using test::WavFmt;

constexpr size_t kFrames = 50;

Bytes samples() { return test::wav_test_samples(WavFmt(), kFrames); }

Result<std::vector<float>> decode(std::unique_ptr<ByteSource> source) {
  RILL_ASSIGN_OR_RETURN(auto reader, WavReader::open(std::move(source)));
  return test::read_samples(*reader);
}

Result<std::vector<float>> decode(const Bytes& bytes) {
  return decode(std::make_unique<MemorySource>(bytes));
}

void expect_frames(const Bytes& bytes, size_t frames, const std::string& what = "") {
  SCOPED_TRACE(what);
  auto got = decode(bytes);
  ASSERT_TRUE(got) << got.error().message;
  ASSERT_EQ(got->size(), frames);
  for (size_t i = 0; i < std::min(frames, kFrames); ++i) {
    ASSERT_EQ((*got)[i], static_cast<float>(test::wav_test_value(WavFmt(), i))) << "sample " << i;
  }
}

void expect_error(const Bytes& bytes, ErrorCode code, std::string_view part) {
  auto got = decode(bytes);
  ASSERT_FALSE(got) << part;
  EXPECT_EQ(got.error().code, code);
  EXPECT_NE(got.error().message.find(part), std::string::npos) << got.error().message;
}

Bytes extra_payload(std::string_view id) {
  // Odd and even sizes; LIST holds text that a fixed 44-byte reader would hear.
  if (id == "LIST")
    return test::bytes_of(std::string_view("INFOISFT\x0E\x00\x00\x00Lavf58.29.100\x00", 26));
  if (id == "JUNK") return Bytes(28);
  if (id == "bext") return Bytes(603, std::byte{0x41});
  if (id == "fact") return Bytes(4);
  if (id == "cue ") return Bytes(28);
  if (id == "id3 ") return Bytes(11, std::byte{0x49});
  if (id == "FLLR") return Bytes(4044);
  return Bytes(17);  // PEAK
}

const std::vector<std::string> kExtras = {"JUNK", "bext", "LIST", "fact",
                                          "cue ", "id3 ", "FLLR", "PEAK"};

TEST(WavReader, TakesChunksInEveryOrder) {
  for (const std::string& a : kExtras) {
    for (const std::string& b : kExtras) {
      std::vector<std::string> order = {"data", "fmt ", a, b == a ? "zzzz" : b};
      std::sort(order.begin(), order.end());
      do {
        WavBuilder builder;
        for (const std::string& id : order) {
          builder.chunk(id, id == "fmt "   ? WavFmt().payload()
                            : id == "data" ? samples()
                                           : extra_payload(id));
        }
        expect_frames(builder.build(), kFrames,
                      cat(order[0], "|", order[1], "|", order[2], "|", order[3]));
      } while (std::next_permutation(order.begin(), order.end()));
    }
  }
}

TEST(WavReader, TakesAllExtraChunksAtOnce) {
  WavBuilder builder;
  for (const std::string& id : kExtras) builder.chunk(id, extra_payload(id));
  builder.fmt(WavFmt());
  for (const std::string& id : kExtras) builder.chunk(id, extra_payload(id));
  builder.chunk("data", samples());
  for (const std::string& id : kExtras) builder.chunk(id, extra_payload(id));
  expect_frames(builder.build(), kFrames);
}

TEST(WavReader, TakesOddChunksWithAndWithoutPadByte) {
  for (const std::string_view id : {"LIST", "abcd", "id3 "}) {
    for (const bool pad : {true, false}) {
      for (const size_t size : std::initializer_list<size_t>{1, 3, 25}) {
        const Bytes payload(size, std::byte{0x5A});
        expect_frames(WavBuilder()
                          .chunk(id, payload, {}, pad)
                          .fmt(WavFmt())
                          .chunk(id, payload, {}, pad)
                          .chunk("data", samples())
                          .build(),
                      kFrames, cat(id, pad ? " padded " : " bare ", size));
      }
    }
  }
  // A pad byte that is no zero, before an id that is known.
  Bytes payload(3, std::byte{0x20});
  payload.push_back(std::byte{0x41});
  expect_frames(
      WavBuilder().chunk("junk", payload, 3).fmt(WavFmt()).chunk("data", samples()).build(),
      kFrames);
}

TEST(WavReader, ReadsToTheEndWhenTheSizeIsAPlaceholder) {
  for (const uint32_t size :
       {0u, 0x7FFFF000u, 0x7FFFF024u, 0x7FFFFFFFu, 0xFFFFFF00u, 0xFFFFFFDBu, 0xFFFFFFFFu}) {
    WavBuilder builder;
    builder.riff_size = size;
    expect_frames(builder.fmt(WavFmt()).chunk("data", samples(), size).build(), kFrames,
                  cat("size ", size));
  }
}

TEST(WavReader, TakesWhatIsThereWhenTheSizeIsPastTheEnd) {
  for (const uint32_t excess : {1u, 2u, 3u, 1000u, 0x60000000u}) {
    const uint32_t declared = static_cast<uint32_t>(2 * kFrames) + excess;
    expect_frames(WavBuilder().fmt(WavFmt()).chunk("data", samples(), declared).build(), kFrames,
                  cat(excess));
  }
}

TEST(WavReader, StopsAtTheDeclaredSize) {
  for (const uint32_t missing : {1u, 2u, 3u}) {
    const uint32_t declared = static_cast<uint32_t>(2 * kFrames) - missing;
    expect_frames(WavBuilder().fmt(WavFmt()).chunk("data", samples(), declared).build(),
                  declared / 2, cat(missing));
  }
}

TEST(WavReader, IgnoresTheRiffSize) {
  for (const uint32_t size : {0u, 1u, 36u, 0x7FFFFFFFu, 0xFFFFFFFFu}) {
    WavBuilder builder;
    builder.riff_size = size;
    expect_frames(builder.fmt(WavFmt()).chunk("data", samples()).build(), kFrames,
                  cat("RIFF size ", size));
  }
}

TEST(WavReader, TakesAnEmptyDataChunkAsNoAudio) {
  expect_frames(WavBuilder().fmt(WavFmt()).chunk("data", {}).build(), 0, "at the end");
  expect_frames(
      WavBuilder().fmt(WavFmt()).chunk("data", {}).chunk("LIST", extra_payload("LIST")).build(), 0,
      "LIST after");
  expect_frames(WavBuilder().chunk("data", {}).fmt(WavFmt()).build(), 0, "before fmt");
  auto reader = WavReader::open(
      std::make_unique<MemorySource>(WavBuilder().fmt(WavFmt()).chunk("data", {}).build()));
  ASSERT_TRUE(reader);
  EXPECT_EQ((*reader)->format().total_frames, 0);
}

TEST(WavReader, TakesTheFirstDataChunkWithSamples) {
  const Bytes other(60, std::byte{0x11});
  expect_frames(WavBuilder().fmt(WavFmt()).chunk("data", samples()).chunk("data", other).build(),
                kFrames);
  expect_frames(WavBuilder().fmt(WavFmt()).chunk("data", {}).chunk("data", samples()).build(),
                kFrames, "empty first");
  expect_frames(WavBuilder().chunk("data", samples()).chunk("data", other).fmt(WavFmt()).build(),
                kFrames, "both early");
}

TEST(WavReader, RefusesEarlyDataOfUnknownSize) {
  expect_error(WavBuilder().chunk("data", samples(), 0xFFFFFFFF).fmt(WavFmt()).build(),
               ErrorCode::kInvalidFormat, "data chunk: it comes before the fmt chunk");
}

TEST(WavReader, RefusesASecondFmtThatContradictsTheFirst) {
  expect_frames(WavBuilder().fmt(WavFmt()).fmt(WavFmt()).chunk("data", samples()).build(), kFrames,
                "equal");
  expect_error(
      WavBuilder().fmt(WavFmt()).fmt(WavFmt{.rate = 8000}).chunk("data", samples()).build(),
      ErrorCode::kInvalidFormat, "fmt chunk: a second one");
}

TEST(WavReader, NamesTheChunkThatIsMissing) {
  expect_error(WavBuilder().build(), ErrorCode::kInvalidFormat, "no fmt chunk");
  expect_error(WavBuilder().chunk("data", samples()).build(), ErrorCode::kInvalidFormat,
               "no fmt chunk");
  expect_error(WavBuilder().fmt(WavFmt()).build(), ErrorCode::kInvalidFormat, "no data chunk");
  expect_error(WavBuilder()
                   .fmt(WavFmt())
                   .chunk("LIST", Bytes(10), 0xFFFFFFF0)
                   .chunk("data", samples())
                   .build(),
               ErrorCode::kInvalidFormat, "no data chunk: the file ends after chunk 'LIST'");
  expect_error(WavBuilder().chunk("fmt ", Bytes(4), 0xFFFFFFF0).build(), ErrorCode::kInvalidFormat,
               "fmt chunk: the file ends");
}

TEST(WavReader, NamesWhatIsNoWav) {
  expect_error({}, ErrorCode::kInvalidFormat, "at byte 0");
  expect_error(test::bytes_of("hello world, no audio here"), ErrorCode::kInvalidFormat,
               "got 'hell'");
  WavBuilder avi;
  avi.form = "AVI ";
  expect_error(avi.fmt(WavFmt()).chunk("data", samples()).build(), ErrorCode::kInvalidFormat,
               "RIFF form 'AVI '");
}

Bytes ds64(uint64_t data_size) {
  Bytes out(28);
  for (size_t i = 0; i < 8; ++i) out[8 + i] = static_cast<std::byte>(data_size >> (8 * i));
  return out;
}

TEST(WavReader, ReadsRf64AndBw64) {
  for (const std::string magic : {"RF64", "BW64"}) {
    WavBuilder builder;
    builder.magic = magic;
    builder.riff_size = 0xFFFFFFFF;
    const Bytes file = builder.chunk("ds64", ds64(2 * kFrames))
                           .fmt(WavFmt())
                           .chunk("data", samples(), 0xFFFFFFFF)
                           .chunk("LIST", Bytes(8))
                           .build();
    expect_frames(file, kFrames, magic);
    auto reader = WavReader::open(std::make_unique<MemorySource>(file));
    ASSERT_TRUE(reader);
    EXPECT_EQ((*reader)->format().container, magic);
    EXPECT_EQ((*reader)->format().total_frames, static_cast<int64_t>(kFrames));
  }
  WavBuilder builder;
  builder.magic = "RF64";
  expect_frames(builder.chunk("ds64", ds64(uint64_t{1} << 62))
                    .fmt(WavFmt())
                    .chunk("data", samples(), 0xFFFFFFFF)
                    .build(),
                kFrames, "a size past the end");
  WavBuilder cut;
  cut.magic = "RF64";
  expect_error(cut.chunk("ds64", Bytes(8)).build(), ErrorCode::kInvalidFormat, "ds64 chunk");
}

TEST(WavReader, ReadsWave64) {
  const auto file = test::build_wave64(
      {{"junk", Bytes(13)}, {"fmt ", WavFmt().payload()}, {"data", samples()}, {"list", Bytes(3)}});
  expect_frames(file, kFrames);
  auto reader = WavReader::open(std::make_unique<MemorySource>(file));
  ASSERT_TRUE(reader);
  EXPECT_EQ((*reader)->format().container, "Wave64");
}

// Every cut must end in an error that names the WAV, or in the frames that are whole.
void cut_everywhere(const Bytes& file, size_t data_begin) {
  for (size_t size = 0; size < file.size(); ++size) {
    auto got = decode(Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size)));
    if (size < data_begin) {
      ASSERT_FALSE(got) << size;
      EXPECT_EQ(got.error().code, ErrorCode::kInvalidFormat);
      EXPECT_EQ(got.error().message.rfind("wav: ", 0), 0u) << got.error().message;
    } else {
      ASSERT_TRUE(got) << size << ": " << got.error().message;
      EXPECT_EQ(got->size(), std::min(kFrames, (size - data_begin) / 2)) << size;
    }
  }
}

TEST(WavReader, SurvivesACutAtEveryByte) {
  cut_everywhere(WavBuilder()
                     .chunk("bext", Bytes(9))
                     .fmt(WavFmt{.extensible = true})
                     .chunk("data", samples())
                     .build(),
                 12 + 18 + 48 + 8);
  cut_everywhere(test::build_wave64({{"fmt ", WavFmt().payload()}, {"data", samples()}}),
                 40 + 40 + 24);
}

TEST(WavReader, ReadsPipesOfAnyStep) {
  const Bytes file = WavBuilder()
                         .chunk("id3 ", Bytes(11), {}, false)
                         .chunk("data", samples())
                         .fmt(WavFmt())
                         .build();
  const Bytes streamed = WavBuilder()
                             .fmt(WavFmt())
                             .chunk("LIST", extra_payload("LIST"))
                             .chunk("data", samples(), 0xFFFFFFFF)
                             .build();
  for (const size_t step : std::initializer_list<size_t>{1, 2, 3, 7, 4096}) {
    for (const Bytes& bytes : {file, streamed}) {
      auto got = decode(std::make_unique<test::PipeSource>(bytes, step));
      ASSERT_TRUE(got) << got.error().message;
      EXPECT_EQ(got->size(), kFrames);
    }
  }
}

TEST(WavReader, GivesNoLengthForAPipe) {
  const Bytes file = WavBuilder().fmt(WavFmt()).chunk("data", samples()).build();
  auto reader = WavReader::open(std::make_unique<test::PipeSource>(file, 64));
  ASSERT_TRUE(reader);
  EXPECT_FALSE((*reader)->format().total_frames.has_value());
}

TEST(WavReader, PassesReadErrorsOn) {
  const Bytes file = WavBuilder().fmt(WavFmt()).chunk("data", samples(), 0xFFFFFFFF).build();
  for (const size_t size : {size_t{0}, size_t{20}, size_t{40}, file.size()}) {
    auto got = decode(std::make_unique<test::FailingSource>(
        Bytes(file.begin(), file.begin() + static_cast<std::ptrdiff_t>(size))));
    ASSERT_FALSE(got);
    EXPECT_EQ(got.error().code, ErrorCode::kIo);
    EXPECT_NE(got.error().message.find("broken disk"), std::string::npos);
  }
}

}  // namespace
}  // namespace rill::audio
