// SPDX-License-Identifier: Apache-2.0
// Sampler: picks the next token (or code) from logits. The same seed gives the same pick on every
// machine.
#pragma once

#include <cstddef>
#include <cstdint>
#include <deque>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "base/result.h"

namespace rill::session {

/// How to pick. The defaults are greedy decoding.
struct SamplerOptions {
  float temperature = 0.0f;  ///< 0 or less: the first maximum (greedy)
  size_t top_k = 0;          ///< keep the k largest, ties at the k-th included; 0: all; 1: greedy
  float top_p = 1.0f;        ///< keep the most likely candidates that together reach top_p; 1: all
  float min_p =
      0.0f;  ///< keep candidates with at least min_p times the largest probability; 0: all
  float repetition_penalty = 1.0f;  ///< over prompt and reply; 1: none
  size_t repetition_window = 0;     ///< last tokens that the repetition penalty sees; 0: all
  float presence_penalty = 0.0f;    ///< subtracted once for a token of the reply; 0: none
  float frequency_penalty = 0.0f;   ///< subtracted for each occurrence in the reply; 0: none
  std::vector<std::pair<int32_t, float>>
      logit_bias;  ///< (token, value added); -infinity bans the token
  uint64_t seed = 0;
  uint64_t stream = 0;  ///< separates sequences that share a seed
};

/// Errors: kInvalidArgument, naming the option.
Status validate_sampler_options(const SamplerOptions& options, size_t vocab_size);

/// What a sampler knows of its sequence, for saving it.
struct SamplerHistory {
  uint64_t step = 0;            ///< draws so far
  std::vector<int32_t> window;  ///< last tokens, oldest first; empty without repetition_window
  using Counts = std::vector<std::pair<int32_t, uint32_t>>;
  Counts seen;     ///< (token, occurrences) that the repetition penalty counts; ascending tokens
  Counts replied;  ///< (token, occurrences) in the reply, as far as penalties look at them
};

/// Picks tokens for one sequence. Order: bias and penalties, temperature, top-k, top-p, min-p.
class Sampler {
 public:
  explicit Sampler(SamplerOptions options) : options_(std::move(options)) {}

  /// Tells the penalties about a token of the prompt.
  void observe_prompt(int32_t token);
  /// Tells the penalties about a token of the reply.
  void observe_reply(int32_t token);

  /// Picks from finite logits [V] and counts the step. Unless `allowed` is empty, a token whose bit
  /// (i % 64 of word i / 64) is clear is banned before anything else is looked at.
  /// Shape: allowed [ceil(V / 64)]. Errors: kInvalidArgument (every token is banned).
  Result<int32_t> pick(std::span<const float> logits, std::span<const uint64_t> allowed = {});

  /// The probabilities that pick() would draw from; 0 for what was cut. Shapes: logits, out [V].
  void probabilities(std::span<const float> logits, std::span<float> out);

  /// Draws so far; a restored sequence continues with the saved value.
  [[nodiscard]] uint64_t step() const { return step_; }
  void set_step(uint64_t step) { step_ = step; }
  [[nodiscard]] SamplerHistory history() const;
  /// Continues where another sampler with the same options stood.
  /// Errors: kInvalidArgument (a history of other penalties: longer than the window, or without
  /// it); nothing has changed then.
  Status restore(const SamplerHistory& history);
  [[nodiscard]] const SamplerOptions& options() const { return options_; }

 private:
  struct Candidate {
    float logit;
    int32_t id;
    double weight;  // exp(logit - largest logit)
  };

  [[nodiscard]] bool is_greedy() const {
    return options_.temperature <= 0.0f || options_.top_k == 1;
  }
  [[nodiscard]] bool has_penalties() const;
  std::span<const float> apply_penalties(std::span<const float> logits,
                                         std::span<const uint64_t> allowed);
  void select(std::span<const float> logits);  // fills candidates_, in order where needed
  [[nodiscard]] double total_weight() const;
  static Error all_banned();
  float top_k_threshold(std::span<const float> logits);
  void drop_far_below(float largest);
  void keep_top_p();
  void keep_min_p();
  void order_prefix(size_t count);  // at least so many, in the order of the draw

  SamplerOptions options_;
  uint64_t step_ = 0;
  std::deque<int32_t> history_;                    // prompt and reply, for the repetition window
  std::unordered_map<int32_t, uint32_t> seen_;     // occurrences within that window
  std::unordered_map<int32_t, uint32_t> replied_;  // occurrences in the reply
  std::vector<float> adjusted_;                    // logits after bias and penalties
  std::vector<Candidate> candidates_;
  std::vector<float> largest_;  // of top_k_threshold
  size_t ordered_ = 0;          // candidates_[0, ordered_) are sorted and in front of all others
};

}  // namespace rill::session
