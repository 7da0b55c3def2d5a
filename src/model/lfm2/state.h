// SPDX-License-Identifier: Apache-2.0
// SequenceState: all that a layer stack remembers of a sequence: keys and values of the attention
// layers, the last inputs of the short convolutions, and the position. It is a value: clone it, go
// back to a checkpoint, drop it.
#pragma once

#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/lfm2/config.h"
#include "model/lfm2/kv_blocks.h"
#include "ops/attention.h"
#include "tensor/tensor.h"

namespace rill::model::lfm2 {

/// A place in a sequence to return to: keys and values stay where they are, so it costs a few
/// kilobytes.
struct Checkpoint {
  size_t position = 0;
  std::vector<float> conv;  // the short convolutions' inputs at that position
};

/// The state of one sequence; move-only, with an explicit clone(). Threading: one thread at a time,
/// clones included as long as they share blocks.
class SequenceState {
 public:
  /// An empty sequence. kv_type: DType::kF32 or kF16.
  /// Errors: kInvalidArgument (another type), kOutOfMemory.
  static Result<SequenceState> create(const Config& config, DType kv_type);

  SequenceState(SequenceState&&) = default;
  SequenceState& operator=(SequenceState&&) = default;

  /// Steps that the sequence has; the next one gets this position.
  [[nodiscard]] size_t position() const { return position_; }
  [[nodiscard]] DType kv_type() const { return kv_type_; }

  /// Makes room for `positions` steps in all, and makes the blocks that will be written this
  /// sequence's own, so that steps up to there do not allocate. Errors: kOutOfMemory.
  Status reserve(size_t positions);

  /// A copy that continues on its own. Blocks of keys and values are shared until one of the two
  /// writes them.
  [[nodiscard]] SequenceState clone() const;

  [[nodiscard]] Checkpoint checkpoint() const;
  /// Goes back to a checkpoint that was taken from this sequence (or from the one it was cloned
  /// from) and not invalidated by an earlier truncation below its position. With a sliding window
  /// the keys before the checkpoint must not have slid out since.
  void truncate(const Checkpoint& checkpoint);
  /// Whether truncate() may be called with it: it lies in the past, has this model's size, and its
  /// window is still there.
  [[nodiscard]] bool can_truncate(const Checkpoint& checkpoint) const;
  /// Empties the sequence and drops its blocks.
  void reset();

  /// Bytes of keys, values and convolution inputs; shared blocks and those of an allocation that
  /// are not used yet count in full.
  [[nodiscard]] size_t memory_bytes() const;

  // For looking ahead: steps that may turn out not to be wanted. No sliding window.

  /// Logs the convolution inputs of the next steps, at most so many, until go_to() is called.
  void log_conv(size_t steps);
  /// Moves to a position between the one where log_conv() was called and the one that was reached
  /// since. Keys and values stay where they are: from an earlier position it may move on again,
  /// until other steps are stored.
  void go_to(size_t position);

  // For the layer stack and for snapshots.

  /// Keys and values of the n-th attention layer (counted among attention layers).
  [[nodiscard]] ops::KvView kv(size_t attention_layer) const;
  /// Inputs u = B * X of the last L-1 steps of the n-th conv layer, oldest first. Shape: [L-1, D].
  [[nodiscard]] Mat conv(size_t conv_layer);
  [[nodiscard]] ConstMat conv(size_t conv_layer) const;
  /// Where the next `steps` inputs of the n-th conv layer are to be logged; no data: nowhere.
  [[nodiscard]] Mat conv_log(size_t conv_layer, size_t steps);
  /// Moves on after `steps` steps have been stored.
  void advance(size_t steps);
  /// One block of all attention layers: kKvBlockPositions positions, layer after layer. Empty for a
  /// block that has slid out of the window.
  [[nodiscard]] size_t num_blocks() const { return blocks_.size(); }
  [[nodiscard]] std::span<const std::byte> block(size_t index) const;

  // For snapshots: keys and values of some steps as rows, without a block's order and gaps,
  // [attention layers, 2 (k, v), G, steps, d] in the type of the cache.

  /// Bytes that copy_steps and append_stored take for one step.
  [[nodiscard]] size_t step_bytes() const;
  /// Writes the steps [first, first + steps), whose blocks must be there.
  /// Shape: out [steps * step_bytes()].
  void copy_steps(size_t first, size_t steps, std::span<std::byte> out) const;
  /// Appends steps that copy_steps wrote. Convolution inputs stay as they are. Errors:
  /// kOutOfMemory.
  Status append_stored(size_t steps, std::span<const std::byte> stored);
  /// Inputs of all conv layers. Shape: [conv layers, L-1, D].
  [[nodiscard]] std::span<float> conv_values() { return conv_; }
  [[nodiscard]] std::span<const float> conv_values() const { return conv_; }

 private:
  using Block = KvBlocks::Block;

  SequenceState() = default;
  Status append_block();
  Status own_block(size_t index);
  void set_block(size_t index, Block block);
  [[nodiscard]] size_t first_key(size_t position) const;

  // Sizes.
  DType kv_type_ = DType::kF32;
  size_t num_attention_layers_ = 0;
  size_t num_kv_heads_ = 0;
  size_t head_dim_ = 0;
  size_t hidden_size_ = 0;
  size_t conv_rows_ = 0;          // L - 1
  size_t layer_block_bytes_ = 0;  // one layer's part of a block
  size_t window_ = 0;             // keys that a step sees; 0: all

  size_t position_ = 0;
  std::vector<Block> blocks_;  // null before first_block_
  size_t first_block_ = 0;
  KvBlocks memory_;  // where blocks come from, and go to when they slide out of the window
  std::vector<std::vector<std::byte*>>
      layer_blocks_;         // [attention layer][block]: what KvView points at
  std::vector<float> conv_;  // [conv layers, L-1, D]
  // What conv_ was when the log began, and the inputs since: [conv layers, L-1 + steps, D].
  std::vector<float> conv_log_;
  size_t log_position_ = 0;  // where it began
  size_t log_steps_ = 0;
  size_t reached_ = 0;  // the furthest position that go_to() may move to
  bool logging_ = false;
};

}  // namespace rill::model::lfm2
