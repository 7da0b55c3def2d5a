// SPDX-License-Identifier: Apache-2.0
#include "measure/perplexity.h"

#include <gtest/gtest.h>

#include <cmath>
#include <cstdio>
#include <fstream>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "base/arena.h"
#include "kernels/kernel_table.h"
#include "measure/prediction_scores.h"
#include "model/lfm2/load.h"
#include "session/sequence.h"

namespace rill::measure {
namespace {

const std::string kDense = std::string(RILL_TEST_DATA) + "/models/text/gguf/dense_a-mixed.gguf";
const std::string kSparse = std::string(RILL_TEST_DATA) + "/models/text/gguf/moe_8x2-mixed.gguf";

/// Ids that do not repeat in a pattern, as text.
std::string some_ids(size_t count) {
  std::string text;
  uint32_t state = 7;
  for (size_t i = 0; i < count; ++i) {
    state = state * 1664525u + 1013904223u;
    text += std::to_string((state >> 12) % 1000) + " ";
  }
  return text;
}

class Bench {
 public:
  explicit Bench(size_t threads) : pool_(std::move(ThreadPool::create(threads)).value()) {}
  ops::Context context() {
    return {&kernels::kernel_table(IsaTier::kScalar), pool_.get(), &scratch_};
  }
  ThreadPool& pool() { return *pool_; }

  Json measure(const PerplexityOptions& options) {
    ops::Context context = this->context();
    auto report = measure_perplexity(context, options);
    EXPECT_TRUE(report) << report.error().message;
    return std::move(report).value();
  }
  std::string failure(const PerplexityOptions& options) {
    ops::Context context = this->context();
    const auto report = measure_perplexity(context, options);
    return report ? "" : report.error().message;
  }

 private:
  std::unique_ptr<ThreadPool> pool_;
  Arena scratch_;
};

double number(const Json& report, const char* key) { return report.find(key)->as_double(); }

TEST(PredictionScores, EqualLogitsAreAsLikelyAsChance) {
  Bench bench(1);
  std::vector<float> logits(2 * 50, 3.0f);
  PredictionScores scores;
  scores.add(bench.pool(), {logits.data(), 2, 50, 50}, {}, std::vector<int32_t>{0, 49});
  Json report = Json::object();
  scores.report(report);
  EXPECT_NEAR(number(report, "mean_nll"), std::log(50.0), 1e-12);
  EXPECT_NEAR(number(report, "perplexity"), 50.0, 1e-9);
  EXPECT_EQ(report.find("mean_kl"), nullptr);
}

TEST(PredictionScores, ComparesWithTheReference) {
  Bench bench(1);
  // P(reference) = {0.75, 0.25}, P(model) = {0.5, 0.5}.
  const float big = std::log(3.0f);
  std::vector<float> reference = {big, 0.0f};
  std::vector<float> logits = {1.0f, 1.0f};
  PredictionScores scores;
  scores.add(bench.pool(), {logits.data(), 1, 2, 2}, {reference.data(), 1, 2, 2},
             std::vector<int32_t>{1});
  Json report = Json::object();
  scores.report(report);
  const double kl = 0.75 * std::log(0.75 / 0.5) + 0.25 * std::log(0.25 / 0.5);
  EXPECT_NEAR(number(report, "mean_kl"), kl, 1e-6);
  EXPECT_NEAR(number(report, "reference_mean_nll"), std::log(4.0), 1e-6);
  EXPECT_NEAR(number(report, "mean_logit_rms"), big / 2, 1e-6);
  EXPECT_EQ(number(report, "top1_agreement"), 1.0);
}

// Against the definition: one token at a time, with the C library's logarithm.
TEST(Perplexity, IsThatOfTheTokensAfterTheMiddleOfEachWindow) {
  Bench bench(2);
  const std::string text = some_ids(40);
  PerplexityOptions options{.model = kDense, .text = text, .text_is_ids = true, .window = 16};
  const Json report = bench.measure(options);
  EXPECT_EQ(number(report, "windows"), 2);
  EXPECT_EQ(number(report, "scored"), 2 * 7);

  auto file = format::GgufFile::open(kDense);
  auto backbone = model::lfm2::load_gguf(*file, {}, bench.pool());
  std::vector<int32_t> ids;
  for (size_t at = 0; at < text.size(); at = text.find(' ', at) + 1)
    ids.push_back(std::stoi(text.substr(at)));
  double sum = 0;
  ops::Context context = bench.context();
  for (const size_t begin : {size_t{0}, size_t{16}}) {
    auto sequence = session::Sequence::create(**backbone, DType::kF32);
    for (size_t i = 0; i < 15; ++i) {
      ASSERT_TRUE(sequence->append_token(context, ids[begin + i]));
      if (i < 8) continue;
      const auto logits = sequence->logits(context);
      double total = 0;
      for (const float logit : *logits) total += std::exp(double{logit});
      sum += std::log(total) - (*logits)[static_cast<size_t>(ids[begin + i + 1])];
    }
  }
  EXPECT_NEAR(number(report, "mean_nll"), sum / 14, 1e-6);
}

TEST(Perplexity, StrideScoresEachTokenOnce) {
  Bench bench(1);
  PerplexityOptions options{
      .model = kDense, .text = some_ids(40), .text_is_ids = true, .window = 16, .stride = 4};
  const Json report = bench.measure(options);
  EXPECT_EQ(number(report, "windows"), 7);
  EXPECT_EQ(number(report, "scored"), 7 * 4);
}

TEST(Perplexity, ModelIsNoDistanceFromItself) {
  Bench bench(1);
  const Json report = bench.measure({.model = kSparse,
                                     .reference = kSparse,
                                     .text = "The quick brown fox jumps over the lazy dog",
                                     .window = 16});
  EXPECT_EQ(number(report, "mean_kl"), 0);
  EXPECT_EQ(number(report, "top1_agreement"), 1);
  EXPECT_EQ(number(report, "mean_nll"), number(report, "reference_mean_nll"));
}

TEST(Perplexity, ThreadsChangeNothing) {
  PerplexityOptions options{.model = kDense,
                            .reference = kDense,
                            .text = some_ids(150),
                            .text_is_ids = true,
                            .window = 128,
                            .kv_type = DType::kF16};
  EXPECT_EQ(Bench(1).measure(options).dump(), Bench(3).measure(options).dump());
}

TEST(Perplexity, WritesTheScoredLogits) {
  Bench bench(1);
  const std::string path = testing::TempDir() + "rill_perplexity_logits.f32";
  PerplexityOptions options{.model = kDense,
                            .text = some_ids(20),
                            .text_is_ids = true,
                            .window = 16,
                            .logits_path = path};
  const Json report = bench.measure(options);
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  EXPECT_EQ(static_cast<size_t>(file.tellg()), 7u * 1024 * sizeof(float));
  std::remove(path.c_str());
}

TEST(Perplexity, RefusesWhatCannotBeMeasured) {
  Bench bench(1);
  PerplexityOptions options{.model = kDense, .text = "1 2 3", .text_is_ids = true};
  EXPECT_NE(bench.failure(options).find("3 tokens"), std::string::npos);
  options.text = "1 2 x";
  EXPECT_NE(bench.failure(options).find("entry 2: got 'x'"), std::string::npos);
  options.text = "1 2 3 4000000";
  EXPECT_NE(bench.failure(options).find("4000000"), std::string::npos);
  options.text = "1 2 3 4 5";
  options.window = 3;
  EXPECT_NE(bench.failure(options).find("window"), std::string::npos);
  options.window = 8;
  options.stride = 9;
  EXPECT_NE(bench.failure(options).find("stride"), std::string::npos);
  options.model = "nosuch.gguf";
  EXPECT_NE(bench.failure(options).find("nosuch.gguf"), std::string::npos);
}

TEST(Perplexity, StopsWhenAsked) {
  Bench bench(1);
  PerplexityOptions options{
      .model = kDense, .text = some_ids(64), .text_is_ids = true, .window = 16};
  options.progress = [](double) { return false; };
  EXPECT_NE(bench.failure(options).find("cancelled"), std::string::npos);
}

}  // namespace
}  // namespace rill::measure
