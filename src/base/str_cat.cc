// SPDX-License-Identifier: Apache-2.0
#include "base/str_cat.h"

#include <cstdio>

#include "base/utf8.h"

namespace rill {

void append_piece(std::string_view text, std::string& out) { out.append(text); }

void append_piece(char c, std::string& out) { out += c; }

void append_piece(unsigned long long value, std::string& out) {
  char digits[24];
  const int n = std::snprintf(digits, sizeof digits, "%llu", value);
  out.append(digits, static_cast<size_t>(n));
}

void append_piece(long long value, std::string& out) {
  char digits[24];
  const int n = std::snprintf(digits, sizeof digits, "%lld", value);
  out.append(digits, static_cast<size_t>(n));
}

void append_piece(double value, std::string& out) {
  char digits[40];
  const int n = std::snprintf(digits, sizeof digits, "%.9g", value);
  out.append(digits, static_cast<size_t>(n));
}

std::string printable(std::string_view text, size_t max_bytes) {
  std::string out;
  size_t i = 0;
  while (i < text.size()) {
    if (out.size() >= max_bytes) return out + "...";
    const Utf8Char c = decode_utf8(text.substr(i));
    const auto byte = static_cast<unsigned char>(text[i]);
    if (!c.valid || byte < 0x20 || byte == 0x7f) {
      char escaped[8];
      std::snprintf(escaped, sizeof escaped, "\\x%02x", byte);
      out += escaped;
      ++i;
    } else {
      out.append(text.substr(i, c.bytes));
      i += c.bytes;
    }
  }
  return out;
}

}  // namespace rill
