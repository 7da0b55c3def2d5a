// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer_builder.h"

#include "base/str_cat.h"

namespace rill::text {

Status TokenizerBuilder::add_merge(std::string_view pair) {
  // The byte alphabet has no space, so a well-formed pair has exactly one.
  const size_t space = pair.find(' ');
  if (space == std::string_view::npos || pair.find(' ', space + 1) != std::string_view::npos) {
    return Error{ErrorCode::kInvalidFormat,
                 cat("got \"", printable(pair), "\", expected two parts and one space")};
  }
  return add_merge(pair.substr(0, space), pair.substr(space + 1));
}

}  // namespace rill::text
