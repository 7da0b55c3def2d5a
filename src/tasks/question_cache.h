// SPDX-License-Identifier: Apache-2.0
// QuestionCache: encoder outputs of a conversation's questions, so that later turns do not encode
// them again.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <list>
#include <memory>
#include <span>
#include <vector>

#include "tensor/tensor.h"

namespace rill::tasks {

/// The speech rows of one question, found by its samples.
struct KeptQuestion {
  std::array<uint8_t, 32> hash = {};  ///< SHA-256 of the samples
  std::shared_ptr<const Tensor> rows;
};

/// Threading: one thread.
class QuestionCache {
 public:
  /// Keeps the questions of up to max_conversations conversations; 0 keeps nothing.
  explicit QuestionCache(size_t max_conversations) : max_conversations_(max_conversations) {}

  /// The kept rows for samples of that hash, or nullptr.
  [[nodiscard]] std::shared_ptr<const Tensor> find(const std::array<uint8_t, 32>& hash) const;

  /// Keeps a conversation's questions, oldest first. They replace the kept conversation whose last
  /// question is among them (the one with most of them in common); else the least recently used one
  /// goes when there are too many.
  void keep(std::vector<KeptQuestion> questions);

  [[nodiscard]] size_t num_conversations() const { return conversations_.size(); }

 private:
  size_t max_conversations_;
  std::list<std::vector<KeptQuestion>> conversations_;  // most recently used first
};

[[nodiscard]] std::array<uint8_t, 32> hash_samples(std::span<const float> samples);

}  // namespace rill::tasks
