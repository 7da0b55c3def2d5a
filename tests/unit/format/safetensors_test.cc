// SPDX-License-Identifier: Apache-2.0
#include "format/safetensors.h"

#include <gtest/gtest.h>

#include <filesystem>
#include <string>

#include "support/gguf_builder.h"
#include "support/test_data.h"

namespace rill::format {
namespace {

std::vector<std::byte> file_of(std::string_view header, size_t data_bytes = 0) {
  test::ByteSink sink;
  sink.string(header);
  for (size_t i = 0; i < data_bytes; ++i) sink.u8(static_cast<uint8_t>(i));
  return sink.bytes();
}

std::string error_of(std::string_view header, size_t data_bytes = 0,
                     ErrorCode code = ErrorCode::kInvalidFormat) {
  const Result<SafetensorsFile> file =
      SafetensorsFile::parse(file_of(header, data_bytes), "bad.safetensors");
  EXPECT_FALSE(file.has_value()) << header;
  if (file) return "";
  EXPECT_EQ(file.error().code, code) << file.error().message;
  EXPECT_EQ(file.error().message.rfind("load safetensors: bad.safetensors: ", 0), 0U)
      << file.error().message;
  return file.error().message;
}

TEST(SafetensorsFile, ReadsTensorsAndNotes) {
  const std::vector<std::byte> bytes = file_of(
      R"({"__metadata__":{"format":"pt"},"b":{"dtype":"F32","shape":[2,3],"data_offsets":[4,28]},)"
      R"("a":{"dtype":"I16","shape":[2],"data_offsets":[0,4]}}   )",
      28);
  const Result<SafetensorsFile> file = SafetensorsFile::parse(bytes, "f");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  ASSERT_EQ(file->metadata().size(), 1U);
  EXPECT_EQ(file->metadata()[0].second, "pt");
  ASSERT_EQ(file->tensors().all().size(), 2U);
  const NamedTensor* b = file->tensors().find("b");
  EXPECT_EQ(b->view.dtype, DType::kF32);
  EXPECT_EQ(b->view.shape, (Shape{2, 3}));
  EXPECT_EQ(b->view.data[0], std::byte{4});
  EXPECT_EQ(b->file_offset, bytes.size() - 24);
}

TEST(SafetensorsFile, KnowsEachDType) {
  const struct {
    const char* name;
    DType dtype;
    size_t bytes;
  } table[] = {{"F32", DType::kF32, 4}, {"F16", DType::kF16, 2}, {"BF16", DType::kBF16, 2},
               {"F64", DType::kF64, 8}, {"I8", DType::kI8, 1},   {"I16", DType::kI16, 2},
               {"I32", DType::kI32, 4}, {"I64", DType::kI64, 8}};
  for (const auto& row : table) {
    const std::string header = std::string(R"({"t":{"dtype":")") + row.name +
                               R"(","shape":[1],"data_offsets":[0,)" + std::to_string(row.bytes) +
                               "]}}";
    const std::vector<std::byte> bytes = file_of(header, row.bytes);
    const Result<SafetensorsFile> file = SafetensorsFile::parse(bytes, "f");
    ASSERT_TRUE(file.has_value()) << file.error().message;
    EXPECT_EQ(file->tensors().find("t")->view.dtype, row.dtype);
  }
}

TEST(SafetensorsFile, AcceptsScalarsAndEmptyTensors) {
  const std::vector<std::byte> bytes = file_of(
      R"({"scalar":{"dtype":"F32","shape":[],"data_offsets":[0,4]},)"
      R"("empty":{"dtype":"F32","shape":[0,5],"data_offsets":[4,4]},)"
      R"("huge":{"dtype":"F32","shape":[9000000000000000000,9000000000000000000,0],"data_offsets":[4,4]}})",
      4);
  const Result<SafetensorsFile> file = SafetensorsFile::parse(bytes, "f");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(file->tensors().find("scalar")->view.size_bytes(), 4U);
  EXPECT_EQ(file->tensors().find("empty")->view.size_bytes(), 0U);
  EXPECT_EQ(file->tensors().find("huge")->view.size_bytes(), 0U);
}

TEST(SafetensorsFile, KeepsOtherDTypesApart) {
  const std::vector<std::byte> bytes = file_of(
      R"({"mask":{"dtype":"BOOL","shape":[3],"data_offsets":[0,3]},"t":{"dtype":"I8","shape":[1],"data_offsets":[3,4]}})",
      4);
  const Result<SafetensorsFile> file = SafetensorsFile::parse(bytes, "f.safetensors");
  ASSERT_TRUE(file.has_value()) << file.error().message;
  EXPECT_EQ(file->tensors().find("mask"), nullptr);
  ASSERT_EQ(file->raw_tensors().size(), 1U);
  EXPECT_EQ(file->raw_tensors()[0].dtype, "BOOL");
  EXPECT_EQ(file->raw_tensors()[0].bytes.size(), 3U);
  EXPECT_TRUE(file->get("t").has_value());
  EXPECT_EQ(file->get("mask").error().code, ErrorCode::kUnsupported);
  EXPECT_EQ(file->get("mask").error().message,
            "load safetensors: f.safetensors: tensor mask: dtype: got BOOL, expected F64, F32, "
            "F16, BF16, I64, I32, "
            "I16 or I8");
  EXPECT_EQ(file->get("none").error().code, ErrorCode::kNotFound);
}

TEST(SafetensorsFile, AFileWithoutTensors) {
  const std::vector<std::byte> bytes = file_of("{}");
  EXPECT_TRUE(SafetensorsFile::parse(bytes, "f").has_value());
}

TEST(SafetensorsMalformed, HeaderSizes) {
  for (uint64_t size : {~uint64_t{0}, uint64_t{1} << 63, uint64_t{100000001}, uint64_t{3}}) {
    const std::vector<std::byte> bytes = test::ByteSink().u64(size).raw("{}").bytes();
    const Result<SafetensorsFile> file = SafetensorsFile::parse(bytes, "bad");
    ASSERT_FALSE(file.has_value());
    EXPECT_EQ(file.error().message, "load safetensors: bad: header size at byte 0: got " +
                                        std::to_string(size) + ", expected at most 2");
  }
}

TEST(SafetensorsMalformed, HeaderText) {
  EXPECT_NE(error_of("").find("header at byte 8"), std::string::npos);
  EXPECT_NE(error_of("[]").find("header at byte 8: got \"[\""), std::string::npos);
  EXPECT_NE(error_of("{\"a\":").find("parse JSON: byte 5"), std::string::npos);
  error_of("{\"a\":{\"dtype\":[[[[[[1]]]]]]}}");
  error_of(" {}");
}

TEST(SafetensorsMalformed, Entries) {
  EXPECT_NE(error_of(R"({"t":1})").find("tensor t: header entry: got 1"), std::string::npos);
  EXPECT_NE(error_of(R"({"t":{"dtype":"F32","shape":[]}})")
                .find("expected dtype, shape and data_offsets"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"t":{"dtype":"F32","shape":[],"data_offsets":[0,4],"x":1}})", 4)
                .find("the member x"),
            std::string::npos);
  error_of(R"({"t":{"dtype":32,"shape":[],"data_offsets":[0,4]}})", 4);
  error_of(R"({"t":{"dtype":"F32","shape":4,"data_offsets":[0,4]}})", 4);
  for (const char* shape : {"[-1]", "[1.0]", "[\"1\"]", "[null]", "[9223372036854775808]"}) {
    error_of(std::string(R"({"t":{"dtype":"F32","shape":)") + shape + R"(,"data_offsets":[0,4]}})",
             4);
  }
  for (const char* offsets :
       {"[0]", "[0,4,4]", "[4,0]", "[-4,0]", "[0.0,4]", "{}", "[0,18446744073709551615]"}) {
    error_of(std::string(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":)") + offsets + "}}", 4);
  }
}

TEST(SafetensorsMalformed, UnknownDTypesAndRanks) {
  EXPECT_NE(error_of(R"({"t":{"dtype":"F4","shape":[1],"data_offsets":[0,4]}})", 4,
                     ErrorCode::kUnsupported)
                .find("tensor t: dtype: got F4"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"t":{"dtype":"F32","shape":[1,1,1,1,1],"data_offsets":[0,4]}})", 4,
                     ErrorCode::kUnsupported)
                .find("5 dimensions"),
            std::string::npos);
}

TEST(SafetensorsMalformed, SizesThatDoNotMatch) {
  EXPECT_NE(error_of(R"({"t":{"dtype":"F32","shape":[2],"data_offsets":[0,4]}})", 4)
                .find("tensor t: data_offsets: got 4 bytes, expected 8 for F32 [2]"),
            std::string::npos);
  EXPECT_NE(
      error_of(R"({"t":{"dtype":"F32","shape":[4611686018427387904,4],"data_offsets":[0,0]}})")
          .find("fits the address space"),
      std::string::npos);
  EXPECT_NE(error_of(R"({"t":{"dtype":"F32","shape":[1],"data_offsets":[4,8]}})", 4)
                .find("an end of at most 4"),
            std::string::npos);
}

TEST(SafetensorsMalformed, GapsAndOverlaps) {
  EXPECT_NE(error_of(R"({"a":{"dtype":"I8","shape":[4],"data_offsets":[0,4]},)"
                     R"("b":{"dtype":"I8","shape":[4],"data_offsets":[2,6]}})",
                     6)
                .find("tensor b: data_offsets: got a begin of 2, expected 4"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"a":{"dtype":"I8","shape":[4],"data_offsets":[1,5]}})", 5)
                .find("got a begin of 1"),
            std::string::npos);
  EXPECT_NE(error_of(R"({"a":{"dtype":"I8","shape":[4],"data_offsets":[0,4]}})", 5)
                .find("data: size: got 5 bytes"),
            std::string::npos);
}

TEST(SafetensorsMalformed, DuplicatesAndNotes) {
  EXPECT_NE(error_of(R"({"t":{"dtype":"I8","shape":[0],"data_offsets":[0,0]},)"
                     R"("t":{"dtype":"I8","shape":[0],"data_offsets":[0,0]}})")
                .find("the key \"t\" twice"),
            std::string::npos);
  EXPECT_NE(
      error_of(R"({"__metadata__":{"n":1}})").find("__metadata__: n: got 1, expected a string"),
      std::string::npos);
  error_of(R"({"__metadata__":[]})");
}

TEST(SafetensorsMalformed, EveryCutIsAnError) {
  const std::vector<std::byte> bytes = file_of(
      R"({"__metadata__":{"f":"pt"},"a":{"dtype":"F32","shape":[2],"data_offsets":[0,8]}})", 8);
  ASSERT_TRUE(SafetensorsFile::parse(bytes, "ok").has_value());
  for (size_t size = 0; size < bytes.size(); ++size) {
    const std::vector<std::byte> cut(bytes.begin(),
                                     bytes.begin() + static_cast<std::ptrdiff_t>(size));
    EXPECT_FALSE(SafetensorsFile::parse(cut, "bad").has_value()) << size;
  }
}

TEST(SafetensorsMalformed, FilesThatAreNoFiles) {
  EXPECT_EQ(SafetensorsFile::open(test::temp_path("none")).error().code, ErrorCode::kNotFound);
}

}  // namespace
}  // namespace rill::format
