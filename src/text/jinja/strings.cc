// SPDX-License-Identifier: Apache-2.0
// Python's string functions over UTF-8.
#include <algorithm>

#include "base/utf8.h"
#include "text/jinja/python_text.h"
#include "text/unicode.h"

namespace rill::text::jinja {
namespace {

char32_t lower_of(char32_t c) {
  if ((c >= 'A' && c <= 'Z') || (c >= 0xC0 && c <= 0xDE && c != 0xD7)) return c + 0x20;
  if (c >= 0x391 && c <= 0x3A9 && c != 0x3A2) return c + 0x20;
  if (c >= 0x410 && c <= 0x42F) return c + 0x20;
  if (c >= 0x400 && c <= 0x40F) return c + 0x50;
  return c;
}

char32_t upper_of(char32_t c) {
  if ((c >= 'a' && c <= 'z') || (c >= 0xE0 && c <= 0xFE && c != 0xF7)) return c - 0x20;
  if (c >= 0x3B1 && c <= 0x3C9) return c == 0x3C2 ? 0x3A3 : c - 0x20;
  if (c >= 0x430 && c <= 0x44F) return c - 0x20;
  if (c >= 0x450 && c <= 0x45F) return c - 0x50;
  return c;
}

std::string map_text(std::string_view text, char32_t (*map)(char32_t)) {
  std::string out;
  for (size_t i = 0; i < text.size();) {
    const Utf8Char c = decode_utf8(text.substr(i));
    append_utf8(map(c.code_point), out);
    i += c.bytes;
  }
  return out;
}

std::vector<std::string_view> split_white_space(std::string_view text, int64_t max_splits) {
  std::vector<std::string_view> parts;
  text = strip(text, std::nullopt, StripSide::kLeft);
  while (!text.empty()) {
    if (max_splits >= 0 && static_cast<int64_t>(parts.size()) >= max_splits) {
      parts.push_back(text);
      break;
    }
    size_t end = 0;
    while (end < text.size()) {
      const Utf8Char c = decode_utf8(text.substr(end));
      if (is_python_space(c.code_point)) break;
      end += c.bytes;
    }
    parts.push_back(text.substr(0, end));
    text = strip(text.substr(end), std::nullopt, StripSide::kLeft);
  }
  return parts;
}

}  // namespace

bool is_python_space(char32_t c) { return is_white_space(c) || (c >= 0x1C && c <= 0x1F); }

std::vector<std::string_view> characters_of(std::string_view text) {
  std::vector<std::string_view> characters;
  for (size_t i = 0; i < text.size();) {
    const size_t bytes = decode_utf8(text.substr(i)).bytes;
    characters.push_back(text.substr(i, bytes));
    i += bytes;
  }
  return characters;
}

std::string_view strip(std::string_view text, const std::optional<std::string>& characters,
                       StripSide side) {
  const auto goes = [&characters](std::string_view c) {
    return characters ? characters->find(c) != std::string::npos
                      : is_python_space(decode_utf8(c).code_point);
  };
  while (side != StripSide::kRight && !text.empty()) {
    const size_t bytes = decode_utf8(text).bytes;
    if (!goes(text.substr(0, bytes))) break;
    text.remove_prefix(bytes);
  }
  while (side != StripSide::kLeft && !text.empty()) {
    size_t begin = text.size() - 1;
    while (begin > 0 && (static_cast<unsigned char>(text[begin]) & 0xC0) == 0x80) --begin;
    if (!goes(text.substr(begin))) break;
    text.remove_suffix(text.size() - begin);
  }
  return text;
}

std::vector<std::string_view> split_text(std::string_view text,
                                         const std::optional<std::string>& separator,
                                         int64_t max_splits) {
  if (!separator) return split_white_space(text, max_splits);
  std::vector<std::string_view> parts;
  size_t begin = 0;
  while (max_splits < 0 || static_cast<int64_t>(parts.size()) < max_splits) {
    const size_t at = text.find(*separator, begin);
    if (at == std::string_view::npos) break;
    parts.push_back(text.substr(begin, at - begin));
    begin = at + separator->size();
  }
  parts.push_back(text.substr(begin));
  return parts;
}

std::string replace_text(std::string_view text, std::string_view from, std::string_view to,
                         int64_t count) {
  std::string out;
  size_t begin = 0;
  for (int64_t done = 0; count < 0 || done < count; ++done) {
    size_t at = begin;
    if (!from.empty()) {
      at = text.find(from, begin);
      if (at == std::string_view::npos) break;
    } else if (done > 0) {
      // An empty text is found before every character and at the end.
      if (begin >= text.size()) break;
      at = begin + decode_utf8(text.substr(begin)).bytes;
    }
    out += text.substr(begin, at - begin);
    out += to;
    begin = at + from.size();
  }
  out += text.substr(begin);
  return out;
}

std::string to_lower(std::string_view text) { return map_text(text, lower_of); }
std::string to_upper(std::string_view text) { return map_text(text, upper_of); }

std::string capitalize(std::string_view text) {
  if (text.empty()) return {};
  const size_t first = decode_utf8(text).bytes;
  return to_upper(text.substr(0, first)) + to_lower(text.substr(first));
}

}  // namespace rill::text::jinja
