// SPDX-License-Identifier: Apache-2.0
// UTF-8 decoding and encoding, with ill-formed input handled by the "maximal subpart" rule
// (Unicode 15, section 3.9; WHATWG Encoding): one U+FFFD for each maximal subpart.
#pragma once

#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>

namespace rill {

inline constexpr char32_t kReplacementChar = 0xFFFD;

/// One decoding step.
struct Utf8Char {
  char32_t code_point = kReplacementChar;
  size_t bytes = 0;    ///< bytes consumed; for ill-formed input the length of the maximal subpart
  bool valid = false;  ///< false: code_point is U+FFFD
  bool incomplete = false;  ///< ill-formed only because the text ends inside a character
};

/// Decodes the character at the start of text. Empty text gives bytes = 0.
[[nodiscard]] Utf8Char decode_utf8(std::string_view text);

/// Appends the UTF-8 form of a code point (surrogates and values past U+10FFFF become U+FFFD).
void append_utf8(char32_t code_point, std::string& out);

[[nodiscard]] bool is_valid_utf8(std::string_view text);

/// Copy of text in which every ill-formed part is U+FFFD.
[[nodiscard]] std::string to_valid_utf8(std::string_view text);

/// Number of code points (ill-formed parts count as one each).
[[nodiscard]] size_t count_code_points(std::string_view text);

}  // namespace rill
