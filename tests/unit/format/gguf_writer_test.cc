// SPDX-License-Identifier: Apache-2.0
#include "format/gguf_writer.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "format/gguf.h"
#include "support/gguf_builder.h"
#include "support/test_data.h"

namespace rill::format {
namespace {

using test::ByteSink;

std::vector<std::byte> counted(size_t size) {
  std::vector<std::byte> bytes(size);
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<std::byte>(i * 31);
  return bytes;
}

std::string error_of(const Metadata& metadata, std::span<const GgufTensor> tensors) {
  const Result<std::vector<std::byte>> bytes = write_gguf(metadata, tensors);
  EXPECT_FALSE(bytes.has_value());
  if (bytes) return "";
  EXPECT_EQ(bytes.error().code, ErrorCode::kInvalidArgument);
  return bytes.error().message;
}

TEST(WriteGguf, TensorsRoundTrip) {
  const std::vector<std::byte> floats = counted(2 * 3 * 4);
  const std::vector<std::byte> blocks = counted(5 * 34);
  const std::vector<std::byte> experts = counted(2 * 3 * 5 * 2);
  const GgufTensor tensors[] = {{"f", DType::kF32, {2, 3}, floats, {}},
                                {"q", DType::kQ8_0, {5, 32}, blocks, {}},
                                {"e", DType::kBF16, {2, 3, 5}, experts, {}}};
  const std::vector<std::byte> bytes = write_gguf(Metadata(), tensors).value();
  const Result<GgufFile> file = GgufFile::parse(bytes, "f");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  ASSERT_EQ(file->tensors().all().size(), 3U);
  for (const GgufTensor& tensor : tensors) {
    const NamedTensor* read = file->tensors().find(tensor.name);
    ASSERT_NE(read, nullptr);
    EXPECT_EQ(read->view.dtype, tensor.dtype);
    EXPECT_EQ(read->view.shape, tensor.shape);
    EXPECT_TRUE(std::equal(tensor.data.begin(), tensor.data.end(), read->view.data));
  }
}

// Every metadata type, read and written again: the same bytes.
TEST(WriteGguf, MetadataRoundTripsByteForByte) {
  test::GgufBuilder builder;
  builder.u8("u8", 200)
      .raw_pair("i8", 1, ByteSink().u8(0xFF))
      .raw_pair("u16", 2, ByteSink().u16(65535));
  builder.raw_pair("i16", 3, ByteSink().u16(0xFFFE)).u32("u32", 4000000000U).i32("i32", -3);
  builder.f32("f32", 0.1F).boolean("bool", true).string("string", "t\xff").u64("u64", ~uint64_t{0});
  builder.raw_pair("i64", 11, ByteSink().u64(~uint64_t{4}))
      .raw_pair("f64", 12, ByteSink().f64(0.1));
  builder.strings("strings", {"a", "", "c"}).i32s("i32s", {1, -2});
  builder.raw_pair("u8s", 9, ByteSink().u32(0).u64(2).u8(1).u8(255));
  builder.raw_pair("u64s", 9, ByteSink().u32(10).u64(1).u64(1));
  builder.raw_pair("f32s", 9, ByteSink().u32(6).u64(2).f32(1.5F).f32(0.1F));
  builder.raw_pair("f64s", 9, ByteSink().u32(12).u64(1).f64(0.1));
  builder.raw_pair("bools", 9, ByteSink().u32(7).u64(2).u8(1).u8(0));
  builder.raw_pair("none", 9, ByteSink().u32(8).u64(0));
  builder.f32_tensor("t", {4, 2});
  const std::vector<std::byte> bytes = builder.build();
  const Result<GgufFile> file = GgufFile::parse(bytes, "f");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  const TensorView& view = file->tensors().find("t")->view;
  const GgufTensor tensor{"t", view.dtype, view.shape, {view.data, view.size_bytes()}, {}};
  EXPECT_EQ(write_gguf(file->metadata(), {&tensor, 1}).value(), bytes);
}

TEST(WriteGguf, ObeysTheAlignmentKey) {
  Metadata metadata;
  metadata.add("general.alignment", metadata_u32(256));
  const std::vector<std::byte> data = counted(12);
  const GgufTensor tensors[] = {{"a", DType::kF32, {3}, data, {}},
                                {"b", DType::kF32, {3}, data, {}}};
  const std::vector<std::byte> bytes = write_gguf(metadata, tensors).value();
  const Result<GgufFile> file = GgufFile::parse(bytes, "f");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(file->tensors().find("b")->file_offset % 256, 0U);
  EXPECT_EQ(bytes.size() % 256, 0U);
}

TEST(WriteGguf, MakesDataInTurn) {
  std::vector<std::byte> scratch;
  std::string order;
  std::vector<GgufTensor> tensors;
  for (const char* name : {"a", "b", "c"}) {
    GgufTensor tensor{name, DType::kF32, {2}, {}, {}};
    tensor.make_data = [&scratch, &order, name]() -> Result<std::span<const std::byte>> {
      order += name;
      scratch.assign(8, static_cast<std::byte>(name[0]));
      return std::span<const std::byte>(scratch);
    };
    tensors.push_back(std::move(tensor));
  }
  const std::string path = test::temp_path("made.gguf");
  ASSERT_TRUE(write_gguf_file(path, Metadata(), tensors).has_value());
  EXPECT_EQ(order, "abc");
  const Result<GgufFile> file = GgufFile::open(path);
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(file->tensors().find("b")->view.data[7], static_cast<std::byte>('b'));
  std::filesystem::remove(path);
}

TEST(WriteGguf, AFailureLeavesNoFile) {
  GgufTensor tensor{"a", DType::kF32, {2}, {}, {}};
  tensor.make_data = []() -> Result<std::span<const std::byte>> {
    return Error{ErrorCode::kIo, "source is gone"};
  };
  const std::string path = test::temp_path("failed.gguf");
  EXPECT_EQ(write_gguf_file(path, Metadata(), {&tensor, 1}).error().message, "source is gone");
  EXPECT_FALSE(std::filesystem::exists(path));
  EXPECT_EQ(write_gguf_file("/no/such/folder/x.gguf", Metadata(), {}).error().code,
            ErrorCode::kNotFound);
}

TEST(WriteGguf, RefusesWhatTheReaderWouldRefuse) {
  const std::vector<std::byte> data = counted(64);
  const auto one = [&](GgufTensor tensor) { return error_of(Metadata(), {&tensor, 1}); };
  EXPECT_NE(one({"", DType::kF32, {16}, data, {}}).find("tensor name"), std::string::npos);
  EXPECT_NE(one({"\xff", DType::kF32, {16}, data, {}}).find("UTF-8"), std::string::npos);
  EXPECT_NE(one({"t", DType::kF32, {}, data, {}}).find("rank 0"), std::string::npos);
  EXPECT_NE(one({"t", DType::kF32, {0, 4}, data, {}}).find("zero dimension"), std::string::npos);
  EXPECT_NE(one({"t", DType::kQ8_0, {2, 16}, data, {}}).find("multiple of 32"), std::string::npos);
  EXPECT_NE(one({"t", DType::kF32, {15}, data, {}}).find("64 bytes of data, expected 60"),
            std::string::npos);
  EXPECT_NE(one({"t", DType::kF32, {static_cast<size_t>(-1), 2}, data, {}}).find("address space"),
            std::string::npos);
  const GgufTensor twice[] = {{"t", DType::kF32, {16}, data, {}},
                              {"t", DType::kF32, {16}, data, {}}};
  EXPECT_NE(error_of(Metadata(), twice).find("a second time"), std::string::npos);
}

TEST(WriteGguf, RefusesValuesThatDoNotFitTheirType) {
  const auto with = [](MetadataValue value) {
    Metadata metadata;
    metadata.add("k", std::move(value));
    return error_of(metadata, {});
  };
  EXPECT_EQ(with({4, 0, uint64_t{1} << 32}),
            "write gguf: k: got a value that does not fit its type, expected u32");
  with({4, 0, int64_t{-1}});
  with({10, 0, int64_t{-1}});
  with({5, 0, std::string("x")});
  with({6, 0, 1e300});
  with({7, 0, uint64_t{1}});
  with({9, 0, MetadataValue::Ints{300}});
  with({9, 8, MetadataValue::Ints{1}});
  with({9, 4, MetadataValue::Strings{}});
  with({8, 8, MetadataValue::Strings{"x"}});
  with({13, 0, uint64_t{1}});
  Metadata metadata;
  metadata.add("general.alignment", metadata_u32(24));
  EXPECT_NE(error_of(metadata, {}).find("general.alignment: got 24"), std::string::npos);
}

}  // namespace
}  // namespace rill::format
