// SPDX-License-Identifier: Apache-2.0
// Crafted GGUF files: each must end in an error that names the file, the field and the byte.
#include <gtest/gtest.h>

#include <limits>
#include <string>

#include "format/gguf.h"
#include "support/gguf_builder.h"
#include "support/test_data.h"

namespace rill::format {
namespace {

using test::BuilderTensor;
using test::ByteSink;
using test::GgufBuilder;

constexpr uint64_t kHuge = std::numeric_limits<uint64_t>::max();

std::string error_of(const std::vector<std::byte>& bytes,
                     ErrorCode code = ErrorCode::kInvalidFormat) {
  const Result<GgufFile> file = GgufFile::parse(bytes, "bad.gguf");
  EXPECT_FALSE(file.has_value());
  if (file) return "";
  EXPECT_EQ(file.error().code, code) << file.error().message;
  return file.error().message;
}

std::string error_of(GgufBuilder& builder, ErrorCode code = ErrorCode::kInvalidFormat) {
  return error_of(builder.build(), code);
}

BuilderTensor tensor_of(std::vector<uint64_t> dims, uint32_t type = 0) {
  return {.name = "t", .type = type, .dims = std::move(dims), .data = std::vector<std::byte>(64)};
}

// A file with some of everything.
GgufBuilder sample() {
  GgufBuilder builder;
  builder.string("general.architecture", "lfm2")
      .u32("general.alignment", 32)
      .u32("lfm2.block_count", 2);
  builder.strings("tokens", {"a", "b"})
      .i32s("types", {1, 3})
      .f32("eps", 1e-5F)
      .boolean("flag", false);
  builder.f32_tensor("token_embd.weight", {4, 2}).f32_tensor("norm.weight", {4});
  return builder;
}

// a: the product of the dimensions overflows.
TEST(GgufMalformed, DimensionsWhoseProductOverflows) {
  EXPECT_EQ(error_of(GgufBuilder().tensor(tensor_of({uint64_t{1} << 63, 2, 1, 1}, 24))),
            "load gguf: bad.gguf: tensor t shape at byte 33: got [1, 1, 2, 9223372036854775808], "
            "expected a tensor "
            "that fits the address space");
  EXPECT_NE(error_of(GgufBuilder().tensor(tensor_of({(uint64_t{1} << 63) - 1, 2, 1, 1}, 24)))
                .find("tensor t offset"),
            std::string::npos);
}

// b: it fits, but the number of bytes does not.
TEST(GgufMalformed, BytesThatOverflow) {
  const std::string message = error_of(GgufBuilder().tensor(tensor_of({kHuge / 4 + 1})));
  EXPECT_NE(message.find("tensor t shape at byte 33"), std::string::npos) << message;
  EXPECT_NE(error_of(GgufBuilder().tensor(tensor_of({kHuge / 4}))).find("tensor t offset"),
            std::string::npos);
}

// c: a large dimension in an otherwise good file.
TEST(GgufMalformed, ADimensionPastTheData) {
  const std::string message =
      error_of(GgufBuilder().tensor(tensor_of({4, (uint64_t{1} << 42) + 1})));
  EXPECT_EQ(message,
            "load gguf: bad.gguf: tensor t offset at byte 57: got 70368744177680 bytes at 0, "
            "expected to fit the data "
            "section of 64 bytes");
}

TEST(GgufMalformed, AZeroDimension) {
  EXPECT_NE(error_of(GgufBuilder().tensor(tensor_of({4, 0})))
                .find("tensor t dimension 1 at byte 45: got 0"),
            std::string::npos);
}

// d: counts that no file of this size can hold.
TEST(GgufMalformed, CountsPastTheFile) {
  for (uint64_t count : {kHuge, kHuge / 2, uint64_t{1} << 32, uint64_t{100}}) {
    GgufBuilder tensors = sample();
    tensors.num_tensors = count;
    EXPECT_NE(
        error_of(tensors).find("bad.gguf: tensor count at byte 8: got " + std::to_string(count)),
        std::string::npos);
    GgufBuilder keys = sample();
    keys.num_keys = count;
    EXPECT_NE(error_of(keys).find("bad.gguf: key count at byte 16: got " + std::to_string(count)),
              std::string::npos);
  }
}

// e: general.alignment of another type or value.
TEST(GgufMalformed, AlignmentOfAnotherType) {
  EXPECT_EQ(error_of(GgufBuilder().i32("general.alignment", 32)),
            "load gguf: bad.gguf: general.alignment at byte 49: got i32, expected u32");
  error_of(GgufBuilder().u64("general.alignment", 32));
  error_of(GgufBuilder().string("general.alignment", "32"));
}

TEST(GgufMalformed, AlignmentThatIsNoPowerOfTwo) {
  for (uint32_t alignment : {0U, 1U, 3U, 4U, 48U, 1U << 21, 0x80000000U, 0xFFFFFFFFU}) {
    const std::string message = error_of(GgufBuilder().u32("general.alignment", alignment));
    EXPECT_EQ(message, "load gguf: bad.gguf: general.alignment at byte 49: got " +
                           std::to_string(alignment) +
                           ", expected a power of two from 8 to 1048576");
  }
}

// f: tensors outside the file, unaligned, or over each other.
TEST(GgufMalformed, TensorsPastTheEnd) {
  BuilderTensor tensor = tensor_of({16});
  tensor.offset = 64;
  EXPECT_NE(
      error_of(GgufBuilder().tensor(tensor)).find("tensor t offset at byte 49: got 64 bytes at 64"),
      std::string::npos);
  tensor.offset = kHuge - 31;
  EXPECT_NE(error_of(GgufBuilder().tensor(tensor)).find("tensor t offset"), std::string::npos);
}

TEST(GgufMalformed, UnalignedTensors) {
  BuilderTensor tensor = tensor_of({4});
  tensor.offset = 16;
  EXPECT_EQ(error_of(GgufBuilder().tensor(tensor)),
            "load gguf: bad.gguf: tensor t offset at byte 49: got 16, expected a multiple of 32");
}

TEST(GgufMalformed, OverlappingTensors) {
  BuilderTensor second = tensor_of({4});
  second.name = "u";
  second.offset = 32;
  EXPECT_EQ(error_of(GgufBuilder().tensor(tensor_of({16})).tensor(second)),
            "load gguf: bad.gguf: tensor u offset at byte 82: got 32, which overlaps tensor t, "
            "expected at least 64");
  second.offset = 0;
  error_of(GgufBuilder().tensor(tensor_of({16})).tensor(second));
}

// g: string lengths.
TEST(GgufMalformed, StringLengthsPastTheFile) {
  for (uint64_t length : {uint64_t{1} << 63, kHuge, uint64_t{1000}}) {
    const std::string message =
        error_of(GgufBuilder().raw_pair("k", 8, ByteSink().u64(length).raw("abc")));
    EXPECT_NE(message.find("bad.gguf: k value at byte 37: got a string of " +
                           std::to_string(length) + " bytes"),
              std::string::npos)
        << message;
    BuilderTensor tensor = tensor_of({4});
    tensor.name_length = length;
    EXPECT_NE(error_of(GgufBuilder().tensor(tensor)).find("tensor 0 name at byte"),
              std::string::npos);
  }
}

TEST(GgufMalformed, NamesThatAreNoNames) {
  EXPECT_NE(error_of(GgufBuilder().u32("", 1)).find("key 0 at byte 24: got a name of 0 bytes"),
            std::string::npos);
  EXPECT_NE(
      error_of(GgufBuilder().u32(std::string(65536, 'k'), 1)).find("got a name of 65536 bytes"),
      std::string::npos);
  EXPECT_EQ(error_of(GgufBuilder().u32("a\xff", 1)),
            "load gguf: bad.gguf: key 0 at byte 32: got a\\xff, expected UTF-8");
  BuilderTensor tensor = tensor_of({4});
  tensor.name = "\xc0\xaf";
  EXPECT_NE(error_of(GgufBuilder().tensor(tensor)).find("tensor 0 name at byte 32"),
            std::string::npos);
}

// h: arrays in arrays.
TEST(GgufMalformed, NestedArrays) {
  ByteSink nested;
  for (int i = 0; i < 10000; ++i) nested.u32(9).u64(1);
  nested.u32(0).u64(1).u8(1);
  EXPECT_EQ(error_of(GgufBuilder().raw_pair("k", 9, nested)),
            "load gguf: bad.gguf: k element type at byte 37: got an array of arrays, expected an "
            "array of numbers, "
            "bools or strings");
}

TEST(GgufMalformed, ArraysPastTheFile) {
  for (uint32_t type : {0U, 3U, 4U, 6U, 7U, 8U, 10U, 12U}) {
    for (uint64_t length :
         {kHuge, kHuge / 8, uint64_t{1} << 61, uint64_t{1} << 30, uint64_t{100}}) {
      const std::string message =
          error_of(GgufBuilder().raw_pair("k", 9, ByteSink().u32(type).u64(length).u64(0)));
      EXPECT_NE(message.find("k length at byte 41: got " + std::to_string(length) + " elements"),
                std::string::npos)
          << message;
    }
  }
}

TEST(GgufMalformed, UnknownValueTypes) {
  EXPECT_EQ(error_of(GgufBuilder().raw_pair("k", 13, ByteSink().u64(0))),
            "load gguf: bad.gguf: k type at byte 33: got type 13, expected a type from 0 to 12");
  EXPECT_NE(error_of(GgufBuilder().raw_pair("k", 9, ByteSink().u32(99).u64(0))).find("got type 99"),
            std::string::npos);
  EXPECT_NE(
      error_of(GgufBuilder().raw_pair("k", 7, ByteSink().u8(2))).find("k value at byte 37: got 2"),
      std::string::npos);
  EXPECT_NE(error_of(GgufBuilder().raw_pair("k", 9, ByteSink().u32(10).u64(1).u64(kHuge)))
                .find("below 2^63"),
            std::string::npos);
}

// i: a file cut at every byte.
TEST(GgufMalformed, EveryCutIsAnError) {
  GgufBuilder builder = sample();
  const std::vector<std::byte> bytes = builder.build();
  ASSERT_TRUE(GgufFile::parse(bytes, "ok.gguf").has_value());
  for (size_t size = 0; size < bytes.size(); ++size) {
    // A copy of its own: a sanitizer sees a read past its end.
    const std::vector<std::byte> cut(bytes.begin(),
                                     bytes.begin() + static_cast<std::ptrdiff_t>(size));
    const std::string message = error_of(cut);
    EXPECT_EQ(message.rfind("load gguf: bad.gguf: ", 0), 0U) << size;
    EXPECT_NE(message.find(" at byte "), std::string::npos) << message;
  }
}

// Any single byte of the header changed: never a crash, and what still loads lies inside the file.
TEST(GgufMalformed, EveryChangedHeaderByteIsSafe) {
  GgufBuilder builder = sample();
  const std::vector<std::byte> bytes = builder.build();
  for (size_t i = 0; i < builder.header_bytes(); ++i) {
    for (int change : {0x01, 0x80, 0xFF}) {
      std::vector<std::byte> changed = bytes;
      changed[i] ^= static_cast<std::byte>(change);
      const Result<GgufFile> file = GgufFile::parse(changed, "f");
      if (!file) continue;
      for (const NamedTensor& tensor : file->tensors().all()) {
        ASSERT_LE(tensor.file_offset + tensor.view.size_bytes(), changed.size());
      }
    }
  }
}

// j: names twice.
TEST(GgufMalformed, DuplicateKeys) {
  EXPECT_EQ(error_of(GgufBuilder().u32("k", 1).u32("k", 1)),
            "load gguf: bad.gguf: key 1 at byte 41: got k a second time, expected each key once");
}

TEST(GgufMalformed, DuplicateTensors) {
  EXPECT_EQ(error_of(GgufBuilder().f32_tensor("t", {4}).f32_tensor("t", {4})),
            "load gguf: bad.gguf: tensor 1 name at byte 57: got t a second time, expected each "
            "name once");
}

// k: other magics and versions.
TEST(GgufMalformed, OtherMagicsAndVersions) {
  GgufBuilder swapped_magic;
  swapped_magic.magic = "FUGG";
  EXPECT_EQ(error_of(swapped_magic, ErrorCode::kUnsupported),
            "load gguf: bad.gguf: magic at byte 0: got a big-endian file (FUGG), expected "
            "little-endian GGUF");
  GgufBuilder swapped;
  swapped.version = 0x03000000;
  EXPECT_EQ(error_of(swapped, ErrorCode::kUnsupported),
            "load gguf: bad.gguf: version at byte 4: got a big-endian file (version 3), expected a "
            "little-endian file");
  for (uint32_t version : {0U, 1U, 4U, 99U}) {
    GgufBuilder builder;
    builder.version = version;
    EXPECT_EQ(error_of(builder, ErrorCode::kUnsupported),
              "load gguf: bad.gguf: version at byte 4: got " + std::to_string(version) +
                  ", expected 2 or 3");
  }
  GgufBuilder other;
  other.magic = "ggml";
  EXPECT_EQ(error_of(other),
            "load gguf: bad.gguf: magic at byte 0: got \"ggml\", expected \"GGUF\"");
}

// l: ranks.
TEST(GgufMalformed, RanksOutOfRange) {
  for (uint32_t rank : {0U, 5U, 0xFFFFFFFFU}) {
    BuilderTensor tensor = tensor_of({4, 1, 1, 1});
    tensor.rank = rank;
    EXPECT_EQ(error_of(GgufBuilder().tensor(tensor)),
              "load gguf: bad.gguf: tensor t rank at byte 33: got " + std::to_string(rank) +
                  ", expected 1 to 4");
  }
}

TEST(GgufMalformed, TypesThatAreUnknownAreNamed) {
  EXPECT_NE(error_of(GgufBuilder().tensor(tensor_of({256}, 10)), ErrorCode::kUnsupported)
                .find("tensor t type at byte 45: got Q2_K (type 10)"),
            std::string::npos);
  EXPECT_NE(error_of(GgufBuilder().tensor(tensor_of({256}, 99)), ErrorCode::kUnsupported)
                .find("got type 99"),
            std::string::npos);
  EXPECT_NE(error_of(GgufBuilder().tensor(tensor_of({32}, 4)), ErrorCode::kUnsupported)
                .find("got type 4"),
            std::string::npos);
}

TEST(GgufMalformed, RowsThatAreNoWholeBlocks) {
  EXPECT_NE(error_of(GgufBuilder().tensor(tensor_of({33}, 8)))
                .find("rows of 33 values, expected a multiple of 32"),
            std::string::npos);
  EXPECT_NE(
      error_of(GgufBuilder().tensor(tensor_of({128, 2}, 14))).find("a multiple of 256 for Q6_K"),
      std::string::npos);
}

TEST(GgufMalformed, FileNamesAreShownSafely) {
  const Result<GgufFile> file = GgufFile::parse({}, "a\nb.gguf");
  ASSERT_FALSE(file.has_value());
  EXPECT_EQ(
      file.error().message,
      "load gguf: a\\x0ab.gguf: magic at byte 0: got the end after 0 bytes, expected 4 bytes");
}

TEST(GgufMalformed, FilesThatAreNoFiles) {
  EXPECT_EQ(GgufFile::open(test::temp_path("none.gguf")).error().code, ErrorCode::kNotFound);
  EXPECT_EQ(GgufFile::open("/").error().code, ErrorCode::kIo);
}

}  // namespace
}  // namespace rill::format
