// SPDX-License-Identifier: Apache-2.0
// Scheduler: many replies at once. Each step is one pass over the weights for all active sequences:
// a token for each reply, and a bounded piece of the prompts. Sequences join and leave between
// steps; each gets the bits that it would get alone.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <span>
#include <vector>

#include "base/result.h"
#include "session/generator.h"
#include "session/prefix_cache.h"
#include "session/sequence.h"
#include "session/token_constraint.h"

namespace rill::session {

struct SchedulerOptions {
  size_t max_active = 16;  ///< sequences in a pass, at least 1, at most 256; others wait in order
  size_t prompt_steps = 128;  ///< of all prompts, in a pass that also makes tokens; at least 1
  PrefixCache* cache =
      nullptr;  ///< where prompts start from and are kept; may be null; outlives it
};

/// What to do for one sequence.
struct ScheduledRequest {
  Sequence sequence;  ///< empty, or a prefix of the prompt that is already there
  std::vector<StepInput>
      prompt;  ///< the steps after it; rows must stay alive until the first token
  GenerateOptions options;
  TokenConstraint* constraint = nullptr;  ///< may be null; outlives the reply
  std::vector<int32_t> observed = {};     ///< tokens for Generator::observe_prompt
};

/// Threading: one thread. The cancel flags of requests may be set from any.
class Scheduler {
 public:
  using Id = uint64_t;

  /// What happened to one sequence in a step.
  struct Event {
    Id id = 0;
    std::optional<int32_t> token;                ///< the next one of the reply
    StopReason stop_reason = StopReason::kNone;  ///< not kNone: the reply has ended
    std::optional<Error> error;                  ///< the reply has ended with it
    [[nodiscard]] bool is_last() const {
      return stop_reason != StopReason::kNone || error.has_value();
    }
  };
  /// A sequence that has left.
  struct Finished {
    Sequence sequence;  ///< not usable after an error of its own
    GenerationState state;
    StopReason stop_reason = StopReason::kNone;
    std::optional<Error> error;
    size_t cached_steps = 0;  ///< of the prompt that the cache had
  };

  explicit Scheduler(const model::lfm2::Backbone& backbone, SchedulerOptions options = {});

  /// Takes a request in; its events carry the id.
  /// Errors: kInvalidArgument (another backbone, a sequence that is not usable, no step at all),
  /// kContextFull (the prompt does not fit), those of PrefixCache::restore. Steps are checked when
  /// they are made.
  Result<Id> add(ScheduledRequest request);

  /// One pass. Each event is of another sequence. What goes wrong with one sequence is its event's
  /// error; only trouble with the pass itself (scratch memory) ends all that took part.
  /// Lifetime: until the next call. Cost: no heap allocation while replies are made, beyond the
  /// KV blocks, unless a constraint or a penalty allocates.
  std::span<const Event> step(ops::Context& context);

  /// Ends a request with the next step (StopReason::kCancelled). Errors: kNotFound.
  Status cancel(Id id);
  /// The sequence of a reply that has ended; the scheduler forgets it.
  /// Errors: kNotFound, kBusy (it has not ended).
  Result<Finished> take(Id id);

  [[nodiscard]] bool idle() const { return active_.empty() && waiting_.empty(); }
  [[nodiscard]] size_t num_active() const { return active_.size(); }
  [[nodiscard]] size_t num_waiting() const { return waiting_.size(); }

 private:
  struct Job {
    Job(Id number, ScheduledRequest request);
    [[nodiscard]] bool is_prefilling() const { return done < prompt.size(); }

    Id id;
    Sequence sequence;
    std::vector<StepInput> prompt;
    size_t done = 0;  // steps of the prompt that are made
    const std::atomic<bool>* cancel;
    bool is_cancelled = false;
    Generator generator;  // of the sequence above
    StepInput pending;    // what the pass appends while the reply is made
    size_t share = 0;     // steps of the prompt in this pass
    size_t goal = 0;      // position after this pass
    size_t cached_steps = 0;
    std::vector<Sequence> blocks;  // states after full blocks of the prompt, for the cache
    StopReason stop_reason = StopReason::kNone;
    std::optional<Error> error;
  };
  using JobPtr = std::unique_ptr<Job>;

  void admit();
  void begin_step();
  void share_out();
  void extend(ops::Context& context);
  void choose(ops::Context& context);
  void retire();
  void keep_prompt(Job& job);
  void end(Job& job, StopReason reason);
  void fail(Job& job, Error error);
  [[nodiscard]] Job* find(Id id);

  const model::lfm2::Backbone* backbone_;
  SchedulerOptions options_;
  Id last_id_ = 0;
  std::deque<JobPtr> waiting_;
  std::vector<JobPtr> active_;
  std::vector<JobPtr> finished_;
  size_t turn_ = 0;  // who gets its share of a pass first
  // Of the current step.
  std::vector<Event> events_;
  std::vector<Job*> in_pass_;
  std::vector<Sequence::Extension> extensions_;
  std::vector<Job*> choosing_;
  std::vector<Sequence*> choosing_sequences_;
};

}  // namespace rill::session
