// SPDX-License-Identifier: Apache-2.0
#include "audio/byte_source.h"

#include <fcntl.h>
#include <gtest/gtest.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdio>

#include "support/test_data.h"
#include "support/wav_builder.h"
#include "unit/audio/audio_helpers.h"

namespace rill::audio {
namespace {

using test::Bytes;

std::string drain(ByteSource& source, size_t step) {
  std::string text;
  Bytes piece(step);
  while (true) {
    auto got = source.read(piece);
    if (!got || *got == 0) return text;
    text += test::to_text(std::span(piece).first(*got));
  }
}

TEST(FileSource, ReadsAFileAndKnowsItsSize) {
  const std::string path = test::temp_path("bytes");
  test::write_file(path, test::bytes_of("hello"));
  auto source = FileSource::open(path);
  ASSERT_TRUE(source) << source.error().message;
  EXPECT_EQ((*source)->size_bytes(), 5u);
  EXPECT_EQ((*source)->name(), path);
  EXPECT_EQ(drain(**source, 2), "hello");
  std::remove(path.c_str());
}

void expect_open_error(const std::string& path, ErrorCode code, std::string_view part) {
  auto source = FileSource::open(path);
  ASSERT_FALSE(source) << path;
  EXPECT_EQ(source.error().code, code);
  EXPECT_NE(source.error().message.find(part), std::string::npos) << source.error().message;
}

TEST(FileSource, NamesThePathThatDoesNotOpen) {
  expect_open_error("/nonexistent/audio.wav", ErrorCode::kNotFound,
                    "/nonexistent/audio.wav: no such file");
  expect_open_error("/", ErrorCode::kIo, "/: is a directory");
  expect_open_error("/dev/null", ErrorCode::kIo, "/dev/null: is a device");
  expect_open_error("", ErrorCode::kNotFound, "no such file");
  expect_open_error(std::string("a\0b", 3), ErrorCode::kNotFound, "zero byte");
}

TEST(FileSource, ReadsAnOpenDescriptorWithoutASize) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  ASSERT_EQ(::write(ends[1], "abc", 3), 3);
  ::close(ends[1]);
  auto source = FileSource::from_descriptor(ends[0], "standard input");
  EXPECT_FALSE(source->size_bytes().has_value());
  EXPECT_EQ(drain(*source, 16), "abc");
  source.reset();
  EXPECT_NE(::fcntl(ends[0], F_GETFD), -1);  // still the caller's
  ::close(ends[0]);
}

TEST(FileSource, NamesTheSourceWhenReadingFails) {
  auto source = FileSource::from_descriptor(-1, "standard input");
  Bytes piece(4);
  auto got = source->read(piece);
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kIo);
  EXPECT_NE(got.error().message.find("standard input"), std::string::npos);
}

TEST(FileSource, AFlagEndsTheWaitForAPipe) {
  int ends[2];
  ASSERT_EQ(::pipe(ends), 0);
  auto source = FileSource::from_descriptor(ends[0], "the pipe");
  std::atomic<bool> cancel{false};
  source->set_cancel(&cancel);
  ASSERT_EQ(::write(ends[1], "ab", 2), 2);
  Bytes piece(8);
  EXPECT_EQ(source->read(piece).value(), 2u);
  cancel.store(true);
  const auto got = source->read(piece);  // the writing end is open: without the flag it waits
  ASSERT_FALSE(got);
  EXPECT_EQ(got.error().code, ErrorCode::kCancelled);
  EXPECT_EQ(got.error().message, "read audio: the pipe: cancelled");
  cancel.store(false);
  ::close(ends[1]);
  EXPECT_EQ(source->read(piece).value(), 0u);
  ::close(ends[0]);
}

TEST(BufferedSource, PeeksWithoutConsuming) {
  for (const size_t step : std::initializer_list<size_t>{1, 3, 100}) {
    BufferedSource source(std::make_unique<test::PipeSource>(test::bytes_of("abcdefgh"), step));
    EXPECT_EQ(test::to_text(*source.peek(3)), "abc");
    EXPECT_EQ(test::to_text(*source.peek(5)), "abcde");
    EXPECT_EQ(*source.skip(2), 2u);
    EXPECT_EQ(source.position(), 2u);
    EXPECT_EQ(test::to_text(*source.peek(100)), "cdefgh");
    EXPECT_EQ(drain(source, 4), "cdefgh");
    EXPECT_TRUE(source.peek(1)->empty());
    EXPECT_EQ(*source.skip(5), 0u);
    EXPECT_EQ(source.position(), 8u);
  }
}

TEST(BufferedSource, ReadsFullyUnlessTheSourceEnds) {
  BufferedSource source(std::make_unique<test::PipeSource>(test::bytes_of("abcdefgh"), 3));
  Bytes out(5);
  EXPECT_EQ(*source.read_fully(out), 5u);
  EXPECT_EQ(test::to_text(out), "abcde");
  EXPECT_EQ(*source.read_fully(out), 3u);
}

}  // namespace
}  // namespace rill::audio
