// SPDX-License-Identifier: Apache-2.0
// Automaton: a pushdown automaton over bytes that follows all readings of a grammar at once. A
// state is a set of stacks; stacks share what they have in common, states are made when they are
// first reached and remember where each byte leads, so that a second visit is one table look-up.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <unordered_map>
#include <vector>

#include "base/result.h"
#include "text/grammar/grammar.h"

namespace rill::text::grammar {

using StateId = int32_t;

/// Grows as it runs. Threading: one thread.
class Automaton {
 public:
  static constexpr StateId kDead = 0;     ///< nothing can follow
  static constexpr StateId kFailed = -2;  ///< a bound was hit; see failure()
  // Bounds for one call that begins with begin_work(), in what hostile grammars would use up.
  static constexpr size_t kMaxWork = size_t{1} << 20;
  static constexpr size_t kMaxWorkForState = size_t{1} << 14;
  static constexpr size_t kMaxStates = size_t{1} << 16;
  static constexpr size_t kMaxItems = size_t{1} << 22;  ///< stacks in all states together

  /// `max_token_bytes`: how far ahead canonical() must be exact.
  Automaton(std::shared_ptr<const Grammar> grammar, size_t max_token_bytes);

  /// kFailed if the grammar is too ambiguous at its very start.
  [[nodiscard]] StateId start() const { return start_; }
  StateId next(StateId state, uint8_t byte) {
    const StateId known = transitions_[static_cast<size_t>(state) * symbols_ + class_of_[byte]];
    return known != kUnknown ? known : step(state, class_of_[byte]);
  }
  /// The state behind the grammar's marker of that number.
  StateId next_marker(StateId state, size_t marker) { return step(state, num_classes_ + marker); }
  [[nodiscard]] bool may_end(StateId state) const { return states_[index(state)].may_end; }

  /// A state that allows the same tokens, and is the same one for all counts of a repetition that
  /// are far from its bounds.
  StateId canonical(StateId state);

  /// Gives all bounds their full size again.
  void begin_work() { work_ = 0; }
  /// Forgets everything but one state if much has piled up. True: all ids but the returned state's
  /// are void.
  bool collect(StateId& state);
  [[nodiscard]] Error failure() const;
  [[nodiscard]] size_t num_states() const { return states_.size(); }

 private:
  static constexpr StateId kUnknown = -1;

  /// What comes when the part on top is done. Frame 0 is the end of the text.
  struct Frame {
    uint32_t parent;
    ExprId expr;
    uint32_t count;  // sequence: the next part; repetition: how many there are with this one
    bool operator==(const Frame&) const = default;
  };
  struct FrameHash {
    size_t operator()(const Frame& frame) const;
  };
  struct State {
    uint32_t first;  // items_: [first, first + count), frames whose expr is a terminal
    uint32_t count;
    StateId canonical;
    bool may_end;
  };
  /// A thing to do while a state is made. `fresh` counts the frames on top that were pushed since
  /// the last byte: a repetition whose turn is done while its frame is fresh matched nothing.
  struct Task {
    ExprId expr;  // kPop: the part on top is done
    uint32_t frame;
    uint32_t fresh;
    bool operator==(const Task&) const = default;
  };
  struct TaskHash {
    size_t operator()(const Task& task) const;
  };
  static constexpr ExprId kPop = kUnlimited;

  static size_t index(StateId state) { return static_cast<size_t>(state); }
  void make_classes();
  uint32_t push(uint32_t parent, ExprId expr, uint32_t count);
  void schedule(ExprId expr, uint32_t frame, uint32_t fresh);
  void run_tasks();
  void expand(const Task& task);
  void pop(const Task& task);
  void repeat(ExprId id, uint32_t parent, uint32_t done, uint32_t fresh);
  StateId step(StateId state, size_t symbol);
  [[nodiscard]] bool matches(uint32_t frame, size_t symbol) const;
  StateId make_state();  // of found_
  uint32_t canonical_frame(uint32_t frame);
  [[nodiscard]] uint32_t canonical_count(const Frame& frame) const;
  void clear();

  std::shared_ptr<const Grammar> grammar_;
  size_t max_token_bytes_;
  std::array<uint16_t, 256> class_of_{};  // bytes that no set of the grammar tells apart
  std::vector<uint8_t> class_byte_;       // one byte of each class
  size_t num_classes_ = 0;
  size_t symbols_ = 0;  // classes and markers

  std::vector<Frame> frames_;
  std::vector<uint32_t> canonical_frames_;  // by frame; kUnlimited: not known yet
  std::unordered_map<Frame, uint32_t, FrameHash> frame_ids_;
  std::vector<State> states_;
  std::vector<uint32_t> items_;
  std::vector<StateId> transitions_;                      // [states, symbols]
  std::unordered_multimap<uint64_t, StateId> state_ids_;  // by a hash of the items
  StateId start_ = kDead;

  std::vector<Task> tasks_;
  std::vector<Task> seen_list_;  // while short, else seen_
  std::unordered_map<Task, bool, TaskHash> seen_;
  std::vector<uint32_t> found_;
  size_t work_ = 0;
};

}  // namespace rill::text::grammar
