// SPDX-License-Identifier: Apache-2.0
// Utf8Stream: makes well-formed text of bytes that arrive in pieces cut anywhere.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace rill::text {

/// What becomes of a character whose last bytes are missing at the end.
enum class OpenCharacter {
  kReplace,  ///< U+FFFD, as a decoder of whole texts does
  kDrop,     ///< nothing
};

/// Holds back at most the 3 bytes of a character that may still be completed; ill-formed bytes
/// become U+FFFD at once, one for each maximal subpart (Unicode 3.9, WHATWG). The text does not
/// depend on where the bytes are cut.
class Utf8Stream {
 public:
  /// Appends the characters that `bytes` completes to `out`.
  void push(std::string_view bytes, std::string& out);
  [[nodiscard]] std::string push(std::string_view bytes) {
    std::string out;
    push(bytes, out);
    return out;
  }

  /// Ends the text: an open character becomes U+FFFD or is dropped. True if there was one.
  bool finish(OpenCharacter open_character, std::string& out);

  /// Bytes of the open character.
  [[nodiscard]] size_t held_bytes() const { return held_.size(); }

 private:
  std::string held_;
};

}  // namespace rill::text
