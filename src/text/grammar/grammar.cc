// SPDX-License-Identifier: Apache-2.0
#include "text/grammar/grammar.h"

#include <algorithm>
#include <utility>

#include "base/str_cat.h"

namespace rill::text::grammar {

Grammar::Grammar() { exprs_.push_back({}); }  // the empty sequence, also what too much becomes

ExprId Grammar::add(Expr::Kind kind, uint32_t a, uint32_t b, uint32_t c) {
  if (exprs_.size() >= kMaxExprs || children_.size() >= 4 * kMaxExprs) {
    is_too_large_ = true;
    return 0;
  }
  exprs_.push_back({kind, false, false, a, b, c});
  return static_cast<ExprId>(exprs_.size() - 1);
}

ExprId Grammar::add_list(Expr::Kind kind, std::span<const ExprId> parts) {
  if (parts.size() == 1) return parts[0];
  const auto first = static_cast<uint32_t>(children_.size());
  const ExprId id = add(kind, first, static_cast<uint32_t>(parts.size()), 0);
  if (!is_too_large_) children_.insert(children_.end(), parts.begin(), parts.end());
  return id;
}

ExprId Grammar::bytes(const ByteSet& set) {
  const auto known = bytes_exprs_.find(set);
  if (known != bytes_exprs_.end()) return known->second;
  const ExprId id = add(Expr::Kind::kBytes, static_cast<uint32_t>(byte_sets_.size()), 0, 0);
  if (is_too_large_) return id;
  byte_sets_.push_back(set);
  bytes_exprs_.emplace(set, id);
  return id;
}

ExprId Grammar::byte(char value) {
  return byte_range(static_cast<uint8_t>(value), static_cast<uint8_t>(value));
}

ExprId Grammar::byte_range(uint8_t first, uint8_t last) {
  ByteSet set;
  set.add_range(first, last);
  return bytes(set);
}

ExprId Grammar::literal(std::string_view text) {
  std::vector<ExprId> parts;
  parts.reserve(text.size());
  for (const char c : text) parts.push_back(byte(c));
  return sequence(parts);
}

ExprId Grammar::marker(std::string_view token) {
  auto at = std::find(markers_.begin(), markers_.end(), token);
  if (at == markers_.end()) at = markers_.insert(at, std::string(token));
  return add(Expr::Kind::kMarker, static_cast<uint32_t>(at - markers_.begin()), 0, 0);
}

ExprId Grammar::sequence(std::span<const ExprId> parts) {
  return add_list(Expr::Kind::kSequence, parts);
}

ExprId Grammar::choice(std::span<const ExprId> options) {
  return add_list(Expr::Kind::kChoice, options);
}

ExprId Grammar::repeat(ExprId part, uint32_t min, uint32_t max) {
  if (min == 1 && max == 1) return part;
  return add(Expr::Kind::kRepeat, part, min, max);
}

RuleId Grammar::add_rule(std::string name) {
  if (rules_.size() >= kMaxExprs) {
    is_too_large_ = true;
    return 0;
  }
  rules_.push_back({std::move(name), 0});
  return static_cast<RuleId>(rules_.size() - 1);
}

ExprId Grammar::rule(RuleId rule) { return add(Expr::Kind::kRule, rule, 0, 0); }

template <typename Visit>
void Grammar::for_each_child(const Expr& expr, Visit visit) const {
  switch (expr.kind) {
    case Expr::Kind::kBytes:
    case Expr::Kind::kMarker:
      return;
    case Expr::Kind::kSequence:
    case Expr::Kind::kChoice:
      for (const ExprId child : children(expr)) visit(child);
      return;
    case Expr::Kind::kRepeat:
      visit(expr.a);
      return;
    case Expr::Kind::kRule:
      visit(rules_[expr.a].body);
      return;
  }
}

/// Which expressions hold, if a terminal holds when terminal_value says so (and it is not empty), a
/// sequence when all of its parts do, a choice when one does, a repetition from 0 on always.
std::vector<bool> Grammar::least_fixpoint(bool terminal_value) const {
  const size_t count = exprs_.size();
  std::vector<uint32_t> missing(count, 1);  // parts that must still come to hold
  std::vector<uint32_t> first_parent(count + 1, 0);
  for (const Expr& expr : exprs_) for_each_child(expr, [&](ExprId c) { ++first_parent[c + 1]; });
  for (size_t i = 0; i < count; ++i) first_parent[i + 1] += first_parent[i];
  std::vector<ExprId> parents(first_parent[count]);
  std::vector<uint32_t> filled(first_parent.begin(), first_parent.end() - 1);
  std::vector<bool> holds(count, false);
  std::vector<ExprId> work;
  for (ExprId id = 0; id < count; ++id) {
    const Expr& expr = exprs_[id];
    for_each_child(expr, [&](ExprId child) { parents[filled[child]++] = id; });
    if (expr.kind == Expr::Kind::kSequence) missing[id] = expr.b;
    const bool starts =
        (expr.kind == Expr::Kind::kBytes && terminal_value && !byte_sets_[expr.a].is_empty()) ||
        (expr.kind == Expr::Kind::kMarker && terminal_value) ||
        (expr.kind == Expr::Kind::kSequence && expr.b == 0) ||
        (expr.kind == Expr::Kind::kRepeat && expr.b == 0);
    if (!starts) continue;
    holds[id] = true;
    work.push_back(id);
  }
  while (!work.empty()) {
    const ExprId id = work.back();
    work.pop_back();
    for (uint32_t i = first_parent[id]; i < first_parent[id + 1]; ++i) {
      const ExprId parent = parents[i];
      if (holds[parent] || --missing[parent] > 0) continue;
      holds[parent] = true;
      work.push_back(parent);
    }
  }
  return holds;
}

/// The name of a rule that can come to itself without a byte in between; empty: none.
std::string Grammar::left_recursive_rule() const {
  enum class Mark : uint8_t { kNew, kOpen, kDone };
  struct Visit {
    ExprId id;
    std::vector<ExprId> left;  // what may stand first, still to be looked at
  };
  std::vector<Mark> marks(exprs_.size(), Mark::kNew);
  std::vector<Visit> open;
  const auto enter = [&](ExprId id) {
    marks[id] = Mark::kOpen;
    Visit visit{id, {}};
    bool reachable = true;
    for_each_child(exprs_[id], [&](ExprId child) {
      if (reachable) visit.left.push_back(child);
      if (exprs_[id].kind == Expr::Kind::kSequence) reachable &= exprs_[child].is_nullable;
    });
    open.push_back(std::move(visit));
  };
  enter(root_);
  while (!open.empty()) {
    Visit& visit = open.back();
    if (visit.left.empty()) {
      marks[visit.id] = Mark::kDone;
      open.pop_back();
      continue;
    }
    const ExprId next = visit.left.back();
    visit.left.pop_back();
    if (marks[next] == Mark::kNew) {
      enter(next);
    } else if (marks[next] == Mark::kOpen) {
      // A cycle of expressions passes through a rule.
      size_t i = open.size() - 1;
      while (exprs_[open[i].id].kind != Expr::Kind::kRule && i > 0) --i;
      return rules_[exprs_[open[i].id].a].name;
    }
  }
  return "";
}

Status Grammar::finish(ExprId root) {
  if (is_too_large_) {
    return Error{ErrorCode::kUnsupported,
                 cat("grammar: too large: more than ", kMaxExprs, " expressions")};
  }
  root_ = root;
  const std::vector<bool> nullable = least_fixpoint(false);
  const std::vector<bool> productive = least_fixpoint(true);
  for (size_t i = 0; i < exprs_.size(); ++i) {
    exprs_[i].is_nullable = nullable[i];
    exprs_[i].is_productive = productive[i];
  }
  for (Expr& expr : exprs_) {
    // An empty repetition can stand for any number of them; the automaton then need not count it.
    if (expr.kind == Expr::Kind::kRepeat && exprs_[expr.a].is_nullable) expr.b = 0;
  }
  const std::string recursive = left_recursive_rule();
  if (!recursive.empty()) {
    return Error{ErrorCode::kUnsupported,
                 cat("grammar: rule ", printable(recursive), ": left recursion")};
  }
  if (!exprs_[root].is_productive) {
    return Error{ErrorCode::kInvalidArgument, "grammar: no text matches"};
  }
  return {};
}

}  // namespace rill::text::grammar
