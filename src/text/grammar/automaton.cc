// SPDX-License-Identifier: Apache-2.0
#include "text/grammar/automaton.h"

#include <algorithm>
#include <map>
#include <string>
#include <utility>

namespace rill::text::grammar {
namespace {

constexpr size_t kShortList = 32;  // tasks that are cheaper to compare than to hash
constexpr size_t kCollectStates = size_t{1} << 14;
constexpr size_t kCollectFrames = size_t{1} << 18;

uint64_t mixed(uint64_t hash, uint64_t value) {
  hash = (hash ^ value) * 0x9E3779B97F4A7C15u;
  return hash ^ (hash >> 29);
}

}  // namespace

size_t Automaton::FrameHash::operator()(const Frame& frame) const {
  return mixed(mixed(mixed(1, frame.parent), frame.expr), frame.count);
}

size_t Automaton::TaskHash::operator()(const Task& task) const {
  return mixed(mixed(mixed(2, task.expr), task.frame), task.fresh);
}

Automaton::Automaton(std::shared_ptr<const Grammar> grammar, size_t max_token_bytes)
    : grammar_(std::move(grammar)), max_token_bytes_(max_token_bytes) {
  make_classes();
  clear();
  schedule(grammar_->root(), 0, 0);
  run_tasks();
  start_ = make_state();
}

/// Bytes are of one class if the same sets contain them.
void Automaton::make_classes() {
  std::vector<uint16_t> classes(256, 0);
  size_t count = 1;
  for (const ByteSet& set : grammar_->byte_sets()) {
    std::map<std::pair<uint16_t, bool>, uint16_t> split;
    for (unsigned byte = 0; byte < 256; ++byte) {
      const std::pair key(classes[byte], set.contains(static_cast<uint8_t>(byte)));
      const auto [at, is_new] = split.emplace(key, static_cast<uint16_t>(split.size()));
      classes[byte] = at->second;
    }
    count = split.size();
    if (count == 256) break;
  }
  num_classes_ = count;
  class_byte_.resize(count);
  for (unsigned byte = 256; byte-- > 0;) {
    class_of_[byte] = classes[byte];
    class_byte_[classes[byte]] = static_cast<uint8_t>(byte);
  }
  symbols_ = count + grammar_->markers().size();
}

void Automaton::clear() {
  frames_.assign(1, {0, 0, 0});
  canonical_frames_.assign(1, 0);
  frame_ids_.clear();
  states_.assign(1, {0, 0, kDead, false});
  items_.clear();
  transitions_.assign(symbols_, kDead);
  state_ids_.clear();
}

uint32_t Automaton::push(uint32_t parent, ExprId expr, uint32_t count) {
  const auto [at, is_new] =
      frame_ids_.emplace(Frame{parent, expr, count}, static_cast<uint32_t>(frames_.size()));
  if (is_new) {
    frames_.push_back({parent, expr, count});
    canonical_frames_.push_back(kUnlimited);
  }
  return at->second;
}

void Automaton::schedule(ExprId expr, uint32_t frame, uint32_t fresh) {
  const Task task{expr, frame, fresh};
  if (seen_list_.size() < kShortList) {
    if (std::find(seen_list_.begin(), seen_list_.end(), task) != seen_list_.end()) return;
    seen_list_.push_back(task);
  } else {
    if (seen_.empty()) {
      for (const Task& seen : seen_list_) seen_.emplace(seen, true);
    }
    if (!seen_.emplace(task, true).second) return;
  }
  tasks_.push_back(task);
}

/// Follows everything that needs no byte, up to the terminals: found_.
void Automaton::run_tasks() {
  found_.clear();
  const size_t begin = work_;
  while (!tasks_.empty() && work_ < kMaxWork) {
    if (++work_ - begin > kMaxWorkForState) work_ = kMaxWork;
    const Task task = tasks_.back();
    tasks_.pop_back();
    if (task.expr == kPop) {
      pop(task);
    } else {
      expand(task);
    }
  }
  tasks_.clear();
  seen_list_.clear();
  if (!seen_.empty()) seen_.clear();  // which looks at all buckets
}

void Automaton::expand(const Task& task) {
  const Expr& expr = grammar_->expr(task.expr);
  if (!expr.is_productive) return;
  switch (expr.kind) {
    case Expr::Kind::kBytes:
    case Expr::Kind::kMarker:
      found_.push_back(push(task.frame, task.expr, 0));
      return;
    case Expr::Kind::kSequence:
      if (expr.b == 0) {
        schedule(kPop, task.frame, task.fresh);
      } else {
        schedule(grammar_->children(expr)[0], push(task.frame, task.expr, 1), task.fresh + 1);
      }
      return;
    case Expr::Kind::kChoice:
      for (const ExprId child : grammar_->children(expr)) schedule(child, task.frame, task.fresh);
      return;
    case Expr::Kind::kRepeat:
      repeat(task.expr, task.frame, 0, task.fresh);
      return;
    case Expr::Kind::kRule:
      schedule(grammar_->body(expr.a), task.frame, task.fresh);
      return;
  }
}

void Automaton::pop(const Task& task) {
  if (task.frame == 0) {
    found_.push_back(0);
    return;
  }
  const Frame frame = frames_[task.frame];
  const Expr& expr = grammar_->expr(frame.expr);
  const uint32_t fresh = task.fresh > 0 ? task.fresh - 1 : 0;
  if (expr.kind == Expr::Kind::kRepeat) {
    // An empty turn changes nothing: what may follow it was scheduled with it.
    if (task.fresh == 0) repeat(frame.expr, frame.parent, frame.count, 0);
    return;
  }
  const std::span<const ExprId> parts = grammar_->children(expr);
  const ExprId part = parts[frame.count];
  // The last part needs no frame, so that lists written as recursion do not grow the stack.
  if (frame.count + 1 == parts.size()) {
    schedule(part, frame.parent, fresh);
  } else {
    schedule(part, push(frame.parent, frame.expr, frame.count + 1), fresh + 1);
  }
}

/// A repetition of which `done` are complete.
void Automaton::repeat(ExprId id, uint32_t parent, uint32_t done, uint32_t fresh) {
  const Expr& expr = grammar_->expr(id);
  if (done >= expr.b) schedule(kPop, parent, fresh);
  if (done >= expr.c || !grammar_->expr(expr.a).is_productive) return;
  if (expr.c == kUnlimited) {
    schedule(expr.a, push(parent, id, std::min(done + 1, std::max(expr.b, 1u))), fresh + 1);
  } else if (done + 1 == expr.c) {
    schedule(expr.a, parent, fresh);
  } else {
    schedule(expr.a, push(parent, id, done + 1), fresh + 1);
  }
}

bool Automaton::matches(uint32_t frame, size_t symbol) const {
  if (frame == 0) return false;
  const Expr& expr = grammar_->expr(frames_[frame].expr);
  if (symbol >= num_classes_) {
    return expr.kind == Expr::Kind::kMarker && expr.a == symbol - num_classes_;
  }
  return expr.kind == Expr::Kind::kBytes &&
         grammar_->byte_sets()[expr.a].contains(class_byte_[symbol]);
}

StateId Automaton::step(StateId state, size_t symbol) {
  const size_t slot = index(state) * symbols_ + symbol;
  if (transitions_[slot] != kUnknown) return transitions_[slot];
  const State from = states_[index(state)];
  for (uint32_t i = from.first; i < from.first + from.count; ++i) {
    if (matches(items_[i], symbol)) schedule(kPop, frames_[items_[i]].parent, 0);
  }
  work_ += from.count;
  run_tasks();
  const StateId to = make_state();
  if (to != kFailed) transitions_[slot] = to;
  return to;
}

StateId Automaton::make_state() {
  if (work_ >= kMaxWork || states_.size() >= kMaxStates ||
      items_.size() + found_.size() > kMaxItems) {
    work_ = kMaxWork;
    return kFailed;
  }
  if (found_.empty()) return kDead;
  std::sort(found_.begin(), found_.end());
  found_.erase(std::unique(found_.begin(), found_.end()), found_.end());
  uint64_t hash = 3;
  for (const uint32_t item : found_) hash = mixed(hash, item);
  const auto [first, last] = state_ids_.equal_range(hash);
  for (auto at = first; at != last; ++at) {
    const State& state = states_[index(at->second)];
    if (std::equal(found_.begin(), found_.end(), items_.begin() + state.first,
                   items_.begin() + state.first + state.count))
      return at->second;
  }
  const auto id = static_cast<StateId>(states_.size());
  states_.push_back({static_cast<uint32_t>(items_.size()), static_cast<uint32_t>(found_.size()),
                     kUnknown, found_[0] == 0});
  items_.insert(items_.end(), found_.begin(), found_.end());
  transitions_.resize(transitions_.size() + symbols_, kUnknown);
  state_ids_.emplace(hash, id);
  return id;
}

/// A token has too few bytes to bring a count that is far below its minimum there, or one that is
/// far below its maximum: all such counts allow the same tokens.
uint32_t Automaton::canonical_count(const Frame& frame) const {
  const Expr& expr = grammar_->expr(frame.expr);
  if (expr.kind != Expr::Kind::kRepeat) return frame.count;
  const size_t reach = max_token_bytes_ + 2;
  if (frame.count + reach < expr.b) return 1;
  if (frame.count >= expr.b && frame.count + reach < expr.c) return std::max(expr.b, 1u);
  return frame.count;
}

uint32_t Automaton::canonical_frame(uint32_t frame) {
  std::vector<uint32_t> path;  // frames above one whose canonical form is known
  for (; canonical_frames_[frame] == kUnlimited; frame = frames_[frame].parent)
    path.push_back(frame);
  uint32_t canonical = canonical_frames_[frame];
  for (size_t i = path.size(); i-- > 0;) {
    const Frame of = frames_[path[i]];
    canonical = push(canonical, of.expr, canonical_count(of));
    canonical_frames_[path[i]] = canonical;
  }
  return canonical;
}

StateId Automaton::canonical(StateId state) {
  const State from = states_[index(state)];
  if (from.canonical != kUnknown) return from.canonical;
  found_.clear();
  for (uint32_t i = from.first; i < from.first + from.count; ++i)
    found_.push_back(canonical_frame(items_[i]));
  const StateId to = make_state();
  if (to != kFailed) {
    states_[index(state)].canonical = to;
    states_[index(to)].canonical = to;
  }
  return to;
}

bool Automaton::collect(StateId& state) {
  if (states_.size() < kCollectStates && frames_.size() < kCollectFrames &&
      items_.size() < kMaxItems / 2)
    return false;
  const State kept = states_[index(state)];
  const std::vector<uint32_t> items(items_.begin() + kept.first,
                                    items_.begin() + kept.first + kept.count);
  // A frame's parent was made before it, so ascending order rebuilds parents first.
  std::vector<bool> is_live(frames_.size(), false);
  for (uint32_t item : items) {
    for (; item != 0 && !is_live[item]; item = frames_[item].parent) is_live[item] = true;
  }
  const std::vector<Frame> old = std::move(frames_);
  clear();
  std::vector<uint32_t> moved(old.size(), 0);
  for (size_t i = 1; i < old.size(); ++i) {
    if (is_live[i]) moved[i] = push(moved[old[i].parent], old[i].expr, old[i].count);
  }
  found_.clear();
  for (const uint32_t item : items) found_.push_back(moved[item]);
  state = make_state();
  start_ = kDead;
  return true;
}

Error Automaton::failure() const {
  return {ErrorCode::kUnsupported, "grammar: too ambiguous: too many readings of the text so far"};
}

}  // namespace rill::text::grammar
