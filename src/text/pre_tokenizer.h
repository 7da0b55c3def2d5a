// SPDX-License-Identifier: Apache-2.0
// The pre-tokenizer of the LFM2 family: cuts text into the pieces inside which byte-level BPE
// merges. It is one regular expression, written as a state machine over code points that looks at
// each of them a bounded number of times:
//   (?i:'s|'t|'re|'ve|'m|'ll|'d)|[^\r\n\p{L}\p{N}]?\p{L}+|\p{N}{1,3}|
//   ?[^\s\p{L}\p{N}]+[\r\n]*|\s*[\r\n]+|\s+(?!\S)|\s+
#pragma once

#include <cstddef>
#include <string_view>
#include <vector>

namespace rill::text {

/// True for the two ways in which published tokenizers of the family write the expression; they
/// split alike.
[[nodiscard]] bool is_known_split_regex(std::string_view regex);

/// End of the piece that starts at `begin` (a byte offset < text.size() on a character border).
/// text must be well-formed UTF-8; its end is the end of the text for the look-ahead.
[[nodiscard]] size_t piece_end(std::string_view text, size_t begin);

/// All pieces of well-formed UTF-8; joined they are the text.
[[nodiscard]] std::vector<std::string_view> split_pieces(std::string_view text);

}  // namespace rill::text
