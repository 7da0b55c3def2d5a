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

/// Steps of a prefix that does not end with a block: those after its last full block, and the chain
/// before them.
PrefixCache::Hash PrefixCache::hash_end(std::span<const Hash> chain,
                                        std::span<const StepInput> steps) {
  const size_t blocks = steps.size() / kBlockSteps;
  Sha256 hash;
  hash.update(std::as_bytes(std::span("end", 3)));
  // The block that ends with the last step of a prompt is not in its chain.
  const size_t hashed = std::min(blocks, chain.size());
  if (hashed > 0) hash.update(std::as_bytes(std::span(chain[hashed - 1])));
  for (const StepInput& step : steps.subspan(hashed * kBlockSteps)) update_with_step(step, hash);
  return hash.finish();
}

/// The longest kept end that the steps start with, or null.
const Sequence* PrefixCache::find_end(std::span<const Hash> chain,
                                      std::span<const StepInput> steps) {
  auto best = ends_.end();
  for (auto it = ends_.begin(); it != ends_.end(); ++it) {
    const size_t length = it->sequence.position();
    if (length > steps.size()) continue;
    if (best != ends_.end() && length <= best->sequence.position()) continue;
    // As its own keep_end() hashed it: a chain without a block that ends with the last step.
    const size_t blocks = length == 0 ? 0 : (length - 1) / kBlockSteps;
    if (it->hash == hash_end(chain.first(blocks), steps.first(length))) best = it;
  }
  if (best == ends_.end()) return nullptr;
  ends_.splice(ends_.begin(), ends_, best);
  return &ends_.front().sequence;
}

void PrefixCache::keep_end(std::span<const StepInput> steps, const Sequence& sequence) {
  if (max_prompts_ == 0 || steps.empty()) return;
  RILL_CHECK(steps.size() == sequence.position(), "an end is kept with all its steps");
  const Hash hash = hash_end(hash_blocks(steps), steps);
  ends_.remove_if([&](const End& end) { return end.hash == hash; });
  ends_.push_front({hash, sequence.clone()});
  if (ends_.size() > kEndsPerPrompt * max_prompts_) ends_.pop_back();
}

Result<Sequence> PrefixCache::prefill(ops::Context& context, const model::lfm2::Backbone& backbone,
                                      DType kv_type, std::span<const StepInput> steps,
                                      const std::atomic<bool>* cancel) {
  const std::vector<Hash> chain = max_prompts_ > 0 ? hash_blocks(steps) : std::vector<Hash>();
  size_t restored = chain.size();
  while (restored > 0 && !blocks_.contains(chain[restored - 1])) --restored;
  cached_steps_ = restored * kBlockSteps;
  RILL_ASSIGN_OR_RETURN(Sequence sequence, Sequence::create(backbone, kv_type));
  const Sequence* end = find_end(chain, steps);
  if (end != nullptr && end->position() > cached_steps_) {
    sequence = end->clone();
    cached_steps_ = sequence.position();
  } else if (restored > 0) {
    sequence = blocks_.at(chain[restored - 1]).sequence.clone();
  }
  std::vector<std::pair<size_t, Sequence>> computed;
  for (size_t b = cached_steps_ / kBlockSteps; b < chain.size(); ++b) {
    const size_t first = sequence.position();
    RILL_RETURN_IF_ERROR(
        sequence.append(context, steps.subspan(first, (b + 1) * kBlockSteps - first), cancel));
    computed.emplace_back(b, sequence.clone());
  }
  RILL_RETURN_IF_ERROR(sequence.append(context, steps.subspan(sequence.position()), cancel));
  for (auto& [b, state] : computed) blocks_.emplace(chain[b], Block{std::move(state), 0});
  keep_prompt(chain);
  return sequence;
}

/// Blocks that were passed over, because an end behind them was kept, are not part of the prompt.
void PrefixCache::keep_prompt(const std::vector<Hash>& chain) {
  std::vector<Hash> kept;
  for (const Hash& hash : chain) {
    if (blocks_.contains(hash)) kept.push_back(hash);
  }
  if (kept.empty()) return;
  for (const Hash& hash : kept) ++blocks_.at(hash).num_prompts;
  // A prompt that this one continues (or is the start of) is the same conversation: the longer of
  // the two stays. A hash stands for all blocks before it too.
  const auto contains = [](const std::vector<Hash>& list, const Hash& hash) {
    return std::find(list.begin(), list.end(), hash) != list.end();
  };
  for (auto it = prompts_.begin(); it != prompts_.end(); ++it) {
    const bool continues_this = contains(*it, kept.back());
    const bool continues_other = contains(kept, it->back());
    if (!continues_this && !continues_other) continue;
    // Of two equally long ones the one with fewer blocks passed over.
    if (continues_this && !(continues_other && kept.size() > it->size())) std::swap(kept, *it);
    release(*it);
    prompts_.erase(it);
    prompts_.push_front(std::move(kept));
    return;
  }
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
  const auto own_bytes = [](const Sequence& sequence) {
    const auto& state = sequence.state();
    const size_t num_blocks = state.num_blocks();
    const size_t block_bytes = num_blocks > 0 ? state.block(num_blocks - 1).size() : 0;
    return block_bytes + (state.memory_bytes() - num_blocks * block_bytes);
  };
  size_t total = 0;
  for (const auto& [hash, block] : blocks_) total += own_bytes(block.sequence);
  for (const End& end : ends_) total += own_bytes(end.sequence);
  return total;
}

void PrefixCache::clear() {
  prompts_.clear();
  blocks_.clear();
  ends_.clear();
}

}  // namespace rill::session
