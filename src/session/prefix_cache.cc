// SPDX-License-Identifier: Apache-2.0
#include "session/prefix_cache.h"

#include <algorithm>
#include <utility>

#include "base/sha256.h"

namespace rill::session {
namespace {

/// The hash covers what is computed from: the kind of each step and its id or row, bit for bit.
void update_with_step(const StepInput& step, Sha256& hash) {
  const std::byte kind{static_cast<unsigned char>(step.is_token() ? 't' : 'r')};
  hash.update({&kind, 1});
  hash.update(step.is_token() ? std::as_bytes(std::span(&step.token, 1)) : std::as_bytes(step.row));
}

}  // namespace

std::vector<PrefixCache::Hash> PrefixCache::hash_blocks(std::span<const StepInput> steps) {
  // The last step always runs, so a block that ends with it is not looked up.
  const size_t count = steps.empty() ? 0 : (steps.size() - 1) / kBlockSteps;
  std::vector<Hash> chain;
  chain.reserve(count);
  for (size_t b = 0; b < count; ++b) {
    Sha256 hash;
    if (b > 0) hash.update(std::as_bytes(std::span(chain.back())));
    for (const StepInput& step : steps.subspan(b * kBlockSteps, kBlockSteps))
      update_with_step(step, hash);
    chain.push_back(hash.finish());
  }
  return chain;
}

Result<Sequence> PrefixCache::prefill(ops::Context& context, const model::lfm2::Backbone& backbone,
                                      DType kv_type, std::span<const StepInput> steps,
                                      const std::atomic<bool>* cancel) {
  const std::vector<Hash> chain = max_prompts_ > 0 ? hash_blocks(steps) : std::vector<Hash>();
  size_t restored = chain.size();
  while (restored > 0 && !blocks_.contains(chain[restored - 1])) --restored;
  cached_steps_ = restored * kBlockSteps;
  RILL_ASSIGN_OR_RETURN(Sequence sequence, Sequence::create(backbone, kv_type));
  if (restored > 0) sequence = blocks_.at(chain[restored - 1]).sequence.clone();
  std::vector<Sequence> computed;
  for (size_t b = restored; b < chain.size(); ++b) {
    RILL_RETURN_IF_ERROR(
        sequence.append(context, steps.subspan(b * kBlockSteps, kBlockSteps), cancel));
    computed.push_back(sequence.clone());
  }
  RILL_RETURN_IF_ERROR(sequence.append(context, steps.subspan(chain.size() * kBlockSteps), cancel));
  for (size_t i = 0; i < computed.size(); ++i) {
    blocks_.emplace(chain[restored + i], Block{std::move(computed[i]), 0});
  }
  if (!chain.empty()) keep_prompt(chain);
  return sequence;
}

void PrefixCache::keep_prompt(const std::vector<Hash>& chain) {
  // A prompt that this one continues (or is the start of) is the same conversation: the longer of
  // the two stays.
  std::vector<Hash> kept = chain;
  for (auto it = prompts_.begin(); it != prompts_.end(); ++it) {
    const size_t common = std::min(it->size(), chain.size());
    if (!std::equal(chain.begin(), chain.begin() + static_cast<std::ptrdiff_t>(common),
                    it->begin()))
      continue;
    if (it->size() > chain.size()) kept = *it;
    for (const Hash& hash : kept) ++blocks_.at(hash).num_prompts;
    release(*it);
    prompts_.erase(it);
    prompts_.push_front(std::move(kept));
    return;
  }
  for (const Hash& hash : kept) ++blocks_.at(hash).num_prompts;
  prompts_.push_front(std::move(kept));
  if (prompts_.size() > max_prompts_) {
    release(prompts_.back());
    prompts_.pop_back();
  }
}

void PrefixCache::release(const std::vector<Hash>& chain) {
  for (const Hash& hash : chain) {
    const auto it = blocks_.find(hash);
    if (--it->second.num_prompts == 0) blocks_.erase(it);
  }
}

size_t PrefixCache::memory_bytes() const {
  // States share the blocks before them: each kept one adds its own block and its convolution
  // inputs.
  size_t total = 0;
  for (const auto& [hash, block] : blocks_) {
    const auto& state = block.sequence.state();
    const size_t num_blocks = state.num_blocks();
    const size_t block_bytes = num_blocks > 0 ? state.block(num_blocks - 1).size() : 0;
    total += block_bytes + (state.memory_bytes() - num_blocks * block_bytes);
  }
  return total;
}

void PrefixCache::clear() {
  prompts_.clear();
  blocks_.clear();
}

}  // namespace rill::session
