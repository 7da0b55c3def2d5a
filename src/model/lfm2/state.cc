// SPDX-License-Identifier: Apache-2.0
#include "model/lfm2/state.h"

#include <algorithm>
#include <cstring>
#include <utility>

#include "base/str_cat.h"

namespace rill::model::lfm2 {

using ops::kKvBlockPositions;

Result<SequenceState> SequenceState::create(const Config& config, DType kv_type) {
  if (kv_type != DType::kF32 && kv_type != DType::kF16) {
    return Error{ErrorCode::kInvalidArgument, cat("create sequence: kv type: got ",
                                                  dtype_name(kv_type), ", expected F32 or F16")};
  }
  SequenceState state;
  state.kv_type_ = kv_type;
  state.num_attention_layers_ = config.num_attention_layers();
  state.num_kv_heads_ = config.num_kv_heads;
  state.head_dim_ = config.head_dim;
  state.hidden_size_ = config.hidden_size;
  state.conv_rows_ = config.conv_L_cache - 1;
  state.layer_block_bytes_ =
      row_bytes(kv_type, 2 * config.num_kv_heads * kKvBlockPositions * config.head_dim);
  state.memory_ = KvBlocks(state.num_attention_layers_ * state.layer_block_bytes_);
  state.window_ = config.sliding_window;
  state.layer_blocks_.resize(state.num_attention_layers_);
  state.conv_.assign(config.num_conv_layers() * state.conv_rows_ * config.hidden_size, 0.0f);
  return state;
}

Status SequenceState::reserve(size_t positions) {
  if (num_attention_layers_ == 0 || positions <= position_) return {};
  const size_t num_blocks = (positions + kKvBlockPositions - 1) / kKvBlockPositions;
  for (size_t i = position_ / kKvBlockPositions; i < num_blocks; ++i) {
    RILL_RETURN_IF_ERROR(i < blocks_.size() ? own_block(i) : append_block());
  }
  return {};
}

Status SequenceState::append_block() {
  RILL_ASSIGN_OR_RETURN(Block block, memory_.take());
  // Zeroed, so that a snapshot of a partly filled block is the same in every run.
  std::memset(block->bytes.data(), 0, block->bytes.size());
  blocks_.emplace_back();
  for (auto& pointers : layer_blocks_) pointers.push_back(nullptr);
  set_block(blocks_.size() - 1, std::move(block));
  return {};
}

Status SequenceState::own_block(size_t index) {
  if (blocks_[index].use_count() == 1) return {};
  const std::span<const std::byte> shared = blocks_[index]->bytes;
  RILL_ASSIGN_OR_RETURN(Block block, memory_.take());
  std::memcpy(block->bytes.data(), shared.data(), shared.size());
  set_block(index, std::move(block));
  return {};
}

void SequenceState::set_block(size_t index, Block block) {
  for (size_t layer = 0; layer < num_attention_layers_; ++layer) {
    layer_blocks_[layer][index] = block->bytes.data() + layer * layer_block_bytes_;
  }
  blocks_[index] = std::move(block);
}

size_t SequenceState::first_key(size_t position) const {
  return window_ == 0 || position < window_ ? 0 : position - window_ + 1;
}

void SequenceState::advance(size_t steps) {
  position_ += steps;
  if (num_attention_layers_ == 0) return;
  for (; first_block_ < first_key(position_) / kKvBlockPositions; ++first_block_) {
    memory_.give_back(std::move(blocks_[first_block_]));
    for (auto& pointers : layer_blocks_) pointers[first_block_] = nullptr;
  }
}

SequenceState SequenceState::clone() const {
  SequenceState copy;
  copy.kv_type_ = kv_type_;
  copy.num_attention_layers_ = num_attention_layers_;
  copy.num_kv_heads_ = num_kv_heads_;
  copy.head_dim_ = head_dim_;
  copy.hidden_size_ = hidden_size_;
  copy.conv_rows_ = conv_rows_;
  copy.layer_block_bytes_ = layer_block_bytes_;
  copy.window_ = window_;
  copy.memory_ = KvBlocks(memory_.block_bytes());
  copy.first_block_ = first_block_;
  copy.position_ = position_;
  copy.conv_ = conv_;
  // Blocks that are only reserved stay behind.
  const size_t used =
      std::min(blocks_.size(), (position_ + kKvBlockPositions - 1) / kKvBlockPositions);
  copy.blocks_.assign(blocks_.begin(), blocks_.begin() + static_cast<std::ptrdiff_t>(used));
  for (const auto& pointers : layer_blocks_) {
    copy.layer_blocks_.emplace_back(pointers.begin(),
                                    pointers.begin() + static_cast<std::ptrdiff_t>(used));
  }
  return copy;
}

Checkpoint SequenceState::checkpoint() const { return {position_, conv_}; }

bool SequenceState::can_truncate(const Checkpoint& checkpoint) const {
  return checkpoint.position <= position_ && checkpoint.conv.size() == conv_.size() &&
         first_key(checkpoint.position) / kKvBlockPositions >= first_block_;
}

void SequenceState::truncate(const Checkpoint& checkpoint) {
  RILL_CHECK(can_truncate(checkpoint), "a checkpoint of this sequence's past");
  position_ = checkpoint.position;
  conv_ = checkpoint.conv;
}

void SequenceState::reset() {
  position_ = 0;
  first_block_ = 0;
  blocks_.clear();
  memory_.drop_kept();
  for (auto& pointers : layer_blocks_) pointers.clear();
  std::fill(conv_.begin(), conv_.end(), 0.0f);
}

void SequenceState::log_conv(size_t steps) {
  RILL_CHECK(window_ == 0, "log conv: keys of a sliding window cannot be returned to");
  const size_t layer_values = conv_rows_ * hidden_size_;
  const size_t layers = layer_values == 0 ? 0 : conv_.size() / layer_values;
  const size_t stride = (conv_rows_ + steps) * hidden_size_;
  conv_log_.resize(layers * stride);
  for (size_t i = 0; i < layers; ++i)
    std::copy_n(conv_.data() + i * layer_values, layer_values, conv_log_.data() + i * stride);
  log_position_ = position_;
  log_steps_ = steps;
  reached_ = position_;
  logging_ = true;
}

Mat SequenceState::conv_log(size_t conv_layer, size_t steps) {
  if (!logging_) return {};
  const size_t done = position_ - log_position_;
  RILL_CHECK(done + steps <= log_steps_, "conv log: room for the steps");
  const size_t first = conv_layer * (conv_rows_ + log_steps_) + conv_rows_ + done;
  return {conv_log_.data() + first * hidden_size_, steps, hidden_size_, hidden_size_};
}

void SequenceState::go_to(size_t position) {
  if (logging_) reached_ = position_;
  logging_ = false;
  RILL_CHECK(position >= log_position_ && position <= reached_, "go to: a logged position");
  const size_t layer_values = conv_rows_ * hidden_size_;
  const size_t layers = layer_values == 0 ? 0 : conv_.size() / layer_values;
  for (size_t i = 0; i < layers; ++i) {
    const size_t first = i * (conv_rows_ + log_steps_) + position - log_position_;
    std::copy_n(conv_log_.data() + first * hidden_size_, layer_values,
                conv_.data() + i * layer_values);
  }
  position_ = position;
}

size_t SequenceState::memory_bytes() const {
  const size_t held = blocks_.size() - first_block_ + memory_.num_kept();
  return held * memory_.block_bytes() + conv_.size() * sizeof(float);
}

ops::KvView SequenceState::kv(size_t attention_layer) const {
  return {kv_type_, num_kv_heads_, head_dim_, layer_blocks_[attention_layer]};
}

Mat SequenceState::conv(size_t conv_layer) {
  return {conv_.data() + conv_layer * conv_rows_ * hidden_size_, conv_rows_, hidden_size_,
          hidden_size_};
}

ConstMat SequenceState::conv(size_t conv_layer) const {
  return {conv_.data() + conv_layer * conv_rows_ * hidden_size_, conv_rows_, hidden_size_,
          hidden_size_};
}

std::span<const std::byte> SequenceState::block(size_t index) const {
  if (blocks_[index] == nullptr) return {};
  return blocks_[index]->bytes;
}

size_t SequenceState::step_bytes() const {
  return num_attention_layers_ * row_bytes(kv_type_, 2 * num_kv_heads_ * head_dim_);
}

void SequenceState::copy_steps(size_t first, size_t steps, std::span<std::byte> out) const {
  RILL_CHECK(out.size() == steps * step_bytes(), "copy steps: room for all of them");
  for (size_t layer = 0; layer < num_attention_layers_; ++layer) {
    const ops::KvView view = kv(layer);
    ops::read_kv(view, first, steps, out.data() + layer * steps * ops::kv_row_bytes(view));
  }
}

Status SequenceState::append_stored(size_t steps, std::span<const std::byte> stored) {
  RILL_CHECK(stored.size() == steps * step_bytes(), "append stored steps: bytes of all of them");
  RILL_RETURN_IF_ERROR(reserve(position_ + steps));
  for (size_t layer = 0; layer < num_attention_layers_; ++layer) {
    const ops::KvView view = kv(layer);
    ops::write_kv(stored.data() + layer * steps * ops::kv_row_bytes(view), position_, steps, view);
  }
  advance(steps);
  return {};
}

}  // namespace rill::model::lfm2
