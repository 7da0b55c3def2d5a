// SPDX-License-Identifier: Apache-2.0
#include "text/grammar/code_points.h"

#include <algorithm>
#include <string>

#include "base/utf8.h"

namespace rill::text::grammar {
namespace {

constexpr char32_t kLast = 0x10FFFF;

/// Sequences of byte ranges for a range whose ends take equally many bytes.
void add_utf8_range(Grammar& grammar, char32_t first, char32_t last, std::vector<ExprId>& options) {
  std::string low;
  std::string high;
  append_utf8(first, low);
  append_utf8(last, high);
  // Where the ends differ in a leading byte, all bytes behind it must run over their whole range.
  for (size_t i = 1; i < low.size(); ++i) {
    const char32_t mask = (char32_t{1} << (6 * i)) - 1;
    if ((first & ~mask) == (last & ~mask)) continue;
    if ((first & mask) != 0) {
      add_utf8_range(grammar, first, first | mask, options);
      add_utf8_range(grammar, (first | mask) + 1, last, options);
      return;
    }
    if ((last & mask) != mask) {
      add_utf8_range(grammar, first, (last & ~mask) - 1, options);
      add_utf8_range(grammar, last & ~mask, last, options);
      return;
    }
  }
  std::vector<ExprId> parts;
  for (size_t i = 0; i < low.size(); ++i) {
    parts.push_back(
        grammar.byte_range(static_cast<uint8_t>(low[i]), static_cast<uint8_t>(high[i])));
  }
  options.push_back(grammar.sequence(parts));
}

ExprId plain_character(Grammar& grammar, const CodePointSet& set) {
  std::vector<ExprId> options;
  ByteSet ascii;
  for (const auto& [first, last] : set.ranges()) {
    for (char32_t c = first; c <= std::min<char32_t>(last, 0x7F); ++c)
      ascii.add(static_cast<uint8_t>(c));
    static constexpr CodePointSet::Range kLengths[] = {
        {0x80, 0x7FF}, {0x800, 0xFFFF}, {0x10000, kLast}};
    for (const auto& [low, high] : kLengths) {
      const char32_t from = std::max(first, low);
      const char32_t to = std::min(last, high);
      if (from <= to) add_utf8_range(grammar, from, to, options);
    }
  }
  if (!ascii.is_empty()) options.push_back(grammar.bytes(ascii));
  return grammar.choice(options);
}

/// The spelling of a character of escaped_characters().
std::string escape_of(char32_t c, Quoting quoting) {
  static constexpr char kHex[] = "0123456789abcdef";
  switch (c) {
    case '"':
    case '\'':
    case '\\':
      return {'\\', static_cast<char>(c)};
    case '\n':
      return "\\n";
    case '\r':
      return "\\r";
    case '\t':
      return "\\t";
    default:
      break;
  }
  if (quoting == Quoting::kJson && c == '\b') return "\\b";
  if (quoting == Quoting::kJson && c == '\f') return "\\f";
  const std::string digits{kHex[c / 16 % 16], kHex[c % 16]};
  return (quoting == Quoting::kJson ? "\\u00" : "\\x") + digits;
}

}  // namespace

CodePointSet CodePointSet::all() { return {{0, kLast}}; }

void CodePointSet::normalize() {
  std::sort(ranges_.begin(), ranges_.end());
  std::vector<Range> merged;
  const auto append = [&](char32_t first, char32_t last) {
    if (first > last) return;
    if (!merged.empty() && first <= merged.back().second + 1) {
      merged.back().second = std::max(merged.back().second, last);
    } else {
      merged.emplace_back(first, last);
    }
  };
  for (const auto& [first, last] : ranges_) {
    append(first, std::min<char32_t>(last, 0xD7FF));
    append(std::max<char32_t>(first, 0xE000), std::min(last, kLast));
  }
  ranges_ = std::move(merged);
}

void CodePointSet::add(char32_t first, char32_t last) {
  ranges_.emplace_back(first, last);
  normalize();
}

void CodePointSet::add(const CodePointSet& other) {
  ranges_.insert(ranges_.end(), other.ranges_.begin(), other.ranges_.end());
  normalize();
}

CodePointSet CodePointSet::complement() const {
  CodePointSet out;
  char32_t next = 0;
  for (const auto& [first, last] : ranges_) {
    if (next < first) out.ranges_.emplace_back(next, first - 1);
    next = last + 1;
  }
  if (next <= kLast) out.ranges_.emplace_back(next, kLast);
  out.normalize();
  return out;
}

CodePointSet CodePointSet::without(const CodePointSet& other) const {
  CodePointSet gone = complement();
  gone.add(other);
  return gone.complement();
}

bool CodePointSet::contains(char32_t code_point) const {
  return std::any_of(ranges_.begin(), ranges_.end(), [&](const Range& range) {
    return range.first <= code_point && code_point <= range.second;
  });
}

CodePointSet escaped_characters(Quoting quoting) {
  if (quoting == Quoting::kNone) return {};
  const char32_t quote = quoting == Quoting::kPythonSingle ? '\'' : '"';
  return {{0, 0x1F}, {quote, quote}, {'\\', '\\'}};
}

ExprId character(Grammar& grammar, const CodePointSet& set, Quoting quoting) {
  const CodePointSet escaped = escaped_characters(quoting);
  std::vector<ExprId> options{plain_character(grammar, set.without(escaped))};
  for (const auto& [first, last] : escaped.ranges()) {
    for (char32_t c = first; c <= last; ++c) {
      if (set.contains(c)) options.push_back(grammar.literal(escape_of(c, quoting)));
    }
  }
  return grammar.choice(options);
}

ExprId quoted_text(Grammar& grammar, std::string_view text, Quoting quoting) {
  const CodePointSet escaped = escaped_characters(quoting);
  std::string out;
  while (!text.empty()) {
    const Utf8Char next = decode_utf8(text);
    if (escaped.contains(next.code_point)) {
      out += escape_of(next.code_point, quoting);
    } else {
      append_utf8(next.code_point, out);
    }
    text.remove_prefix(next.bytes);
  }
  return grammar.literal(out);
}

}  // namespace rill::text::grammar
