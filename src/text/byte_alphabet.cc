// SPDX-License-Identifier: Apache-2.0
#include "text/byte_alphabet.h"

#include <array>

#include "base/utf8.h"

namespace rill::text {
namespace {

constexpr bool stands_for_itself(unsigned byte) {
  return (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
}

/// The bytes that U+0100, U+0101, ... stand for.
constexpr std::array<uint8_t, 68> make_shifted_bytes() {
  std::array<uint8_t, 68> shifted = {};
  size_t count = 0;
  for (unsigned byte = 0; byte < 256; ++byte) {
    if (!stands_for_itself(byte)) shifted[count++] = static_cast<uint8_t>(byte);
  }
  return shifted;
}

constexpr std::array<uint8_t, 68> kShiftedBytes = make_shifted_bytes();

}  // namespace

std::optional<uint8_t> alphabet_byte(char32_t code_point) {
  if (code_point < 0x100) {
    if (!stands_for_itself(static_cast<unsigned>(code_point))) return std::nullopt;
    return static_cast<uint8_t>(code_point);
  }
  const size_t index = code_point - 0x100;
  if (index >= kShiftedBytes.size()) return std::nullopt;
  return kShiftedBytes[index];
}

std::optional<std::string> alphabet_to_bytes(std::string_view entry) {
  std::string bytes;
  for (size_t i = 0; i < entry.size();) {
    const Utf8Char c = decode_utf8(entry.substr(i));
    const std::optional<uint8_t> byte = c.valid ? alphabet_byte(c.code_point) : std::nullopt;
    if (!byte) return std::nullopt;
    bytes += static_cast<char>(*byte);
    i += c.bytes;
  }
  return bytes;
}

}  // namespace rill::text
