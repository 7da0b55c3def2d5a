// SPDX-License-Identifier: Apache-2.0
#include "session/sampler.h"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>

#include "base/det_math.h"
#include "base/str_cat.h"
#include "ops/elementwise.h"
#include "session/philox.h"

namespace rill::session {
namespace {

Error bad_option(const char* name, double got, const char* expected) {
  return Error{ErrorCode::kInvalidArgument,
               cat("sampling: ", name, ": got ", got, ", expected ", expected)};
}

/// Unless `allowed` is empty: minus infinity for every token whose bit is clear.
void ban_others(std::span<const uint64_t> allowed, std::span<float> logits) {
  if (allowed.empty()) return;
  RILL_CHECK(allowed.size() == (logits.size() + 63) / 64, "sampling: one bit for each token");
  for (size_t i = 0; i < logits.size(); ++i) {
    if ((allowed[i / 64] >> (i % 64) & 1) == 0) logits[i] = -std::numeric_limits<float>::infinity();
  }
}

}  // namespace

Status validate_sampler_options(const SamplerOptions& options, size_t vocab_size) {
  // Written so that NaN fails too.
  if (!(options.temperature >= 0.0f && options.temperature <= 100.0f)) {
    return bad_option("temperature", options.temperature, "0 to 100");
  }
  if (!(options.top_p > 0.0f && options.top_p <= 1.0f))
    return bad_option("top_p", options.top_p, "above 0, at most 1");
  if (!(options.min_p >= 0.0f && options.min_p <= 1.0f))
    return bad_option("min_p", options.min_p, "0 to 1");
  if (!(options.repetition_penalty > 0.0f && options.repetition_penalty <= 100.0f)) {
    return bad_option("repetition_penalty", options.repetition_penalty, "above 0, at most 100");
  }
  if (!(std::fabs(options.presence_penalty) <= 100.0f)) {
    return bad_option("presence_penalty", options.presence_penalty, "-100 to 100");
  }
  if (!(std::fabs(options.frequency_penalty) <= 100.0f)) {
    return bad_option("frequency_penalty", options.frequency_penalty, "-100 to 100");
  }
  for (const auto& [token, bias] : options.logit_bias) {
    if (token < 0 || static_cast<size_t>(token) >= vocab_size) {
      return bad_option("logit_bias: token", token, cat("0 to ", vocab_size - 1).c_str());
    }
    const bool bans = bias == -std::numeric_limits<float>::infinity();
    if (!bans && !std::isfinite(bias))
      return bad_option("logit_bias", bias, "a finite number or -infinity");
  }
  return {};
}

void Sampler::observe_prompt(int32_t token) {
  const bool penalizes = options_.repetition_penalty != 1.0f;
  if (!penalizes) return;
  ++seen_[token];
  if (options_.repetition_window == 0) return;
  history_.push_back(token);
  if (history_.size() > options_.repetition_window) {
    const auto oldest = seen_.find(history_.front());
    if (--oldest->second == 0) seen_.erase(oldest);
    history_.pop_front();
  }
}

void Sampler::observe_reply(int32_t token) {
  observe_prompt(token);
  if (options_.presence_penalty != 0.0f || options_.frequency_penalty != 0.0f) ++replied_[token];
}

bool Sampler::has_penalties() const {
  return !options_.logit_bias.empty() || !seen_.empty() || !replied_.empty();
}

std::span<const float> Sampler::apply_penalties(std::span<const float> logits,
                                                std::span<const uint64_t> allowed) {
  if (!has_penalties() && allowed.empty()) return logits;
  adjusted_.assign(logits.begin(), logits.end());
  // No bias or penalty brings a banned token back: it stays at minus infinity.
  ban_others(allowed, adjusted_);
  const auto known = [&](int32_t token) {
    return token >= 0 && static_cast<size_t>(token) < adjusted_.size();
  };
  for (const auto& [token, bias] : options_.logit_bias) {
    if (known(token)) adjusted_[static_cast<size_t>(token)] += bias;
  }
  // Each token is changed on its own, so the order of the maps does not matter.
  for (const auto& [token, count] : seen_) {
    if (!known(token)) continue;
    float& logit = adjusted_[static_cast<size_t>(token)];
    logit =
        logit > 0.0f ? logit / options_.repetition_penalty : logit * options_.repetition_penalty;
  }
  for (const auto& [token, count] : replied_) {
    if (!known(token)) continue;
    adjusted_[static_cast<size_t>(token)] -=
        options_.presence_penalty + options_.frequency_penalty * static_cast<float>(count);
  }
  return adjusted_;
}

double Sampler::total_weight() const {
  double total = 0.0;
  for (const Candidate& c : candidates_) total += c.weight;
  return total;
}

void Sampler::order_prefix(size_t count) {
  if (count <= ordered_) return;
  // Growing by doubling: most draws end among the first candidates, and a whole vocabulary is slow
  // to sort.
  count = std::min(std::max({count, size_t{64}, 2 * ordered_}), candidates_.size());
  const auto before = [](const Candidate& a, const Candidate& b) {
    return a.logit != b.logit ? a.logit > b.logit : a.id < b.id;
  };
  const auto at = [&](size_t index) {
    return candidates_.begin() + static_cast<std::ptrdiff_t>(index);
  };
  if (count < candidates_.size())
    std::nth_element(at(ordered_), at(count), candidates_.end(), before);
  std::sort(at(ordered_), at(count), before);
  ordered_ = count;
}

/// The k-th largest of the scaled logits, of which all that are not below it stay; minus infinity
/// if there are no more than k.
float Sampler::top_k_threshold(std::span<const float> logits) {
  const size_t k = options_.top_k;
  constexpr float kNone = -std::numeric_limits<float>::infinity();
  if (k == 0 || k >= logits.size()) return kNone;
  // A heap of the k largest so far, the smallest in front: most logits are below it and cost one
  // comparison.
  largest_.clear();
  for (const float logit : logits) {
    const float scaled = logit / options_.temperature;
    if (largest_.size() == k) {
      if (!(scaled > largest_.front())) continue;
      std::pop_heap(largest_.begin(), largest_.end(), std::greater<>());
      largest_.pop_back();
    }
    largest_.push_back(scaled);
    std::push_heap(largest_.begin(), largest_.end(), std::greater<>());
  }
  return largest_.front();
}

void Sampler::keep_top_p() {
  if (options_.top_p >= 1.0f) return;
  const double goal = static_cast<double>(options_.top_p) * total_weight();
  double sum = 0.0;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    order_prefix(i + 1);
    sum += candidates_[i].weight;
    if (sum < goal) continue;
    candidates_.resize(i + 1);
    ordered_ = i + 1;
    return;
  }
}

void Sampler::keep_min_p() {
  if (options_.min_p <= 0.0f) return;
  // The largest weight is exp(0) = 1.
  const auto least = static_cast<double>(options_.min_p);
  const auto cut = std::remove_if(candidates_.begin(), candidates_.end(),
                                  [&](const Candidate& c) { return c.weight < least; });
  candidates_.erase(cut, candidates_.end());
  ordered_ = std::min(ordered_, candidates_.size());  // what is cut lies behind what stays
}

/// Leaves out most of what keep_min_p() would cut, before its exponential is computed. The margin
/// is far above any rounding, so this never decides anything.
void Sampler::drop_far_below(float largest) {
  // With top-p the sum runs over all candidates first.
  if (options_.min_p <= 0.0f || options_.top_p < 1.0f) return;
  const double least = static_cast<double>(largest) + std::log(static_cast<double>(options_.min_p));
  const double margin = 1e-3 * (1.0 + std::fabs(least));
  const auto cut = std::remove_if(candidates_.begin(), candidates_.end(), [&](const Candidate& c) {
    return static_cast<double>(c.logit) < least - margin;
  });
  candidates_.erase(cut, candidates_.end());
}

void Sampler::select(std::span<const float> logits) {
  candidates_.clear();
  ordered_ = 0;
  const float threshold = top_k_threshold(logits);
  for (size_t i = 0; i < logits.size(); ++i) {
    if (logits[i] == -std::numeric_limits<float>::infinity()) continue;
    const float scaled = logits[i] / options_.temperature;
    if (scaled < threshold) continue;
    candidates_.push_back({scaled, static_cast<int32_t>(i), 0.0});
  }
  if (candidates_.empty()) return;
  float largest = candidates_[0].logit;
  for (const Candidate& c : candidates_) largest = std::max(largest, c.logit);
  drop_far_below(largest);
  for (Candidate& c : candidates_) {
    c.weight = det::exp(static_cast<double>(c.logit) - static_cast<double>(largest));
  }
  keep_top_p();
  keep_min_p();
}

Result<int32_t> Sampler::pick(std::span<const float> raw_logits,
                              std::span<const uint64_t> allowed) {
  const std::span<const float> logits = apply_penalties(raw_logits, allowed);
  const uint64_t step = step_++;
  if (is_greedy()) {
    const size_t best = ops::argmax(logits);
    if (logits[best] == -std::numeric_limits<float>::infinity()) return all_banned();
    return static_cast<int32_t>(best);
  }
  select(logits);
  if (candidates_.empty()) return all_banned();
  const double goal = philox_uniform(options_.seed, options_.stream, step) * total_weight();
  double sum = 0.0;
  for (size_t i = 0; i < candidates_.size(); ++i) {
    order_prefix(i + 1);
    sum += candidates_[i].weight;
    if (sum > goal) return candidates_[i].id;
  }
  return candidates_.back().id;
}

Error Sampler::all_banned() {
  return Error{ErrorCode::kInvalidArgument, "sampling: every token is banned"};
}

void Sampler::probabilities(std::span<const float> raw_logits, std::span<float> out) {
  const std::span<const float> logits = apply_penalties(raw_logits, {});
  std::fill(out.begin(), out.end(), 0.0f);
  if (is_greedy()) {
    out[ops::argmax(logits)] = 1.0f;
    return;
  }
  select(logits);
  const double total = total_weight();
  for (const Candidate& c : candidates_)
    out[static_cast<size_t>(c.id)] = static_cast<float>(c.weight / total);
}

SamplerHistory Sampler::history() const {
  SamplerHistory out;
  out.step = step_;
  out.window.assign(history_.begin(), history_.end());
  out.seen.assign(seen_.begin(), seen_.end());
  out.replied.assign(replied_.begin(), replied_.end());
  std::sort(out.seen.begin(), out.seen.end());
  std::sort(out.replied.begin(), out.replied.end());
  return out;
}

Status Sampler::restore(const SamplerHistory& history) {
  const size_t window = options_.repetition_window;
  const bool counts_window = options_.repetition_penalty != 1.0f && window > 0;
  if (counts_window && history.window.empty() && !history.seen.empty()) {
    return Error{ErrorCode::kInvalidArgument,
                 "restore sampler: repetition_window: got a history without one, expected one of "
                 "the same options"};
  }
  if (history.window.size() > (counts_window ? window : 0)) {
    return Error{ErrorCode::kInvalidArgument,
                 cat("restore sampler: repetition_window: got a history of ", history.window.size(),
                     " tokens, expected at most ", counts_window ? window : 0)};
  }
  step_ = history.step;
  history_.assign(history.window.begin(), history.window.end());
  seen_.clear();
  replied_.clear();
  // Counted anew, so that no saved count can contradict the window.
  for (const int32_t token : history.window) ++seen_[token];
  if (!counts_window) seen_.insert(history.seen.begin(), history.seen.end());
  replied_.insert(history.replied.begin(), history.replied.end());
  return {};
}

}  // namespace rill::session
