// SPDX-License-Identifier: Apache-2.0
#include "base/parse_number.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <limits>
#include <random>
#include <string>

namespace rill {
namespace {

TEST(ParseInt, TakesTheWholeRange) {
  EXPECT_EQ(parse_int("0"), 0);
  EXPECT_EQ(parse_int("-0"), 0);
  EXPECT_EQ(parse_int("9223372036854775807"), std::numeric_limits<int64_t>::max());
  EXPECT_EQ(parse_int("-9223372036854775808"), std::numeric_limits<int64_t>::min());
  EXPECT_EQ(parse_uint("18446744073709551615"), std::numeric_limits<uint64_t>::max());
}

TEST(ParseInt, RefusesOverflow) {
  EXPECT_FALSE(parse_int("9223372036854775808"));
  EXPECT_FALSE(parse_int("-9223372036854775809"));
  EXPECT_FALSE(parse_uint("18446744073709551616"));
  EXPECT_FALSE(parse_uint("99999999999999999999999999"));
}

TEST(ParseInt, RefusesAnythingButDigits) {
  for (const char* text : {"", "-", "+1", " 1", "1 ", "1.0", "0x10", "1e3", "--1", "1_000"}) {
    EXPECT_FALSE(parse_int(text)) << text;
  }
  EXPECT_FALSE(parse_uint("-1"));
}

TEST(ParseDouble, TakesJsonFormsAndABarePoint) {
  EXPECT_EQ(parse_double("1.5"), 1.5);
  EXPECT_EQ(parse_double("+.5"), 0.5);
  EXPECT_EQ(parse_double("5."), 5.0);
  EXPECT_EQ(parse_double("-12e-1"), -1.2);
  EXPECT_EQ(parse_double("1E+2"), 100.0);
  EXPECT_EQ(parse_double("0e999999999999"), 0.0);
  EXPECT_TRUE(std::signbit(*parse_double("-0")));
}

TEST(ParseDouble, RefusesOtherText) {
  for (const char* text : {"", ".", "-", "+", "e5", "1e", "1e+", "0x1p3", "inf", "nan", "Infinity",
                           "1.2.3", "1,5", " 1", "1 ", "1f", "--1"}) {
    EXPECT_FALSE(parse_double(text)) << text;
  }
}

TEST(ParseDouble, RefusesWhatIsNotFinite) {
  EXPECT_FALSE(parse_double("1e309"));
  EXPECT_FALSE(parse_double("-1e999"));
  EXPECT_FALSE(parse_double("1e99999999999999999999"));
  EXPECT_FALSE(parse_double("1.7976931348623159e308"));
  EXPECT_EQ(parse_double("1.7976931348623157e308"), std::numeric_limits<double>::max());
}

TEST(ParseDouble, TinyNumbersBecomeSubnormalsOrZero) {
  EXPECT_EQ(parse_double("4.9406564584124654e-324"), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(parse_double("2.4703282292062327e-324"), 0.0);  // just below half of it
  EXPECT_EQ(parse_double("2.4703282292062329e-324"), std::numeric_limits<double>::denorm_min());
  EXPECT_EQ(parse_double("2.2250738585072011e-308"),
            std::strtod("2.2250738585072011e-308", nullptr));
  EXPECT_EQ(parse_double("1e-999999999"), 0.0);
}

// 2^53 + 1 lies half-way; one more digit, however far to the right, decides.
TEST(ParseDouble, RoundsTiesToEvenAndSeesFarDigits) {
  EXPECT_EQ(parse_double("9007199254740993"), 9007199254740992.0);
  EXPECT_EQ(parse_double("9007199254740995"), 9007199254740996.0);
  std::string text = "9007199254740993.";
  text += std::string(2000, '0');
  EXPECT_EQ(parse_double(text), 9007199254740992.0);
  EXPECT_EQ(parse_double(text + "1"), 9007199254740994.0);
}

TEST(ParseDouble, EqualsStrtodOnRandomNumbers) {
  std::mt19937_64 random(7);
  for (int i = 0; i < 20000; ++i) {
    const uint64_t bits = random();
    double value;
    std::memcpy(&value, &bits, sizeof value);
    if (!std::isfinite(value)) continue;
    char text[64];
    std::snprintf(text, sizeof text, "%.*e", static_cast<int>(random() % 25), value);
    const double expected = std::strtod(text, nullptr);
    if (!std::isfinite(expected)) continue;
    EXPECT_EQ(parse_double(text), expected) << text;
  }
}

TEST(ParseBool, KnowsItsWords) {
  for (const char* text : {"true", "1", "on", "YES", "True"})
    EXPECT_EQ(parse_bool(text), true) << text;
  for (const char* text : {"false", "0", "Off", "no"}) EXPECT_EQ(parse_bool(text), false) << text;
  for (const char* text : {"", "2", "tru", "truee", "yes "}) EXPECT_FALSE(parse_bool(text)) << text;
}

}  // namespace
}  // namespace rill
