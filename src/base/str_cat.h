// SPDX-License-Identifier: Apache-2.0
// cat(...): joins text and numbers into one string; the way that error messages are built.
//   cat("tensor ", name, ": got ", got, " rows, expected ", want)
#pragma once

#include <concepts>
#include <span>
#include <string>
#include <string_view>

namespace rill {

void append_piece(std::string_view text, std::string& out);
void append_piece(char c, std::string& out);
void append_piece(unsigned long long value, std::string& out);
void append_piece(long long value, std::string& out);
void append_piece(double value, std::string& out);  // shortest form of at most 9 digits
inline void append_piece(const char* text, std::string& out) {
  append_piece(std::string_view(text), out);
}
inline void append_piece(const std::string& text, std::string& out) {
  append_piece(std::string_view(text), out);
}
inline void append_piece(bool value, std::string& out) {
  append_piece(value ? "true" : "false", out);
}
template <std::signed_integral T>
void append_piece(T value, std::string& out) {
  append_piece(static_cast<long long>(value), out);
}
template <std::unsigned_integral T>
void append_piece(T value, std::string& out) {
  append_piece(static_cast<unsigned long long>(value), out);
}
inline void append_piece(float value, std::string& out) {
  append_piece(static_cast<double>(value), out);
}
/// Prints "[a, b, c]".
template <typename T>
void append_piece(std::span<T> values, std::string& out) {
  out += '[';
  for (size_t i = 0; i < values.size(); ++i) {
    if (i > 0) out += ", ";
    append_piece(values[i], out);
  }
  out += ']';
}

template <typename... Pieces>
[[nodiscard]] std::string cat(const Pieces&... pieces) {
  std::string out;
  (append_piece(pieces, out), ...);
  return out;
}

/// Text fit for a one-line message: control bytes and ill-formed UTF-8 are escaped as \xNN, and
/// anything past max_bytes is cut with "...". For showing untrusted names.
[[nodiscard]] std::string printable(std::string_view text, size_t max_bytes = 100);

}  // namespace rill
