// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "model/lfm2/load.h"
#include "support/test_data.h"
#include "unit/model/lfm2_support.h"

namespace rill::lfm2_test {
namespace {

using model::lfm2::load_gguf;
using model::lfm2::LoadOptions;

/// Loads a tiny model after a change to its file; the message of the error, or "loaded".
template <typename Change>
std::string load_result(const TinySpec& spec, const Change& change) {
  Compute compute(1);
  TinyModel model(spec);
  change(model);
  auto file = model.build();
  RILL_CHECK(file.has_value(), "tiny model");
  const auto loaded = load_gguf(*file, {}, *compute.pool);
  return loaded ? "loaded" : loaded.error().message;
}

std::string load_without(const std::string& tensor, const TinySpec& base = {}) {
  TinySpec spec = base;
  spec.left_out = tensor;
  return load_result(spec, [](TinyModel&) {});
}

std::vector<float> hidden_of(const TinySpec& spec) {
  Compute compute(1);
  const LoadedTiny tiny(spec, compute);
  SequenceState state = make_state(*tiny.backbone);
  return run_tokens(compute, *tiny.backbone, state, some_tokens(5, spec.vocab));
}

TEST(LoadWeights, TakesTheFinalNormUnderEitherName) {
  TinySpec other;
  other.final_norm = "output_norm.weight";
  EXPECT_EQ(hidden_of({}), hidden_of(other));
  TinySpec sparse;
  sparse.experts = 4;
  TinySpec sparse_other = sparse;
  sparse_other.final_norm = "output_norm.weight";
  EXPECT_EQ(hidden_of(sparse), hidden_of(sparse_other));
}

TEST(LoadWeights, PrefersTokenEmbdNormWhenBothAreThere) {
  Compute compute(1);
  TinyModel both(TinySpec{});
  both.add("output_norm.weight", {32}, 0.0f, 100.0f);
  auto file = both.build();
  ASSERT_TRUE(file.has_value());
  const auto loaded = load_gguf(*file, {}, *compute.pool);
  ASSERT_TRUE(loaded.has_value());
  SequenceState state = make_state(**loaded);
  EXPECT_EQ(run_tokens(compute, **loaded, state, some_tokens(5, 64)), hidden_of({}));
}

TEST(LoadWeights, NamesBothFinalNormsWhenNeitherIsThere) {
  TinySpec spec;
  spec.final_norm = "";
  EXPECT_EQ(load_result(spec, [](TinyModel&) {}),
            "load weights: tiny.gguf: no final norm: got neither token_embd_norm.weight nor "
            "output_norm.weight");
}

class LoadWeightsNeeds : public testing::TestWithParam<std::string> {};

TEST_P(LoadWeightsNeeds, EveryTensor) {
  TinySpec spec;
  spec.conv_bias = true;
  EXPECT_EQ(load_without(GetParam(), spec),
            "load weights: tiny.gguf: " + GetParam() + ": no such tensor");
}

INSTANTIATE_TEST_SUITE_P(
    Names, LoadWeightsNeeds,
    testing::Values("token_embd.weight", "blk.0.attn_norm.weight", "blk.3.ffn_norm.weight",
                    "blk.0.shortconv.in_proj.weight", "blk.2.shortconv.conv.weight",
                    "blk.2.shortconv.out_proj.weight", "blk.2.shortconv.in_proj.bias",
                    "blk.0.shortconv.conv.bias", "blk.0.shortconv.out_proj.bias",
                    "blk.1.attn_q.weight", "blk.1.attn_k.weight", "blk.3.attn_v.weight",
                    "blk.3.attn_output.weight", "blk.1.attn_q_norm.weight",
                    "blk.1.attn_k_norm.weight", "blk.0.ffn_gate.weight", "blk.1.ffn_up.weight",
                    "blk.2.ffn_down.weight"));

TEST(LoadWeights, NeedsEveryExpertTensor) {
  TinySpec spec;
  spec.experts = 4;
  for (const std::string name :
       {"blk.1.ffn_gate_inp.weight", "blk.2.exp_probs_b.bias", "blk.3.ffn_gate_exps.weight",
        "blk.1.ffn_up_exps.weight", "blk.1.ffn_down_exps.weight"}) {
    EXPECT_EQ(load_without(name, spec), "load weights: tiny.gguf: " + name + ": no such tensor");
  }
}

TEST(LoadWeights, NamesTheShapeThatIsWrong) {
  TinySpec spec;
  spec.left_out = "blk.3.attn_q.weight";
  const std::string message = load_result(spec, [](TinyModel& model) {
    model.builder().f32_tensor("blk.3.attn_q.weight", {32, 16});
  });
  EXPECT_EQ(message,
            "load weights: tiny.gguf: blk.3.attn_q.weight: got shape [16, 32], expected [32, 32]");
}

TEST(LoadWeights, RefusesAWidthThatContradictsTheMetadata) {
  TinySpec spec;
  spec.left_out = "blk.0.ffn_gate.weight";
  const std::string message = load_result(spec, [](TinyModel& model) {
    model.builder().f32_tensor("blk.0.ffn_gate.weight", {32, 40});
  });
  EXPECT_EQ(message,
            "load weights: tiny.gguf: blk.0.ffn_gate.weight: got shape [40, 32], expected [48, 32] "
            "(feed-forward width "
            "by the configuration)");
}

TEST(LoadWeights, RefusesTensorsOfLayersThatNothingUses) {
  for (const std::string name :
       {"blk.1.attn_q.bias", "blk.0.attn_k.weight", "blk.4.ffn_norm.weight"}) {
    EXPECT_EQ(load_result({}, [&](TinyModel& model) { model.builder().f32_tensor(name, {32}); }),
              "load weights: tiny.gguf: " + name +
                  ": this build has no use for this tensor, and the model would differ without it");
  }
}

TEST(LoadWeights, RefusesIntegerTensors) {
  TinySpec spec;
  spec.left_out = "blk.0.ffn_norm.weight";
  const std::string message = load_result(spec, [](TinyModel& model) {
    test::BuilderTensor tensor;
    tensor.name = "blk.0.ffn_norm.weight";
    tensor.type = 26;  // I32
    tensor.dims = {32};
    tensor.data.resize(32 * 4);
    model.builder().tensor(std::move(tensor));
  });
  EXPECT_EQ(message,
            "load weights: tiny.gguf: blk.0.ffn_norm.weight: got type I32, expected a weight type");
}

TEST(LoadWeights, TakesAnUntiedHead) {
  Compute compute(1);
  TinyModel model(TinySpec{});
  model.add("output.weight", {32, 64}, 1.0f);
  auto file = model.build();
  ASSERT_TRUE(file.has_value());
  const auto loaded = load_gguf(*file, {}, *compute.pool);
  ASSERT_TRUE(loaded.has_value()) << (loaded ? "" : loaded.error().message);
  EXPECT_FALSE((*loaded)->config().tie_embedding);
  EXPECT_EQ((*loaded)->weights().lm_head.rows(), 64u);
}

TEST(LoadWeights, ReadsFusedGateAndUpExperts) {
  TinySpec spec;
  spec.layers = "cc";
  spec.experts = 2;
  const auto stack = [](size_t count, float value) {
    const std::vector<float> values(count, value);
    const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
    return std::vector<std::byte>(bytes, bytes + count * sizeof(float));
  };
  // Expert e has gate 1 + e and up 3 + e everywhere.
  const auto add_stack = [&](test::GgufBuilder& builder, const std::string& name,
                             std::vector<uint64_t> dims,
                             const std::vector<std::vector<std::byte>>& parts) {
    test::BuilderTensor tensor;
    tensor.name = name;
    tensor.dims = std::move(dims);
    for (const auto& part : parts) tensor.data.insert(tensor.data.end(), part.begin(), part.end());
    builder.tensor(std::move(tensor));
  };
  constexpr size_t kMatrix = 16 * 32;
  const auto run = [&](bool fused) {
    Compute compute(1);
    TinySpec own = spec;
    own.left_out = "blk.1.ffn_gate_exps.weight";
    own.also_left_out = "blk.1.ffn_up_exps.weight";
    TinyModel model(own);
    if (fused) {
      add_stack(
          model.builder(), "blk.1.ffn_gate_up_exps.weight", {32, 32, 2},
          {stack(kMatrix, 0.1f), stack(kMatrix, 0.3f), stack(kMatrix, 0.2f), stack(kMatrix, 0.4f)});
    } else {
      add_stack(model.builder(), "blk.1.ffn_gate_exps.weight", {32, 16, 2},
                {stack(kMatrix, 0.1f), stack(kMatrix, 0.2f)});
      add_stack(model.builder(), "blk.1.ffn_up_exps.weight", {32, 16, 2},
                {stack(kMatrix, 0.3f), stack(kMatrix, 0.4f)});
    }
    auto file = model.build();
    RILL_CHECK(file.has_value(), "file");
    const auto loaded = load_gguf(*file, {}, *compute.pool);
    EXPECT_TRUE(loaded.has_value()) << (loaded ? "" : loaded.error().message);
    SequenceState state = make_state(**loaded);
    return run_tokens(compute, **loaded, state, some_tokens(6, 64));
  };
  EXPECT_EQ(run(true), run(false));
}

TEST(LoadGguf, DetokenizerStackNeedsNoTokenTable) {
  Compute compute(1);
  TinySpec spec;
  spec.window = 4;
  spec.left_out = "token_embd.weight";
  TinyModel model(spec);
  auto file = model.build();
  ASSERT_TRUE(file.has_value());
  LoadOptions options;
  options.role = model::lfm2::Role::kDetokenizer;
  const auto loaded = load_gguf(*file, options, *compute.pool);
  ASSERT_TRUE(loaded.has_value()) << (loaded ? "" : loaded.error().message);
  std::vector<float> row(32);
  EXPECT_EQ((*loaded)->embed(1, row).error().code, ErrorCode::kUnsupported);
  std::vector<float> logits(64);
  const auto status =
      (*loaded)->logits(compute.context, {row.data(), 1, 32, 32}, {logits.data(), 1, 64, 64});
  EXPECT_EQ(status.error().code, ErrorCode::kUnsupported);
}

TEST(LoadDirectory, NamesTheMissingConfiguration) {
  Compute compute(1);
  const auto loaded =
      model::lfm2::load_directory(test::data_path("models/text/vectors"), *compute.pool);
  ASSERT_FALSE(loaded.has_value());
  EXPECT_EQ(loaded.error().code, ErrorCode::kNotFound);
  EXPECT_NE(loaded.error().message.find("vectors/config.json"), std::string::npos)
      << loaded.error().message;
}

TEST(LoadDirectory, LoadsACheckpoint) {
  Compute compute(1);
  const auto loaded =
      model::lfm2::load_directory(test::data_path("models/text/models/dense_b"), *compute.pool);
  ASSERT_TRUE(loaded.has_value()) << (loaded ? "" : loaded.error().message);
  EXPECT_FALSE((*loaded)->config().tie_embedding);
  EXPECT_TRUE((*loaded)->config().conv_bias);
}

}  // namespace
}  // namespace rill::lfm2_test
