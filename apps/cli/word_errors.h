// SPDX-License-Identifier: Apache-2.0
// Word error rate of a transcript.
#pragma once

#include <cstddef>
#include <string_view>

namespace rill::cli {

struct WordErrors {
  size_t errors =
      0;  ///< words substituted, left out or added: the Levenshtein distance between the word lists
  size_t num_words = 0;  ///< words of the true text
};

/// Compares words in lower case, without punctuation; a hyphen separates words.
WordErrors count_word_errors(std::string_view true_text, std::string_view heard);

}  // namespace rill::cli
