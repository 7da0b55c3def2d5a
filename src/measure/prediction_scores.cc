// SPDX-License-Identifier: Apache-2.0
#include "measure/prediction_scores.h"

#include <algorithm>
#include <cmath>

#include "base/det_math.h"
#include "ops/elementwise.h"

namespace rill::measure {
namespace {

/// log(sum(exp(logits))): subtracted from a logit, it gives the logarithm of a probability.
double log_sum_exp(std::span<const float> logits) {
  const double largest = *std::max_element(logits.begin(), logits.end());
  double sum = 0;
  for (const float logit : logits) sum += det::exp(logit - largest);
  return largest + det::log(sum);
}

struct MeanError {
  double mean = 0;
  double error = 0;  // one standard error
};

template <typename Items, typename Get>
MeanError mean_of(const Items& items, const Get& get) {
  double sum = 0;
  double squares = 0;
  for (const auto& item : items) {
    const double value = get(item);
    sum += value;
    squares += value * value;
  }
  const auto count = static_cast<double>(items.size());
  const double mean = sum / count;
  const double variance = std::max(squares / count - mean * mean, 0.0);
  return {mean, items.size() > 1 ? std::sqrt(variance / (count - 1)) : 0.0};
}

double quantile(const std::vector<double>& sorted, double part) {
  const auto last = static_cast<double>(sorted.size() - 1);
  return sorted[static_cast<size_t>(last * part)];
}

}  // namespace

PredictionScores::Prediction PredictionScores::score(std::span<const float> logits,
                                                     int32_t target) {
  Prediction prediction;
  prediction.nll = log_sum_exp(logits) - logits[static_cast<size_t>(target)];
  return prediction;
}

void PredictionScores::compare(std::span<const float> logits, std::span<const float> reference,
                               int32_t target, Prediction& prediction) {
  const double all = prediction.nll + logits[static_cast<size_t>(target)];
  const double reference_all = log_sum_exp(reference);
  prediction.reference_nll = reference_all - reference[static_cast<size_t>(target)];
  prediction.same_top = ops::argmax(logits) == ops::argmax(reference);
  double kl = 0;
  double sum = 0;
  double squares = 0;
  for (size_t v = 0; v < logits.size(); ++v) {
    const double theirs = reference[v] - reference_all;
    kl += det::exp(theirs) * (theirs - (logits[v] - all));
    const double distance = double{logits[v]} - double{reference[v]};
    sum += distance;
    squares += distance * distance;
  }
  const auto count = static_cast<double>(logits.size());
  prediction.kl = std::max(kl, 0.0);  // rounding may leave a little less than 0
  const double mean = sum / count;
  prediction.logit_rms = std::sqrt(std::max(squares / count - mean * mean, 0.0));
}

void PredictionScores::add(ThreadPool& pool, ConstMat logits, ConstMat reference,
                           std::span<const int32_t> targets) {
  const size_t before = predictions_.size();
  predictions_.resize(before + logits.rows);
  const bool compared = reference.rows > 0;
  compared_ = compared_ || compared;
  pool.parallel_for(logits.rows, [&](size_t t) {
    const std::span<const float> row(logits.row(t), logits.cols);
    Prediction prediction = score(row, targets[t]);
    if (compared) compare(row, {reference.row(t), reference.cols}, targets[t], prediction);
    predictions_[before + t] = prediction;
  });
}

void PredictionScores::report(Json& out) const {
  const MeanError nll = mean_of(predictions_, [](const Prediction& p) { return p.nll; });
  const double perplexity = det::exp(nll.mean);
  out.set("scored", Json::integer(static_cast<int64_t>(predictions_.size())));
  out.set("mean_nll", Json::number(nll.mean));
  out.set("perplexity", Json::number(perplexity));
  out.set("perplexity_error", Json::number(perplexity * nll.error));
  if (!compared_) return;
  const auto reference = mean_of(predictions_, [](const Prediction& p) { return p.reference_nll; });
  const auto kl = mean_of(predictions_, [](const Prediction& p) { return p.kl; });
  const auto same =
      mean_of(predictions_, [](const Prediction& p) { return p.same_top ? 1.0 : 0.0; });
  const auto rms = mean_of(predictions_, [](const Prediction& p) { return p.logit_rms; });
  std::vector<double> sorted;
  for (const Prediction& p : predictions_) sorted.push_back(p.kl);
  std::sort(sorted.begin(), sorted.end());
  out.set("reference_mean_nll", Json::number(reference.mean));
  out.set("reference_perplexity", Json::number(det::exp(reference.mean)));
  out.set("mean_kl", Json::number(kl.mean));
  out.set("mean_kl_error", Json::number(kl.error));
  out.set("kl_median", Json::number(quantile(sorted, 0.5)));
  out.set("kl_p99", Json::number(quantile(sorted, 0.99)));
  out.set("kl_max", Json::number(sorted.back()));
  out.set("top1_agreement", Json::number(same.mean));
  out.set("top1_agreement_error", Json::number(same.error));
  out.set("mean_logit_rms", Json::number(rms.mean));
}

}  // namespace rill::measure
