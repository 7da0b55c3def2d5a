// SPDX-License-Identifier: Apache-2.0
// MappedFile and AtomicFile.
#include <gtest/gtest.h>
#include <sys/stat.h>

#include <filesystem>
#include <string>
#include <utility>

#include "base/atomic_file.h"
#include "base/mapped_file.h"
#include "support/test_data.h"

namespace rill {
namespace {

namespace fs = std::filesystem;

class FilesTest : public testing::Test {
 protected:
  FilesTest() { fs::create_directories(folder_); }
  ~FilesTest() override { fs::remove_all(folder_); }

  [[nodiscard]] std::string path(const std::string& name) const { return folder_ + "/" + name; }
  [[nodiscard]] size_t entries() const {
    return static_cast<size_t>(
        std::distance(fs::directory_iterator(folder_), fs::directory_iterator()));
  }

  std::string folder_ = test::temp_path("files");
};

TEST_F(FilesTest, MapsAFile) {
  test::write_file(path("a"), test::to_bytes("hello"));
  Result<MappedFile> file = MappedFile::open(path("a"));
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(test::to_text(file->bytes()), "hello");
  const MappedFile moved = std::move(*file);
  EXPECT_EQ(test::to_text(moved.bytes()), "hello");
  EXPECT_TRUE(file->bytes().empty());
}

TEST_F(FilesTest, AnEmptyFileHasNoBytes) {
  test::write_file(path("empty"), {});
  const Result<MappedFile> file = MappedFile::open(path("empty"));
  ASSERT_TRUE(file.has_value());
  EXPECT_TRUE(file->bytes().empty());
}

TEST_F(FilesTest, ReleasedPagesReadTheSameAgain) {
  const std::vector<std::byte> bytes(100000, std::byte{7});
  test::write_file(path("big"), bytes);
  const MappedFile file = MappedFile::open(path("big")).value();
  file.release_pages(100, 90000);
  file.release_pages(0, 100001);  // past the end: ignored
  file.release_pages(200000, 1);
  file.release_pages(static_cast<size_t>(-1), static_cast<size_t>(-1));
  EXPECT_TRUE(std::equal(bytes.begin(), bytes.end(), file.bytes().begin(), file.bytes().end()));
}

TEST_F(FilesTest, NamesWhatItCannotMap) {
  const Result<MappedFile> missing = MappedFile::open(path("none"));
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_NE(missing.error().message.find(path("none")), std::string::npos);
  EXPECT_EQ(MappedFile::open("").error().code, ErrorCode::kNotFound);

  const Result<MappedFile> folder = MappedFile::open(folder_);
  ASSERT_FALSE(folder.has_value());
  EXPECT_EQ(folder.error().code, ErrorCode::kIo);
  EXPECT_NE(folder.error().message.find("got a directory"), std::string::npos);

  test::write_file(path("a"), test::to_bytes("x"));
  EXPECT_FALSE(MappedFile::open(path(std::string("a\0b", 3))).has_value());
}

TEST_F(FilesTest, APipeIsRefusedWithoutWaiting) {
  ASSERT_EQ(::mkfifo(path("pipe").c_str(), 0600), 0);
  const Result<MappedFile> pipe = MappedFile::open(path("pipe"));
  ASSERT_FALSE(pipe.has_value());
  EXPECT_EQ(pipe.error().code, ErrorCode::kIo);
}

TEST_F(FilesTest, CommitReplacesTheFile) {
  test::write_file(path("out"), test::to_bytes("old"));
  AtomicFile file = AtomicFile::create(path("out")).value();
  ASSERT_TRUE(file.write(test::to_bytes("new ")).has_value());
  ASSERT_TRUE(file.write(test::to_bytes("text")).has_value());
  EXPECT_EQ(test::to_text(test::read_file(path("out"))), "old");
  ASSERT_TRUE(file.commit().has_value());
  EXPECT_EQ(test::to_text(test::read_file(path("out"))), "new text");
  EXPECT_EQ(entries(), 1U);
}

TEST_F(FilesTest, WithoutCommitNothingRemains) {
  {
    AtomicFile file = AtomicFile::create(path("out")).value();
    ASSERT_TRUE(file.write(test::to_bytes("half")).has_value());
    EXPECT_EQ(entries(), 1U);
    const AtomicFile moved = std::move(file);
  }
  EXPECT_EQ(entries(), 0U);
}

TEST_F(FilesTest, TwoWritersDoNotMix) {
  AtomicFile first = AtomicFile::create(path("out")).value();
  AtomicFile second = AtomicFile::create(path("out")).value();
  ASSERT_TRUE(first.write(test::to_bytes("1")).has_value());
  ASSERT_TRUE(second.write(test::to_bytes("2")).has_value());
  ASSERT_TRUE(first.commit().has_value());
  ASSERT_TRUE(second.commit().has_value());
  EXPECT_EQ(test::to_text(test::read_file(path("out"))), "2");
}

TEST_F(FilesTest, NamesWhatItCannotWrite) {
  const Result<AtomicFile> missing = AtomicFile::create(path("no/such/folder"));
  ASSERT_FALSE(missing.has_value());
  EXPECT_EQ(missing.error().code, ErrorCode::kNotFound);
  EXPECT_FALSE(AtomicFile::create("").has_value());
  fs::create_directories(path("dir/inside"));
  AtomicFile over_folder = AtomicFile::create(path("dir")).value();
  EXPECT_EQ(over_folder.commit().error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace rill
