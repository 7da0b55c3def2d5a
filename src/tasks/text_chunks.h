// SPDX-License-Identifier: Apache-2.0
// Cutting long text into the pieces that are spoken one after the other. Chunks are pieces of the
// text with their inner white space untouched; only their ends are trimmed (of ASCII white space).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rill::tasks {

enum class TextChunkMode {
  kDefault,   ///< words packed into the budget; cut back to the last sentence or clause end
  kTagAware,  ///< whole sentences; [tags] and <tags> stay whole, a leading (control) is repeated
  kJapanese,  ///< code points; cut back to the last sentence or clause mark
  kEndline,   ///< a chunk for each sentence that ends its line; longer ones as kJapanese
};

/// default, tag_aware (tag-aware, tagaware), japanese (ja) or endline; nullopt for other names.
std::optional<TextChunkMode> text_chunk_mode_by_name(std::string_view name);

/// Splits text into chunks of at most max_code_points code points each, trimmed; empty text gives
/// none. A word longer than that stays whole, unless it is in a script without spaces; so does a
/// tag. Sentence marks are . ! ? and clause marks , ; : with their full-width forms.
/// As the reference implementation does, a chunk whose sentence mark ends exactly at the budget is
/// still cut back to the last clause mark in it.
/// Errors: kInvalidArgument for ill-formed UTF-8 and for max_code_points = 0.
/// Cost: linear in the text.
Result<std::vector<std::string>> split_text(std::string_view text, TextChunkMode mode,
                                            size_t max_code_points);

}  // namespace rill::tasks
