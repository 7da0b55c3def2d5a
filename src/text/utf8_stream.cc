// SPDX-License-Identifier: Apache-2.0
#include "text/utf8_stream.h"

#include "base/utf8.h"

namespace rill::text {

void Utf8Stream::push(std::string_view bytes, std::string& out) {
  std::string joined;
  if (!held_.empty()) {
    joined = held_ + std::string(bytes);
    held_.clear();
    bytes = joined;
  }
  while (!bytes.empty()) {
    const Utf8Char c = decode_utf8(bytes);
    if (c.incomplete) {
      held_ = bytes;
      return;
    }
    append_utf8(c.code_point, out);
    bytes.remove_prefix(c.bytes);
  }
}

bool Utf8Stream::finish(OpenCharacter open_character, std::string& out) {
  const bool was_open = !held_.empty();
  if (was_open && open_character == OpenCharacter::kReplace) append_utf8(kReplacementChar, out);
  held_.clear();
  return was_open;
}

}  // namespace rill::text
