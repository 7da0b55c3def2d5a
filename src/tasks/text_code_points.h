// SPDX-License-Identifier: Apache-2.0
// Text as code points that know their bytes, and the classes of them that the splitting of long
// text asks for.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rill::tasks {

/// Code points [begin, end) of a text.
struct Piece {
  size_t begin = 0;
  size_t end = 0;
  [[nodiscard]] size_t size() const { return end - begin; }
};

using Pieces = std::vector<Piece>;

/// Decoded text.
struct CodePoints {
  std::string_view bytes;  ///< not owned
  std::u32string chars;
  std::vector<size_t> begins;  ///< the byte at which each code point starts, and the end

  [[nodiscard]] std::string_view substr(Piece piece) const {
    return bytes.substr(begins[piece.begin], begins[piece.end] - begins[piece.begin]);
  }
};

/// Decodes text without the ASCII white space at its ends.
/// Errors: kInvalidArgument for ill-formed UTF-8.
Result<CodePoints> decode_trimmed(std::string_view text);

[[nodiscard]] bool is_space(char32_t c);          ///< ASCII white space
[[nodiscard]] bool is_sentence_mark(char32_t c);  ///< . ! ? and their full-width forms
[[nodiscard]] bool is_clause_mark(char32_t c);    ///< , ; : and their full-width forms
/// What belongs to the character before it: combining marks, variation selectors and joiners.
[[nodiscard]] bool is_continuation(char32_t c);
/// Scripts that are written without spaces, and Hangul, which may be.
[[nodiscard]] bool is_spaceless(char32_t c);

}  // namespace rill::tasks
