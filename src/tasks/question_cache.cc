// SPDX-License-Identifier: Apache-2.0
#include "tasks/question_cache.h"

#include <algorithm>
#include <utility>

#include "base/sha256.h"

namespace rill::tasks {
namespace {

bool contains(const std::vector<KeptQuestion>& questions, const std::array<uint8_t, 32>& hash) {
  return std::any_of(questions.begin(), questions.end(),
                     [&](const KeptQuestion& q) { return q.hash == hash; });
}

}  // namespace

std::shared_ptr<const Tensor> QuestionCache::find(const std::array<uint8_t, 32>& hash) const {
  for (const auto& conversation : conversations_) {
    for (const KeptQuestion& question : conversation) {
      if (question.hash == hash) return question.rows;
    }
  }
  return nullptr;
}

void QuestionCache::keep(std::vector<KeptQuestion> questions) {
  if (max_conversations_ == 0 || questions.empty()) return;
  auto best = conversations_.end();
  size_t best_common = 0;
  for (auto it = conversations_.begin(); it != conversations_.end(); ++it) {
    if (!contains(questions, it->back().hash)) continue;
    const auto common =
        static_cast<size_t>(std::count_if(it->begin(), it->end(), [&](const KeptQuestion& q) {
          return contains(questions, q.hash);
        }));
    if (common > best_common) {
      best = it;
      best_common = common;
    }
  }
  if (best != conversations_.end()) conversations_.erase(best);
  conversations_.push_front(std::move(questions));
  if (conversations_.size() > max_conversations_) conversations_.pop_back();
}

std::array<uint8_t, 32> hash_samples(std::span<const float> samples) {
  Sha256 hash;
  hash.update(std::as_bytes(samples));
  return hash.finish();
}

}  // namespace rill::tasks
