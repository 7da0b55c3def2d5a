// SPDX-License-Identifier: Apache-2.0
// CodePointSet, and how sets of characters and plain text become expressions over bytes: as UTF-8,
// or as the inside of a quoted string with its escapes.
#pragma once

#include <cstdint>
#include <initializer_list>
#include <string_view>
#include <utility>
#include <vector>

#include "text/grammar/grammar.h"

namespace rill::text::grammar {

/// Ranges of code points; surrogates are in no set.
class CodePointSet {
 public:
  using Range = std::pair<char32_t, char32_t>;  // both ends included

  CodePointSet() = default;
  CodePointSet(std::initializer_list<Range> ranges) : ranges_(ranges) { normalize(); }
  explicit CodePointSet(std::vector<Range> ranges) : ranges_(std::move(ranges)) { normalize(); }
  static CodePointSet all();

  void add(char32_t first, char32_t last);
  void add(const CodePointSet& other);
  [[nodiscard]] CodePointSet complement() const;
  [[nodiscard]] CodePointSet without(const CodePointSet& other) const;
  [[nodiscard]] bool contains(char32_t code_point) const;
  [[nodiscard]] bool is_empty() const { return ranges_.empty(); }
  /// Ascending, apart from each other.
  [[nodiscard]] const std::vector<Range>& ranges() const { return ranges_; }

 private:
  void normalize();

  std::vector<Range> ranges_;
};

/// Where characters stand.
enum class Quoting {
  kNone,          ///< plain UTF-8
  kJson,          ///< inside "..." of JSON
  kPythonSingle,  ///< inside '...' of Python
  kPythonDouble,  ///< inside "..." of Python
};

/// The characters that Quoting writes as escapes: quote, backslash, control characters.
[[nodiscard]] CodePointSet escaped_characters(Quoting quoting);

/// One character of the set, in its one spelling.
ExprId character(Grammar& grammar, const CodePointSet& set, Quoting quoting);

/// The text, in its one spelling. Ill-formed UTF-8 counts as U+FFFD.
ExprId quoted_text(Grammar& grammar, std::string_view text, Quoting quoting);

}  // namespace rill::text::grammar
