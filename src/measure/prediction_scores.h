// SPDX-License-Identifier: Apache-2.0
// Sums over predictions: how likely the text was, and how far two models are from each other.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "base/json.h"
#include "base/thread_pool.h"
#include "tensor/tensor.h"

namespace rill::measure {

class PredictionScores {
 public:
  /// Shapes: logits [T, V]; reference [T, V], or no rows; targets [T], the tokens that came.
  void add(ThreadPool& pool, ConstMat logits, ConstMat reference, std::span<const int32_t> targets);

  [[nodiscard]] size_t count() const { return predictions_.size(); }

  /// Adds: scored, mean_nll, perplexity, perplexity_error (one standard error); with a reference
  /// also reference_mean_nll, reference_perplexity, mean_kl (of the reference from the model),
  /// mean_kl_error, kl_median, kl_p99, kl_max, top1_agreement, top1_agreement_error,
  /// mean_logit_rms (distance of the two logit vectors, each about its own mean).
  void report(Json& out) const;

 private:
  struct Prediction {
    double nll = 0;
    double reference_nll = 0;
    double kl = 0;
    double logit_rms = 0;
    bool same_top = false;
  };
  static Prediction score(std::span<const float> logits, int32_t target);
  static void compare(std::span<const float> logits, std::span<const float> reference,
                      int32_t target, Prediction& prediction);

  std::vector<Prediction> predictions_;
  bool compared_ = false;
};

}  // namespace rill::measure
