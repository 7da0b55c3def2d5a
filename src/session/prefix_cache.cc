// SPDX-License-Identifier: Apache-2.0
#include "session/prefix_cache.h"

#include <algorithm>
#include <set>
#include <utility>

namespace rill::session {
namespace {

/// The content before each step and after the last. Shape: [steps + 1].
std::vector<ContentHash> hash_steps(std::span<const StepInput> steps) {
  std::vector<ContentHash> contents(steps.size() + 1);
  for (size_t i = 0; i < steps.size(); ++i) contents[i + 1] = extend_content(contents[i], steps[i]);
  return contents;
}

}  // namespace

PrefixCache::PrefixCache(size_t max_prompts)
    : max_prompts_(max_prompts), max_ends_(kEndsPerPrompt * max_prompts) {}

Result<std::unique_ptr<PrefixCache>> PrefixCache::open(PrefixCacheOptions options) {
  auto cache = std::make_unique<PrefixCache>(options.max_prompts);
  if (options.max_ends > 0) cache->max_ends_ = options.max_ends;
  if (!options.directory.empty()) {
    RILL_ASSIGN_OR_RETURN(
        PrefixCacheDisk disk,
        PrefixCacheDisk::open(std::move(options.directory), options.max_disk_bytes,
                              std::move(options.tokenizer)));
    cache->disk_ = std::make_unique<PrefixCacheDisk>(std::move(disk));
  }
  return cache;
}

PrefixCache::~PrefixCache() { flush(); }

const Sequence* PrefixCache::known(const ContentHash& content,
                                   const model::lfm2::Backbone& backbone, DType kv_type) const {
  const auto it = entries_.find(content);
  if (it == entries_.end()) return nullptr;
  const Sequence& sequence = it->second.sequence;
  const bool fits = &sequence.backbone() == &backbone && sequence.state().kv_type() == kv_type;
  return fits ? &sequence : nullptr;
}

Result<Sequence> PrefixCache::find(const model::lfm2::Backbone& backbone, DType kv_type,
                                   std::span<const ContentHash> contents) {
  const auto look_up = [&](const ContentHash& hash) { return known(hash, backbone, kv_type); };
  // Longest first; of one length the one in memory first.
  std::set<std::pair<size_t, bool>, std::greater<>> candidates;
  const auto consider = [&](const ContentHash& hash, size_t position, bool in_memory) {
    if (position < contents.size() && contents[position] == hash)
      candidates.emplace(position, in_memory);
  };
  for (const auto& [hash, entry] : entries_) consider(hash, entry.sequence.position(), true);
  if (disk_ != nullptr) {
    disk_->scan(backbone, kv_type);
    for (const auto& [hash, position] : disk_->files()) consider(hash, position, false);
  }
  for (const auto& [position, in_memory] : candidates) {
    if (position == 0) continue;
    if (in_memory) {
      const Sequence* sequence = look_up(contents[position]);
      if (sequence != nullptr) return sequence->clone();
      continue;
    }
    auto states = disk_->load(contents.first(position + 1), backbone, kv_type, look_up);
    if (states.empty()) continue;
    Sequence sequence = states.back().clone();
    for (Sequence& state : states) {
      if (state.position() % kBlockSteps == 0) read_.push_back(std::move(state));
    }
    return sequence;
  }
  return Sequence::create(backbone, kv_type);
}

Result<Sequence> PrefixCache::restore(const model::lfm2::Backbone& backbone, DType kv_type,
                                      std::span<const StepInput> steps) {
  cached_steps_ = 0;
  read_.clear();
  if (max_prompts_ == 0) return Sequence::create(backbone, kv_type);
  const std::vector<ContentHash> contents = hash_steps(steps);
  RILL_ASSIGN_OR_RETURN(Sequence sequence, find(backbone, kv_type, contents));
  cached_steps_ = sequence.position();
  const auto end = std::find(ends_.begin(), ends_.end(), sequence.content());
  if (end != ends_.end()) ends_.splice(ends_.begin(), ends_, end);
  return sequence;
}

Result<Sequence> PrefixCache::prefill(ops::Context& context, const model::lfm2::Backbone& backbone,
                                      DType kv_type, std::span<const StepInput> steps,
                                      const std::atomic<bool>* cancel) {
  RILL_ASSIGN_OR_RETURN(Sequence sequence, restore(backbone, kv_type, steps));
  std::vector<Sequence> states = std::move(read_);
  read_.clear();
  if (max_prompts_ > 0) {
    for (size_t end = (cached_steps_ / kBlockSteps + 1) * kBlockSteps; end < steps.size();
         end += kBlockSteps) {
      const size_t first = sequence.position();
      RILL_RETURN_IF_ERROR(sequence.append(context, steps.subspan(first, end - first), cancel));
      states.push_back(sequence.clone());
    }
  }
  RILL_RETURN_IF_ERROR(sequence.append(context, steps.subspan(sequence.position()), cancel));
  keep_blocks(std::move(states), sequence);
  return sequence;
}

void PrefixCache::keep_blocks(std::vector<Sequence> states, const Sequence& prompt) {
  if (max_prompts_ == 0 || !prompt.usable()) return;
  for (Sequence& state : read_) states.push_back(std::move(state));
  read_.clear();
  // A block that ends with the last step is not kept: it is an end, if anything.
  const size_t count = prompt.position() == 0 ? 0 : (prompt.position() - 1) / kBlockSteps;
  const auto contents = prompt.block_contents().first(count);
  for (Sequence& state : states) {
    const size_t block = state.position() / kBlockSteps;
    if (state.position() % kBlockSteps != 0 || block == 0 || block > count) continue;
    if (state.content() != contents[block - 1]) continue;
    entries_.emplace(contents[block - 1], Entry{std::move(state), 0, false});
  }
  std::vector<ContentHash> kept;
  for (const ContentHash& content : contents) {
    if (entries_.contains(content)) kept.push_back(content);
  }
  if (!kept.empty()) keep_prompt(std::move(kept));
  if (disk_ != nullptr && disk_->has_grown()) disk_->trim();
}

/// Blocks that were passed over, because an end behind them was kept, are not part of the prompt.
void PrefixCache::keep_prompt(std::vector<ContentHash> kept) {
  for (const ContentHash& hash : kept) ++entries_.at(hash).num_prompts;
  // A prompt that this one continues (or is the start of) is the same conversation: the longer of
  // the two stays. A hash stands for all blocks before it too.
  const auto contains = [](const std::vector<ContentHash>& list, const ContentHash& hash) {
    return std::find(list.begin(), list.end(), hash) != list.end();
  };
  for (auto it = prompts_.begin(); it != prompts_.end(); ++it) {
    const bool continues_this = contains(*it, kept.back());
    const bool continues_other = contains(kept, it->back());
    if (!continues_this && !continues_other) continue;
    // Of two equally long ones the one with fewer blocks passed over.
    if (continues_this && !(continues_other && kept.size() > it->size())) std::swap(kept, *it);
    std::vector<ContentHash> released = std::move(*it);
    prompts_.erase(it);
    prompts_.push_front(std::move(kept));
    release(released);
    return;
  }
  prompts_.push_front(std::move(kept));
  if (prompts_.size() <= max_prompts_) return;
  std::vector<ContentHash> released = std::move(prompts_.back());
  prompts_.pop_back();
  release(released);
  release_ends();
}

void PrefixCache::release(const std::vector<ContentHash>& chain) {
  for (const ContentHash& hash : chain) {
    const auto it = entries_.find(hash);
    --it->second.num_prompts;
    drop_unused(it);
  }
}

/// Lets ends go whose prompts have gone: they would hold on to all of their blocks.
void PrefixCache::release_ends() {
  for (auto it = ends_.begin(); it != ends_.end();) {
    const auto entry = entries_.find(*it);
    const auto contents = entry->second.sequence.block_contents();
    const bool is_held = contents.empty() ||
                         std::any_of(contents.begin(), contents.end(), [&](const ContentHash& c) {
                           const auto block = entries_.find(c);
                           return block != entries_.end() && block->second.num_prompts > 0;
                         });
    if (is_held) {
      ++it;
      continue;
    }
    it = ends_.erase(it);
    entry->second.is_end = false;
    drop_unused(entry);
  }
}

void PrefixCache::drop_unused(Entries::iterator entry) {
  if (entry->second.num_prompts > 0 || entry->second.is_end) return;
  spill(entry->second.sequence);
  entries_.erase(entry);
}

void PrefixCache::keep(const Sequence& sequence) {
  if (max_ends_ == 0 || max_prompts_ == 0 || sequence.position() == 0 || !sequence.usable()) return;
  const ContentHash content = sequence.content();
  const auto listed = std::find(ends_.begin(), ends_.end(), content);
  if (listed != ends_.end()) {
    ends_.splice(ends_.begin(), ends_, listed);
    return;
  }
  const auto it = entries_.find(content);
  if (it == entries_.end()) {
    entries_.emplace(content, Entry{sequence.clone(), 0, true});
  } else {
    it->second.is_end = true;
  }
  ends_.push_front(content);
  if (ends_.size() <= max_ends_) return;
  const auto oldest = entries_.find(ends_.back());
  ends_.pop_back();
  oldest->second.is_end = false;
  drop_unused(oldest);
  if (disk_ != nullptr && disk_->has_grown()) disk_->trim();
}

void PrefixCache::keep_end(std::span<const StepInput> steps, const Sequence& sequence) {
  RILL_CHECK(steps.size() == sequence.position(), "an end is kept with all its steps");
  keep(sequence);
}

/// Writes a state, after the blocks before it that are only in memory.
void PrefixCache::spill(const Sequence& sequence) {
  if (disk_ == nullptr) return;
  disk_->select(sequence.backbone(), sequence.state().kv_type());
  const auto& files = disk_->files();
  if (files.contains(sequence.content())) return;
  size_t first = 0;
  for (size_t b = 0; b < sequence.block_contents().size(); ++b) {
    const size_t end = (b + 1) * kBlockSteps;
    const ContentHash& content = sequence.block_contents()[b];
    if (end >= sequence.position()) break;
    const auto block = entries_.find(content);
    const bool is_there = files.contains(content) ||
                          (block != entries_.end() && disk_->store(block->second.sequence, first));
    if (is_there) first = end;
  }
  disk_->store(sequence, first);
}

void PrefixCache::flush() {
  if (disk_ == nullptr || entries_.empty()) return;
  for (const auto& [hash, entry] : entries_) spill(entry.sequence);
  // What is needed most counts as used last: late prompts, and of a prompt its first blocks.
  for (auto end = ends_.rbegin(); end != ends_.rend(); ++end) disk_->mark_used(*end);
  for (auto prompt = prompts_.rbegin(); prompt != prompts_.rend(); ++prompt) {
    for (auto hash = prompt->rbegin(); hash != prompt->rend(); ++hash) disk_->mark_used(*hash);
  }
  disk_->trim();
}

size_t PrefixCache::memory_bytes() const {
  std::set<const std::byte*> blocks;  // states share them
  size_t total = 0;
  for (const auto& [hash, entry] : entries_) {
    const auto& state = entry.sequence.state();
    total += state.conv_values().size_bytes();
    for (size_t i = 0; i < state.num_blocks(); ++i) {
      if (!state.block(i).empty() && blocks.insert(state.block(i).data()).second)
        total += state.block(i).size();
    }
  }
  return total;
}

void PrefixCache::clear() {
  prompts_.clear();
  ends_.clear();
  entries_.clear();
}

}  // namespace rill::session
