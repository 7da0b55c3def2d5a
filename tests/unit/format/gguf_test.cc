// SPDX-License-Identifier: Apache-2.0
// GgufFile on well-formed files; gguf_malformed_test.cc has the others.
#include "format/gguf.h"

#include <gtest/gtest.h>

#include <cstring>
#include <filesystem>
#include <limits>
#include <string>

#include "support/gguf_builder.h"
#include "support/test_data.h"

namespace rill::format {
namespace {

using test::BuilderTensor;
using test::ByteSink;
using test::GgufBuilder;

TEST(GgufFile, ReadsEveryMetadataType) {
  GgufBuilder builder;
  builder.u8("u8", 200)
      .raw_pair("i8", 1, ByteSink().u8(0xFF))
      .raw_pair("u16", 2, ByteSink().u16(65535));
  builder.raw_pair("i16", 3, ByteSink().u16(0xFFFE)).u32("u32", 4000000000U).i32("i32", -3);
  builder.f32("f32", 0.25F).boolean("bool", true).string("string", "text");
  builder.u64("u64", std::numeric_limits<uint64_t>::max())
      .raw_pair("i64", 11, ByteSink().u64(~uint64_t{4} + 1));
  builder.raw_pair("f64", 12, ByteSink().f64(1e300))
      .strings("strings", {"a", "", "c"})
      .i32s("i32s", {1, -2});
  builder.raw_pair("f32s", 9, ByteSink().u32(6).u64(2).f32(1.5F).f32(-2));
  builder.raw_pair("bools", 9, ByteSink().u32(7).u64(3).u8(1).u8(0).u8(1));
  builder.raw_pair("none", 9, ByteSink().u32(4).u64(0));
  const std::vector<std::byte> bytes = builder.build();
  const Result<GgufFile> file = GgufFile::parse(bytes, "f.gguf");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  const Metadata& metadata = file->metadata();
  EXPECT_EQ(*metadata.get_u32("u8"), 200U);
  EXPECT_EQ(std::get<int64_t>(metadata.find("i8")->value), -1);
  EXPECT_EQ(*metadata.get_u32("u16"), 65535U);
  EXPECT_EQ(std::get<int64_t>(metadata.find("i16")->value), -2);
  EXPECT_EQ(*metadata.get_u32("u32"), 4000000000U);
  EXPECT_EQ(std::get<int64_t>(metadata.find("i32")->value), -3);
  EXPECT_EQ(*metadata.get_float("f32"), 0.25);
  EXPECT_TRUE(*metadata.get_bool("bool"));
  EXPECT_EQ(*metadata.get_string("string"), "text");
  EXPECT_EQ(*metadata.get_u64("u64"), std::numeric_limits<uint64_t>::max());
  EXPECT_EQ(std::get<int64_t>(metadata.find("i64")->value), -4);
  EXPECT_EQ(*metadata.get_float("f64"), 1e300);
  EXPECT_EQ(*metadata.get_strings("strings"), (std::vector<std::string>{"a", "", "c"}));
  EXPECT_EQ(*metadata.get_ints("i32s"), (std::vector<int64_t>{1, -2}));
  EXPECT_EQ(std::get<MetadataValue::Doubles>(metadata.find("f32s")->value),
            (std::vector<double>{1.5, -2}));
  EXPECT_EQ(std::get<MetadataValue::Bools>(metadata.find("bools")->value),
            (std::vector<bool>{true, false, true}));
  EXPECT_TRUE(metadata.get_ints("none")->empty());
  EXPECT_EQ(metadata.all().front().first, "u8");
  EXPECT_EQ(metadata.all().size(), 17U);
}

TEST(GgufFile, ReadsTensorsWithReversedDims) {
  BuilderTensor matrix{.name = "m", .type = 0, .dims = {3, 2}, .data = {}};
  ByteSink values;
  for (int i = 0; i < 6; ++i) values.f32(static_cast<float>(i));
  matrix.data = values.bytes();
  BuilderTensor blocks{
      .name = "q", .type = 8, .dims = {64, 3}, .data = std::vector<std::byte>(3 * 68)};
  const std::vector<std::byte> bytes =
      GgufBuilder().tensor(matrix).tensor(blocks).f32_tensor("v", {5}).build();
  const Result<GgufFile> file = GgufFile::parse(bytes, "f.gguf");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  ASSERT_EQ(file->tensors().all().size(), 3U);
  const NamedTensor* m = file->tensors().find("m");
  ASSERT_NE(m, nullptr);
  EXPECT_EQ(m->view.shape, (Shape{2, 3}));
  float last;
  std::memcpy(&last, m->view.data + 5 * 4, 4);
  EXPECT_EQ(last, 5.0F);
  EXPECT_EQ(m->view.data, bytes.data() + m->file_offset);
  const NamedTensor* q = file->tensors().find("q");
  EXPECT_EQ(q->view.dtype, DType::kQ8_0);
  EXPECT_EQ(q->view.size_bytes(), 204U);
  EXPECT_EQ(q->file_offset % 32, 0U);
}

TEST(GgufFile, AcceptsVersionTwo) {
  GgufBuilder builder;
  builder.version = 2;
  const std::vector<std::byte> bytes = builder.u32("a", 1).f32_tensor("t", {4}).build();
  const Result<GgufFile> file = GgufFile::parse(bytes, "f.gguf");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(file->version(), 2U);
}

TEST(GgufFile, ObeysTheFilesAlignment) {
  for (uint32_t alignment : {8U, 64U, 4096U, 1U << 20}) {
    GgufBuilder builder;
    builder.alignment = alignment;
    builder.u32("general.alignment", alignment).f32_tensor("a", {3}).f32_tensor("b", {3});
    const std::vector<std::byte> bytes = builder.build();
    const Result<GgufFile> file = GgufFile::parse(bytes, "f.gguf");
    ASSERT_TRUE(file.has_value()) << file.error().message;
    EXPECT_EQ(file->alignment(), alignment);
    EXPECT_EQ(file->tensors().find("b")->file_offset % alignment, 0U);
  }
}

TEST(GgufFile, AFileWithoutTensorsNeedsNoPadding) {
  GgufBuilder builder;
  std::vector<std::byte> bytes = builder.u32("a", 1).build();
  bytes.resize(builder.header_bytes());
  EXPECT_TRUE(GgufFile::parse(bytes, "f.gguf").has_value());
}

TEST(GgufFile, TokenStringsMayHoldAnyBytes) {
  const std::string odd("\xff\x00\x80", 3);
  const std::vector<std::byte> bytes = GgufBuilder().strings("tokens", {odd}).build();
  const Result<GgufFile> file = GgufFile::parse(bytes, "f.gguf");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(file->metadata().get_strings("tokens")->front(), odd);
}

TEST(GgufFile, OpensAndReleasesAFile) {
  const std::string path = test::temp_path("open.gguf");
  test::write_file(path, GgufBuilder().u32("a", 1).f32_tensor("t", {100000}).build());
  Result<GgufFile> opened = GgufFile::open(path);
  ASSERT_TRUE(opened.has_value()) << opened.error().message;
  const GgufFile file = std::move(*opened);
  const NamedTensor* tensor = file.tensors().find("t");
  ASSERT_NE(tensor, nullptr);
  file.release(*tensor);
  for (size_t i = 0; i < tensor->view.size_bytes(); ++i)
    ASSERT_EQ(tensor->view.data[i], std::byte{0});
  EXPECT_EQ(file.size_bytes(), std::filesystem::file_size(path));
  std::filesystem::remove(path);
}

TEST(GgufFile, AMillionTokensParse) {
  ByteSink sink;
  sink.u32(8).u64(1000000);
  for (int i = 0; i < 1000000; ++i) sink.string("token");
  const std::vector<std::byte> bytes = GgufBuilder().raw_pair("tokens", 9, sink).build();
  const Result<GgufFile> file = GgufFile::parse(bytes, "f.gguf");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(std::get<MetadataValue::Strings>(file->metadata().find("tokens")->value).size(),
            1000000U);
}

}  // namespace
}  // namespace rill::format
