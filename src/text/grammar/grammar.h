// SPDX-License-Identifier: Apache-2.0
// Grammar: a set of byte strings, as rules over expressions. The front ends (gbnf.h, regex.h,
// json_schema.h, tool_calls.h) build one, the automaton (automaton.h) runs it. Repetitions keep
// their bounds instead of being written out, so a{1000} is one node.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <initializer_list>
#include <limits>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"

namespace rill::text::grammar {

/// A set of byte values.
class ByteSet {
 public:
  void add(uint8_t byte) { words_[byte / 64] |= uint64_t{1} << (byte % 64); }
  void add_range(uint8_t first, uint8_t last) {
    for (unsigned byte = first; byte <= last; ++byte) add(static_cast<uint8_t>(byte));
  }
  [[nodiscard]] bool contains(uint8_t byte) const {
    return (words_[byte / 64] >> (byte % 64) & 1) != 0;
  }
  [[nodiscard]] bool is_empty() const { return words_ == std::array<uint64_t, 4>{}; }
  auto operator<=>(const ByteSet&) const = default;

 private:
  std::array<uint64_t, 4> words_{};
};

using ExprId = uint32_t;
using RuleId = uint32_t;

inline constexpr uint32_t kUnlimited = std::numeric_limits<uint32_t>::max();

/// One expression. What a, b and c mean depends on the kind.
struct Expr {
  enum class Kind : uint8_t {
    kBytes,     ///< one byte of byte_sets()[a]
    kMarker,    ///< the token written markers()[a], which is no text
    kSequence,  ///< children(): [a, a + b), one after the other
    kChoice,    ///< children(): [a, a + b), one of them
    kRepeat,    ///< expression a, b to c times
    kRule,      ///< the body of rule a
  };
  Kind kind = Kind::kSequence;
  bool is_nullable = false;    ///< matches the empty string
  bool is_productive = false;  ///< matches anything at all
  uint32_t a = 0;
  uint32_t b = 0;
  uint32_t c = 0;
};

/// Build expressions bottom up, then finish(); from there on immutable and safe for any thread.
class Grammar {
 public:
  static constexpr size_t kMaxExprs = size_t{1} << 18;  ///< a bound for hostile input

  Grammar();

  ExprId bytes(const ByteSet& set);
  ExprId byte(char value);
  ExprId byte_range(uint8_t first, uint8_t last);
  ExprId literal(std::string_view text);
  /// A control token, by its text ("<|tool_call_start|>").
  ExprId marker(std::string_view token);
  ExprId sequence(std::span<const ExprId> parts);
  ExprId sequence(std::initializer_list<ExprId> parts) {
    return sequence(std::span(parts.begin(), parts.size()));
  }
  ExprId choice(std::span<const ExprId> options);
  ExprId choice(std::initializer_list<ExprId> options) {
    return choice(std::span(options.begin(), options.size()));
  }
  ExprId repeat(ExprId part, uint32_t min, uint32_t max);
  ExprId optional(ExprId part) { return repeat(part, 0, 1); }
  ExprId empty() { return sequence(std::span<const ExprId>()); }
  ExprId nothing() { return choice(std::span<const ExprId>()); }

  /// A rule whose body may come later (set_rule), so that rules may use each other.
  RuleId add_rule(std::string name);
  void set_rule(RuleId rule, ExprId body) { rules_[rule].body = body; }
  ExprId rule(RuleId rule);

  /// A JSON text in which a repeated key must not come up (json_keys.h).
  void set_unique_keys() { has_unique_keys_ = true; }
  [[nodiscard]] bool has_unique_keys() const { return has_unique_keys_; }

  /// Sets the start and checks the whole. Errors: kUnsupported (left recursion, naming the rule;
  /// too large), kInvalidArgument (nothing matches).
  Status finish(ExprId root);

  [[nodiscard]] ExprId root() const { return root_; }
  [[nodiscard]] bool is_too_large() const { return is_too_large_; }
  [[nodiscard]] size_t num_exprs() const { return exprs_.size(); }
  [[nodiscard]] const Expr& expr(ExprId id) const { return exprs_[id]; }
  [[nodiscard]] std::span<const ExprId> children(const Expr& expr) const {
    return std::span(children_).subspan(expr.a, expr.b);
  }
  [[nodiscard]] ExprId body(RuleId rule) const { return rules_[rule].body; }
  [[nodiscard]] const std::vector<ByteSet>& byte_sets() const { return byte_sets_; }
  [[nodiscard]] const std::vector<std::string>& markers() const { return markers_; }

 private:
  struct Rule {
    std::string name;
    ExprId body = 0;
  };

  ExprId add(Expr::Kind kind, uint32_t a, uint32_t b, uint32_t c);
  ExprId add_list(Expr::Kind kind, std::span<const ExprId> parts);
  template <typename Visit>
  void for_each_child(const Expr& expr, Visit visit) const;
  std::vector<bool> least_fixpoint(bool terminal_value) const;
  [[nodiscard]] std::string left_recursive_rule() const;

  std::vector<Expr> exprs_;
  std::vector<ExprId> children_;
  std::vector<Rule> rules_;
  std::vector<ByteSet> byte_sets_;
  std::vector<std::string> markers_;
  std::map<ByteSet, ExprId> bytes_exprs_;  // one expression for each set
  ExprId root_ = 0;
  bool is_too_large_ = false;
  bool has_unique_keys_ = false;
};

}  // namespace rill::text::grammar
