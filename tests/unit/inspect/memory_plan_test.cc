// SPDX-License-Identifier: Apache-2.0
// The plan against what loading and running a model takes.
#include "inspect/memory_plan.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "inspect/work_plan.h"
#include "kernels/kernel_table.h"
#include "model/lfm2/load.h"

namespace rill::inspect {
namespace {

using model::lfm2::Backbone;
using model::lfm2::Config;
using model::lfm2::LayerKind;

const std::string kModels = std::string(RILL_TEST_DATA) + "/models/text/gguf/";

/// LFM2.5-8B-A1B, as its configuration says.
Config config_8b() {
  Config config;
  config.num_layers = 24;
  config.hidden_size = 2048;
  config.num_heads = 32;
  config.num_kv_heads = 8;
  config.head_dim = 64;
  config.intermediate_size = 7168;
  config.vocab_size = 128000;
  config.context_length = 128000;
  config.conv_L_cache = 3;
  config.num_experts = 32;
  config.num_experts_per_tok = 4;
  config.moe_intermediate_size = 1792;
  config.num_dense_layers = 2;
  config.layer_types.assign(24, LayerKind::kConv);
  for (const size_t i : {2, 6, 10, 14, 18, 21}) config.layer_types[i] = LayerKind::kAttention;
  return config;
}

TEST(PlanOptions, ReadsItsParts) {
  const auto options = parse_plan_options("ctx=32768,batch=4,kv=f32");
  ASSERT_TRUE(options);
  EXPECT_EQ(options->context, 32768u);
  EXPECT_EQ(options->batch, 4u);
  EXPECT_EQ(options->kv_type, DType::kF32);
}

TEST(PlanOptions, RefusesWhatItDoesNotKnow) {
  for (const char* text : {"", "batch=2", "ctx=0", "ctx=x", "ctx=8,kv=q8", "ctx=8,size=3"}) {
    const auto options = parse_plan_options(text);
    ASSERT_FALSE(options) << text;
    EXPECT_EQ(options.error().code, ErrorCode::kInvalidArgument);
  }
}

// The figures of the model's specification.
TEST(TokenWork, CountsOnlyTheExpertsInUse) {
  const TokenWork work = token_work(config_8b());
  EXPECT_EQ(work.feed_forward, 2u * 3 * 2048 * 7168 + 22u * 4 * 3 * 2048 * 1792);
  EXPECT_EQ(work.router, 22u * 65536);
  EXPECT_EQ(work.per_position, 6u * 4096);
  EXPECT_EQ(work.attention, 6u * (2 * 2048 * 2048 + 2 * 512 * 2048));
  EXPECT_EQ(work.conv, 18u * (4 * 2048 * 2048 + 5 * 2048));
  EXPECT_EQ(work.head, 128000u * 2048);
}

class MemoryPlan : public testing::TestWithParam<const char*> {
 protected:
  void SetUp() override {
    pool_ = std::move(ThreadPool::create(2)).value();
    auto file = format::GgufFile::open(kModels + GetParam());
    ASSERT_TRUE(file) << file.error().message;
    file_ = std::make_unique<format::GgufFile>(std::move(file).value());
    auto backbone = model::lfm2::load_gguf(*file_, {}, *pool_);
    ASSERT_TRUE(backbone) << backbone.error().message;
    backbone_ = std::move(backbone).value();
  }

  int64_t planned(const char* key, const char* plan) {
    auto options = parse_plan_options(plan);
    auto report = plan_path(kModels + GetParam(), *options, 2);
    EXPECT_TRUE(report) << report.error().message;
    return report->find("memory")->find(key)->as_int();
  }

  std::unique_ptr<ThreadPool> pool_;
  std::unique_ptr<format::GgufFile> file_;
  std::unique_ptr<Backbone> backbone_;
};

TEST_P(MemoryPlan, WeightsAreThoseOfTheLoadedModel) {
  const auto owned = static_cast<double>(backbone_->weights().owned_bytes());
  EXPECT_NEAR(static_cast<double>(planned("weights_bytes", "ctx=64")), owned, owned * 0.01);
}

TEST_P(MemoryPlan, StateIsThatOfASequence) {
  for (const DType type : {DType::kF16, DType::kF32}) {
    const char* plan = type == DType::kF16 ? "ctx=300,kv=f16" : "ctx=300,kv=f32";
    auto state = model::lfm2::SequenceState::create(backbone_->config(), type);
    ASSERT_TRUE(state && state->reserve(300));
    EXPECT_EQ(planned("kv_bytes", plan) + planned("conv_state_bytes", plan),
              static_cast<int64_t>(state->memory_bytes()));
  }
}

/// Whether a long prompt finds room in scratch memory of this size.
bool fits(const Backbone& backbone, ThreadPool& pool, size_t scratch_bytes) {
  constexpr size_t kSteps = Backbone::kMaxPieceSteps;
  Arena scratch;
  {
    Arena::Scope scope(scratch);
    EXPECT_TRUE(scratch.take<std::byte>(scratch_bytes));
  }
  const size_t before = scratch.reserved_bytes();
  ops::Context context{&kernels::kernel_table(IsaTier::kScalar), &pool, &scratch};
  auto rows = Tensor::create(kSteps, backbone.config().hidden_size);
  auto state = model::lfm2::SequenceState::create(backbone.config(), DType::kF32);
  EXPECT_TRUE(rows && state);
  for (size_t t = 0; t < kSteps; ++t)
    EXPECT_TRUE(backbone.embed(static_cast<int32_t>(t), {rows->mat().row(t), rows->mat().cols}));
  EXPECT_TRUE(backbone.forward(context, rows->mat(), *state, rows->mat()));
  return scratch.reserved_bytes() == before;
}

TEST_P(MemoryPlan, ActivationsAreThoseOfALongPrompt) {
  const Config& config = backbone_->config();
  const size_t rows = Backbone::kMaxPieceSteps;
  const auto planned_bytes = static_cast<size_t>(planned("activation_bytes", "ctx=512"));
  // The rows that go in and the last logits lie elsewhere.
  const size_t elsewhere = (rows * config.hidden_size + config.vocab_size) * sizeof(float);
  EXPECT_TRUE(fits(*backbone_, *pool_, planned_bytes - elsewhere));
  EXPECT_FALSE(fits(*backbone_, *pool_, (planned_bytes - elsewhere) / 10 * 9));
}

TEST_P(MemoryPlan, BatchMultipliesTheState) {
  EXPECT_EQ(planned("kv_bytes", "ctx=300,batch=3"), 3 * planned("kv_bytes", "ctx=300"));
}

TEST_P(MemoryPlan, RefusesAContextThatTheModelDoesNotHave) {
  const auto report = plan_path(kModels + GetParam(), {.context = 100000000}, 2);
  ASSERT_FALSE(report);
  EXPECT_NE(report.error().message.find("ctx"), std::string::npos);
}

INSTANTIATE_TEST_SUITE_P(Files, MemoryPlan,
                         testing::Values("dense_a-mixed.gguf", "moe_8x2-mixed.gguf"));

}  // namespace
}  // namespace rill::inspect
