// SPDX-License-Identifier: Apache-2.0
#include "base/str_cat.h"

#include <gtest/gtest.h>

#include <array>
#include <cstdint>
#include <limits>
#include <string>

namespace rill {
namespace {

TEST(StrCat, JoinsTextAndNumbers) {
  EXPECT_EQ(cat("a", std::string("b"), std::string_view("c"), 'd', 1, -2, 3U, true, 0.5, 1.5F),
            "abcd1-23true0.51.5");
  EXPECT_EQ(cat(), "");
  EXPECT_EQ(cat(std::numeric_limits<int64_t>::min(), " ", std::numeric_limits<uint64_t>::max()),
            "-9223372036854775808 18446744073709551615");
  EXPECT_EQ(cat(static_cast<uint8_t>(65)), "65");
}

TEST(StrCat, JoinsSpans) {
  const std::array<size_t, 3> dims = {2048, 3, 1};
  EXPECT_EQ(cat("shape ", std::span<const size_t>(dims)), "shape [2048, 3, 1]");
  EXPECT_EQ(cat(std::span<const size_t>()), "[]");
}

TEST(Printable, EscapesWhatWouldBreakALine) {
  EXPECT_EQ(printable("a\nb\x1b[31m\x7f"), "a\\x0ab\\x1b[31m\\x7f");
  EXPECT_EQ(printable("\xc3\xa9\xff"), "\xc3\xa9\\xff");
  EXPECT_EQ(printable(std::string_view("a\0b", 3)), "a\\x00b");
}

TEST(Printable, CutsLongText) {
  EXPECT_EQ(printable("abcdef", 3), "abc...");
  EXPECT_EQ(printable("abc", 3), "abc");
  EXPECT_LT(printable(std::string(100000, 'x')).size(), 200U);
}

}  // namespace
}  // namespace rill
