// SPDX-License-Identifier: Apache-2.0
// PrefixCache: keeps the state after every full block of a prefill and where a prompt or a reply
// ended, so that a prompt that starts like an earlier one runs only what is new. Found by content,
// so it changes no bit: only time.
#pragma once

#include <array>
#include <atomic>
#include <cstddef>
#include <cstdint>
#include <list>
#include <map>
#include <span>
#include <vector>

#include "base/result.h"
#include "model/lfm2/backbone.h"
#include "ops/context.h"
#include "session/sequence.h"
#include "session/step_input.h"

namespace rill::session {

/// Threading: one thread. All sequences must be of one backbone and kv_type.
class PrefixCache {
 public:
  /// Steps per kept block: a block of the KV cache, so that states share their blocks.
  static constexpr size_t kBlockSteps = ops::kKvBlockPositions;

  /// Keeps the blocks of up to max_prompts prompts (blocks that prompts share count once); 0 keeps
  /// nothing.
  explicit PrefixCache(size_t max_prompts) : max_prompts_(max_prompts) {}

  /// A sequence that holds the prompt: restored from the longest kept prefix, the rest computed;
  /// its own full blocks are kept. Unless all of it was kept by keep_end(), at least the last step
  /// is computed. Errors: those of Sequence::create and Sequence::append; nothing is kept then.
  Result<Sequence> prefill(ops::Context& context, const model::lfm2::Backbone& backbone,
                           DType kv_type, std::span<const StepInput> steps,
                           const std::atomic<bool>* cancel = nullptr);

  /// Keeps a sequence as it is, for a prompt that starts with its steps: the end of a prompt or of
  /// a reply, wherever in a block that is. `steps` are all steps of the sequence. Keeps up to
  /// kEndsPerPrompt * max_prompts of them, the most recently used ones.
  void keep_end(std::span<const StepInput> steps, const Sequence& sequence);
  static constexpr size_t kEndsPerPrompt = 2;

  /// Steps that the last prefill() did not have to compute.
  [[nodiscard]] size_t cached_steps() const { return cached_steps_; }
  [[nodiscard]] size_t num_prompts() const { return prompts_.size(); }
  /// Bytes of keys, values and convolution inputs that are kept.
  [[nodiscard]] size_t memory_bytes() const;
  void clear();

 private:
  using Hash = std::array<uint8_t, 32>;
  struct Block {
    Sequence sequence;       // the state after the block
    size_t num_prompts = 0;  // kept prompts that go through it
  };
  struct End {
    Hash hash;  // of all steps
    Sequence sequence;
  };

  static std::vector<Hash> hash_blocks(std::span<const StepInput> steps);
  static Hash hash_end(std::span<const Hash> chain, std::span<const StepInput> steps);
  const Sequence* find_end(std::span<const Hash> chain, std::span<const StepInput> steps);
  void keep_prompt(const std::vector<Hash>& chain);
  void release(const std::vector<Hash>& chain);

  size_t max_prompts_;
  size_t cached_steps_ = 0;
  std::map<Hash, Block> blocks_;
  std::list<std::vector<Hash>> prompts_;  // the kept blocks of each; most recently used first
  std::list<End> ends_;                   // most recently used first
};

}  // namespace rill::session
