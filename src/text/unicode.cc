// SPDX-License-Identifier: Apache-2.0
#include "text/unicode.h"

#include <algorithm>
#include <iterator>

namespace rill::text {
namespace {

struct CodePointRange {
  char32_t first;
  char32_t last;
};

#include "text/unicode_tables.inc"

template <size_t N>
bool contains(const CodePointRange (&ranges)[N], char32_t c) {
  const auto* after =
      std::upper_bound(std::begin(ranges), std::end(ranges), c,
                       [](char32_t value, const CodePointRange& r) { return value < r.first; });
  return after != std::begin(ranges) && c <= (after - 1)->last;
}

bool is_ascii_letter(char32_t c) { return (c | 0x20u) >= 'a' && (c | 0x20u) <= 'z'; }

}  // namespace

bool is_letter(char32_t c) { return c < 0x80 ? is_ascii_letter(c) : contains(kLetterRanges, c); }

bool is_number(char32_t c) { return c < 0x80 ? c >= '0' && c <= '9' : contains(kNumberRanges, c); }

bool is_white_space(char32_t c) {
  if (c < 0x80) return c == ' ' || (c >= 0x09 && c <= 0x0D);
  return contains(kWhiteSpaceRanges, c);
}

bool is_mark(char32_t c) { return c >= 0x300 && contains(kMarkRanges, c); }

bool is_printable(char32_t c) { return !contains(kUnprintableRanges, c); }

}  // namespace rill::text
