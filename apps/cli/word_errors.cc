// SPDX-License-Identifier: Apache-2.0
#include "word_errors.h"

#include <algorithm>
#include <numeric>
#include <string>
#include <vector>

namespace rill::cli {
namespace {

std::vector<std::string> split_words(std::string_view text) {
  std::vector<std::string> words(1);
  for (const char c : text) {
    const char lower = c >= 'A' && c <= 'Z' ? static_cast<char>(c - 'A' + 'a') : c;
    const bool is_letter = (lower >= 'a' && lower <= 'z') || (c >= '0' && c <= '9') ||
                           static_cast<unsigned char>(c) >= 0x80;
    if (is_letter) {
      words.back() += lower;
    } else if ((c == ' ' || c == '-' || c == '\n' || c == '\t') && !words.back().empty()) {
      words.emplace_back();
    }
  }
  if (words.back().empty()) words.pop_back();
  return words;
}

}  // namespace

WordErrors count_word_errors(std::string_view true_text, std::string_view heard) {
  const std::vector<std::string> expected = split_words(true_text);
  const std::vector<std::string> got = split_words(heard);
  // distance[j]: from the words of `expected` so far to the first j words of `got`.
  std::vector<size_t> distance(got.size() + 1);
  std::iota(distance.begin(), distance.end(), size_t{0});
  for (size_t i = 0; i < expected.size(); ++i) {
    size_t diagonal = distance[0];
    distance[0] = i + 1;
    for (size_t j = 0; j < got.size(); ++j) {
      const size_t substituted = diagonal + (expected[i] == got[j] ? 0 : 1);
      diagonal = distance[j + 1];
      distance[j + 1] = std::min({substituted, distance[j] + 1, diagonal + 1});
    }
  }
  return {distance.back(), expected.size()};
}

}  // namespace rill::cli
