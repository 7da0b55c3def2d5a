// SPDX-License-Identifier: Apache-2.0
#include "format/metadata.h"

#include <gtest/gtest.h>

#include <limits>

namespace rill::format {
namespace {

Metadata sample() {
  Metadata metadata("m.gguf");
  metadata.add("u32", metadata_u32(7));
  metadata.add("u64", metadata_u64(uint64_t{1} << 32));
  metadata.add("i32", metadata_i32(-1));
  metadata.add("small", metadata_i32(5));
  metadata.add("f32", metadata_f32(0.5F));
  metadata.add("nan", metadata_f32(std::numeric_limits<float>::quiet_NaN()));
  metadata.add("bool", metadata_bool(true));
  metadata.add("string", metadata_string("text"));
  metadata.add("strings", metadata_strings({"a"}));
  metadata.add("ints", metadata_i32s({1, 2}));
  return metadata;
}

TEST(Metadata, GettersConvertWhatFits) {
  const Metadata metadata = sample();
  EXPECT_EQ(*metadata.get_u32("u32"), 7U);
  EXPECT_EQ(*metadata.get_u32("small"), 5U);
  EXPECT_EQ(*metadata.get_u64("u64"), uint64_t{1} << 32);
  EXPECT_EQ(*metadata.get_float("f32"), 0.5);
  EXPECT_TRUE(*metadata.get_bool("bool"));
  EXPECT_EQ(*metadata.get_string("string"), "text");
  EXPECT_EQ(metadata.get_strings("strings")->size(), 1U);
  EXPECT_EQ(*metadata.get_ints("ints"), (std::vector<int64_t>{1, 2}));
}

TEST(Metadata, WrongTypesNameKeyAndBothTypes) {
  const Metadata metadata = sample();
  EXPECT_EQ(metadata.get_u32("string").error().message,
            "read metadata: m.gguf: string: got string, expected an integer in [0, 2^32)");
  EXPECT_EQ(metadata.get_string("ints").error().message,
            "read metadata: m.gguf: ints: got array of i32, expected string");
  EXPECT_EQ(metadata.get_float("u32").error().code, ErrorCode::kInvalidFormat);
  EXPECT_EQ(metadata.get_bool("u32").error().code, ErrorCode::kInvalidFormat);
  EXPECT_EQ(metadata.get_ints("strings").error().code, ErrorCode::kInvalidFormat);
  EXPECT_EQ(metadata.get_strings("string").error().code, ErrorCode::kInvalidFormat);
}

TEST(Metadata, IntegersOutOfRangeAreNamed) {
  const Metadata metadata = sample();
  EXPECT_EQ(metadata.get_u32("u64").error().message,
            "read metadata: m.gguf: u64: got 4294967296, expected an integer in [0, 2^32)");
  EXPECT_EQ(metadata.get_u64("i32").error().message,
            "read metadata: m.gguf: i32: got -1, expected an integer in [0, 2^64)");
  EXPECT_EQ(metadata.get_float("nan").error().message,
            "read metadata: m.gguf: nan: got nan, expected a finite number");
}

TEST(Metadata, MissingKeysAreNotFoundOrTheDefault) {
  const Metadata metadata = sample();
  EXPECT_EQ(metadata.get_u32("none").error().code, ErrorCode::kNotFound);
  EXPECT_EQ(metadata.get_u32("none").error().message,
            "read metadata: m.gguf: none: got no such key, expected an integer in [0, 2^32)");
  EXPECT_EQ(*metadata.get_u32_or("none", 3), 3U);
  EXPECT_EQ(*metadata.get_float_or("none", 1.5), 1.5);
  EXPECT_EQ(*metadata.get_bool_or("none", true), true);
  EXPECT_EQ(*metadata.get_string_or("none", "d"), "d");
}

TEST(Metadata, ADefaultDoesNotHideAWrongType) {
  const Metadata metadata = sample();
  EXPECT_FALSE(metadata.get_u32_or("string", 3).has_value());
  EXPECT_FALSE(metadata.get_float_or("string", 3).has_value());
  EXPECT_FALSE(metadata.get_bool_or("string", true).has_value());
  EXPECT_FALSE(metadata.get_string_or("u32", "d").has_value());
}

TEST(Metadata, KeysAreUniqueAndOrdered) {
  Metadata metadata;
  EXPECT_TRUE(metadata.add("b", metadata_u32(1)));
  EXPECT_TRUE(metadata.add("a", metadata_u32(2)));
  EXPECT_FALSE(metadata.add("b", metadata_u32(3)));
  EXPECT_EQ(*metadata.get_u32("b"), 1U);
  metadata.set("b", metadata_u32(4));
  metadata.set("c", metadata_u32(5));
  EXPECT_EQ(*metadata.get_u32("b"), 4U);
  ASSERT_EQ(metadata.all().size(), 3U);
  EXPECT_EQ(metadata.all()[0].first, "b");
  EXPECT_EQ(metadata.all()[2].first, "c");
}

}  // namespace
}  // namespace rill::format
