// SPDX-License-Identifier: Apache-2.0
#include "tasks/text_code_points.h"

#include <algorithm>
#include <iterator>
#include <utility>

#include "base/str_cat.h"
#include "base/utf8.h"
#include "text/unicode.h"

namespace rill::tasks {
namespace {

std::string_view trim(std::string_view text) {
  while (!text.empty() && is_space(static_cast<unsigned char>(text.front()))) text.remove_prefix(1);
  while (!text.empty() && is_space(static_cast<unsigned char>(text.back()))) text.remove_suffix(1);
  return text;
}

}  // namespace

Result<CodePoints> decode_trimmed(std::string_view all) {
  const std::string_view text = trim(all);
  CodePoints decoded{.bytes = text, .chars = {}, .begins = {}};
  size_t at = 0;
  while (at < text.size()) {
    const Utf8Char c = decode_utf8(text.substr(at));
    if (!c.valid) {
      return Error{ErrorCode::kInvalidArgument,
                   cat("split text: byte ", static_cast<size_t>(text.data() - all.data()) + at,
                       " is not valid UTF-8")};
    }
    decoded.chars += c.code_point;
    decoded.begins.push_back(at);
    at += c.bytes;
  }
  decoded.begins.push_back(at);
  return decoded;
}

bool is_space(char32_t c) { return c == ' ' || (c >= '\t' && c <= '\r'); }

bool is_sentence_mark(char32_t c) {
  return c == '.' || c == '!' || c == '?' || c == 0x3002 || c == 0xFF01 || c == 0xFF1F;
}

bool is_clause_mark(char32_t c) {
  return c == ',' || c == ';' || c == ':' || c == 0xFF0C || c == 0x3001 || c == 0xFF1B ||
         c == 0xFF1A;
}

bool is_continuation(char32_t c) { return c == 0x200C || c == 0x200D || text::is_mark(c); }

bool is_spaceless(char32_t c) {
  static constexpr std::pair<char32_t, char32_t> kRanges[] = {
      {0x0E00, 0x0EFF},    // Thai, Lao
      {0x1000, 0x109F},    // Myanmar
      {0x1100, 0x11FF},    // Hangul jamo
      {0x1780, 0x17FF},    // Khmer
      {0x2E80, 0x9FFF},    // CJK radicals, punctuation, kana, bopomofo, ideographs
      {0xA960, 0xA97F},    // Hangul jamo extended A
      {0xAC00, 0xD7FF},    // Hangul syllables
      {0xF900, 0xFAFF},    // compatibility ideographs
      {0xFE30, 0xFE4F},    // vertical forms
      {0xFF00, 0xFFEF},    // full-width and half-width forms
      {0x1B000, 0x1B16F},  // kana supplements
      {0x20000, 0x3FFFF},  // more ideographs
  };
  return std::any_of(std::begin(kRanges), std::end(kRanges),
                     [c](const auto& range) { return c >= range.first && c <= range.second; });
}

}  // namespace rill::tasks
