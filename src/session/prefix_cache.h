// SPDX-License-Identifier: Apache-2.0
// PrefixCache: keeps the state after every full block of a prefill and where a prompt or a reply
// ended, so that a prompt that starts like an earlier one runs only what is new, also after a
// restart if it has a folder. Found by content, so it changes no bit: only time.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/lfm2/backbone.h"
#include "ops/context.h"
#include "session/content_hash.h"
#include "session/prefix_cache_disk.h"
#include "session/sequence.h"
#include "session/step_input.h"

namespace rill::session {

struct PrefixCacheOptions {
  size_t max_prompts = 4;  ///< prompts whose blocks stay in memory; 0: nothing is kept
  size_t max_ends = 0;     ///< kept ends in memory; 0: PrefixCache::kEndsPerPrompt * max_prompts
  std::string directory;  ///< where what leaves the memory goes; created if missing; empty: nowhere
  uint64_t max_disk_bytes = uint64_t{4} << 30;  ///< of the folder's states, least recently used go
  std::string tokenizer;  ///< as SnapshotOptions::tokenizer; states of another one are not found
};

/// Threading: one thread. Lifetime: the backbones of its sequences outlive it.
class PrefixCache {
 public:
  /// Steps per kept block: a block of the KV cache, so that states share their blocks.
  static constexpr size_t kBlockSteps = ops::kKvBlockPositions;
  static constexpr size_t kEndsPerPrompt = 4;

  /// Keeps the blocks of up to max_prompts prompts (blocks that prompts share count once) in
  /// memory; 0 keeps nothing.
  explicit PrefixCache(size_t max_prompts);
  /// Errors: kIo (the folder cannot be made).
  static Result<std::unique_ptr<PrefixCache>> open(PrefixCacheOptions options);
  PrefixCache(PrefixCache&&) = default;
  PrefixCache& operator=(PrefixCache&&) = delete;
  /// Calls flush().
  ~PrefixCache();

  /// A sequence that holds the prompt: restored from the longest kept prefix, the rest computed;
  /// its own full blocks are kept. Unless all of it was kept, at least the last step is computed.
  /// Errors: those of Sequence::create and Sequence::append; nothing is kept then. Trouble with the
  /// folder is none: what cannot be read is computed.
  Result<Sequence> prefill(ops::Context& context, const model::lfm2::Backbone& backbone,
                           DType kv_type, std::span<const StepInput> steps,
                           const std::atomic<bool>* cancel = nullptr);

  // The same in parts, for whoever computes the rest of the prompt together with others.

  /// The longest kept prefix of a prompt, which may be all of it or empty; sets cached_steps().
  /// Errors: those of Sequence::create.
  Result<Sequence> restore(const model::lfm2::Backbone& backbone, DType kv_type,
                           std::span<const StepInput> steps);
  /// Keeps states after full blocks of a prompt, given the sequence that holds all of it.
  void keep_blocks(std::vector<Sequence> states, const Sequence& prompt);

  /// Keeps a sequence as it is, for a prompt that starts with its steps: the end of a prompt or of
  /// a reply, wherever in a block that is. The most recently used ones stay in memory.
  void keep(const Sequence& sequence);
  /// The same; `steps` are all steps of the sequence.
  void keep_end(std::span<const StepInput> steps, const Sequence& sequence);

  /// Writes to the folder what is not there yet, and keeps the folder within its limit.
  void flush();

  /// Steps that the last prefill() did not have to compute.
  [[nodiscard]] size_t cached_steps() const { return cached_steps_; }
  [[nodiscard]] size_t num_prompts() const { return prompts_.size(); }
  /// Bytes of keys, values and convolution inputs that are kept in memory.
  [[nodiscard]] size_t memory_bytes() const;
  /// Files of the folder that were damaged, and have been removed.
  [[nodiscard]] size_t damaged_files() const { return disk_ ? disk_->damaged_files() : 0; }
  /// States that could not be written to the folder.
  [[nodiscard]] size_t failed_writes() const { return disk_ ? disk_->failed_writes() : 0; }
  /// Empties the memory. Files stay.
  void clear();

 private:
  struct Entry {
    Sequence sequence;       // the state after the steps that it is found by
    size_t num_prompts = 0;  // kept prompts that go through it
    bool is_end = false;     // in ends_
  };
  using Entries = std::map<ContentHash, Entry>;
  Result<Sequence> find(const model::lfm2::Backbone& backbone, DType kv_type,
                        std::span<const ContentHash> contents);
  [[nodiscard]] const Sequence* known(const ContentHash& content,
                                      const model::lfm2::Backbone& backbone, DType kv_type) const;
  void keep_prompt(std::vector<ContentHash> kept);
  void release(const std::vector<ContentHash>& chain);
  void release_ends();
  void drop_unused(Entries::iterator entry);
  void spill(const Sequence& sequence);

  size_t max_prompts_;
  size_t max_ends_;
  std::unique_ptr<PrefixCacheDisk> disk_;
  size_t cached_steps_ = 0;
  Entries entries_;
  std::list<std::vector<ContentHash>>
      prompts_;                  // the kept blocks of each; most recently used first
  std::list<ContentHash> ends_;  // most recently used first
  std::vector<Sequence> read_;   // states of full blocks that the last find() got from the folder
};

}  // namespace rill::session
