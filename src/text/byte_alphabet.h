// SPDX-License-Identifier: Apache-2.0
// The printable alphabet in which byte-level BPE vocabularies are written: every byte has one code
// point. The bytes 21..7E, A1..AC and AE..FF stand for themselves (as code points); the other 68
// take U+0100, U+0101, ... in order.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>

namespace rill::text {

/// The byte that a code point stands for, if it belongs to the alphabet.
[[nodiscard]] std::optional<uint8_t> alphabet_byte(char32_t code_point);

/// The bytes that a vocabulary entry stands for; nothing if a character is outside the alphabet.
[[nodiscard]] std::optional<std::string> alphabet_to_bytes(std::string_view entry);

}  // namespace rill::text
