// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include <ostream>

#include "model/lfm2/config.h"
#include "unit/model/lfm2_support.h"

namespace rill::lfm2_test {
namespace {

using model::lfm2::Config;
using model::lfm2::config_from_gguf;
using model::lfm2::config_from_json;
using model::lfm2::LayerKind;
using model::lfm2::Role;

Json parse(const std::string& text) {
  auto json = parse_json(text);
  RILL_CHECK(json.has_value(), "test JSON");
  return std::move(json).value();
}

/// A dense configuration; `extra` are further members, which come first and so stand for nothing
/// that follows.
std::string dense(const std::string& extra) {
  return "{" + extra +
         R"("num_hidden_layers": 3, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 2,
            "vocab_size": 100})";
}

Result<Config> read(const std::string& text, Role role = Role::kGenerator) {
  return config_from_json(parse(text), "config.json", role);
}

std::string refusal(const Result<Config>& result) {
  return result ? "accepted" : result.error().message;
}

constexpr LayerKind kC = LayerKind::kConv;
constexpr LayerKind kA = LayerKind::kAttention;

TEST(ConfigFromJson, AppliesTheDefaultsOfTheReferenceClass) {
  const auto config = read(dense(R"("intermediate_size": 96, )"));
  ASSERT_TRUE(config.has_value()) << refusal(config);
  EXPECT_EQ(config->layer_types, (std::vector{kA, kA, kA}));
  EXPECT_EQ(config->head_dim, 16u);
  EXPECT_EQ(config->rope_theta, 1000000.0);
  EXPECT_EQ(config->conv_L_cache, 3u);
  EXPECT_EQ(config->context_length, 128000u);
  EXPECT_TRUE(config->tie_embedding);
  EXPECT_FALSE(config->conv_bias);
  EXPECT_EQ(config->intermediate_size, 256u);  // 96 * 2 / 3, rounded up to a multiple of 256
}

TEST(ConfigFromJson, TakesLayerKindsFromEitherKey) {
  const auto named = read(dense(
      R"("intermediate_size": 96, "layer_types": ["conv", "full_attention", "conv"], "full_attn_idxs": [0], )"));
  ASSERT_TRUE(named.has_value()) << refusal(named);
  EXPECT_EQ(named->layer_types, (std::vector{kC, kA, kC}));
  const auto indexed = read(dense(R"("intermediate_size": 96, "full_attn_idxs": [2], )"));
  ASSERT_TRUE(indexed.has_value()) << refusal(indexed);
  EXPECT_EQ(indexed->layer_types, (std::vector{kC, kC, kA}));
}

TEST(ConfigFromJson, NestedRopeBaseWins) {
  const auto nested = read(dense(
      R"("intermediate_size": 96, "rope_theta": 5, "rope_parameters": {"rope_theta": 7e6, "rope_type": "default"}, )"));
  ASSERT_TRUE(nested.has_value()) << refusal(nested);
  EXPECT_EQ(nested->rope_theta, 7e6);
  const auto flat = read(dense(R"("intermediate_size": 96, "theta": 2e6, )"));
  ASSERT_TRUE(flat.has_value()) << refusal(flat);
  EXPECT_EQ(flat->rope_theta, 2e6);
}

struct Width {
  std::string keys;
  size_t expected;

  friend void PrintTo(const Width& width, std::ostream* out) { *out << width.keys; }
};
class ConfigFromJsonWidth : public testing::TestWithParam<Width> {};

TEST_P(ConfigFromJsonWidth, FollowsTheReference) {
  const auto config = read(dense(GetParam().keys + ", "));
  ASSERT_TRUE(config.has_value()) << refusal(config);
  EXPECT_EQ(config->intermediate_size, GetParam().expected);
}

INSTANTIATE_TEST_SUITE_P(
    Models, ConfigFromJsonWidth,
    testing::Values(
        Width{R"("block_ff_dim": 12288, "intermediate_size": 1, "block_multiple_of": 256)", 8192},
        Width{R"("block_ff_dim": 10240, "block_multiple_of": 256)", 6912},
        Width{R"("block_ff_dim": 6656, "block_multiple_of": 256)", 4608},
        Width{R"("intermediate_size": 216, "block_multiple_of": 32)", 160},
        Width{
            R"("intermediate_size": 216, "block_ffn_dim_multiplier": 1.5, "block_multiple_of": 32)",
            224},
        Width{R"("intermediate_size": 100, "block_ffn_dim_multiplier": null)", 66},
        Width{R"("intermediate_size": 2560, "block_auto_adjust_ff_dim": false)", 2560}));

TEST(ConfigFromJson, TieEmbeddingWinsOverTieWordEmbeddings) {
  const auto config = read(
      dense(R"("intermediate_size": 96, "tie_embedding": true, "tie_word_embeddings": false, )"));
  ASSERT_TRUE(config.has_value()) << refusal(config);
  EXPECT_TRUE(config->tie_embedding);
}

TEST(ConfigFromJson, ReadsSparseModels) {
  const auto config = read(dense(
      R"("model_type": "lfm2_moe", "intermediate_size": 96, "num_experts": 8, "num_experts_per_tok": 2,
         "moe_intermediate_size": 32, "num_dense_layers": 1, "norm_topk_prob": false, "routed_scaling_factor": 2.5, )"));
  ASSERT_TRUE(config.has_value()) << refusal(config);
  EXPECT_EQ(config->intermediate_size, 96u);  // never adjusted
  EXPECT_FALSE(config->is_sparse(0));
  EXPECT_TRUE(config->is_sparse(1));
  EXPECT_FALSE(config->norm_topk_prob);
  EXPECT_TRUE(config->use_expert_bias);
  EXPECT_EQ(config->routed_scaling_factor, 2.5f);
}

TEST(ConfigFromJson, SlidingWindowBelongsToTheDetokenizer) {
  const std::string text = dense(
      R"("intermediate_size": 96, "sliding_window": 30, "output_size": 1282,
         "layer_types": ["conv", "sliding_attention", "conv"], )");
  const auto detokenizer = read(text, Role::kDetokenizer);
  ASSERT_TRUE(detokenizer.has_value()) << refusal(detokenizer);
  EXPECT_EQ(detokenizer->sliding_window, 30u);
  EXPECT_EQ(detokenizer->embedding_length_out, 1282u);
  EXPECT_NE(refusal(read(text)).find("detokenizer part"), std::string::npos);
}

struct JsonRefusal {
  std::string keys;
  std::string message;

  friend void PrintTo(const JsonRefusal& refusal, std::ostream* out) { *out << refusal.message; }
};
class ConfigFromJsonRefuses : public testing::TestWithParam<JsonRefusal> {};

TEST_P(ConfigFromJsonRefuses, NamingFileAndKey) {
  EXPECT_EQ(refusal(read(dense(GetParam().keys))),
            "load config: config.json: " + GetParam().message);
}

INSTANTIATE_TEST_SUITE_P(
    Cases, ConfigFromJsonRefuses,
    testing::Values(
        JsonRefusal{R"("model_type": "llama", )",
                    R"(model_type: got "llama", this version of rill runs lfm2 and lfm2_moe)"},
        JsonRefusal{"", "intermediate_size: got no such key, expected an integer in [0, 2^32)"},
        JsonRefusal{R"("intermediate_size": "96", )",
                    R"(intermediate_size: got "96", expected an integer in [0, 2^32))"},
        JsonRefusal{R"("intermediate_size": -1, )",
                    "intermediate_size: got -1, expected an integer in [0, 2^32)"},
        JsonRefusal{R"("intermediate_size": 96, "conv_L_cache": 1, )",
                    "conv kernel length: got 1, expected 2 to 64"},
        JsonRefusal{
            R"("intermediate_size": 96, "layer_types": ["conv", "mamba", "conv"], )",
            R"(layer_types: got "mamba", this build knows conv, full_attention and sliding_attention)"},
        JsonRefusal{R"("intermediate_size": 96, "layer_types": ["conv"], )",
                    "layer types: got 1, expected one for each of the 3 layers"},
        JsonRefusal{R"("intermediate_size": 96, "full_attn_idxs": [3], )",
                    "full_attn_idxs: got [3], expected layer numbers below 3"},
        JsonRefusal{R"("intermediate_size": 96, "rope_scaling": {"factor": 2}, )",
                    "rope_scaling: this build knows no rope scaling"},
        JsonRefusal{R"("intermediate_size": 96, "rope_parameters": {"rope_type": "yarn"}, )",
                    R"(rope_parameters: rope_type: got "yarn", this build knows default)"},
        JsonRefusal{R"("intermediate_size": 96, "head_dim": 15, )",
                    "head size: got 15, expected an even number"},
        JsonRefusal{R"("intermediate_size": 96, "norm_eps": 0, )",
                    "norm epsilon: got 0, expected a value between 0 and 1"},
        JsonRefusal{R"("intermediate_size": 96, "attention_bias": true, )",
                    "attention_bias: got true, this build knows only false"},
        JsonRefusal{R"("intermediate_size": 96, "hidden_act": "gelu", )",
                    R"(hidden_act: got "gelu", this build knows silu)"},
        JsonRefusal{
            R"("model_type": "lfm2_moe", "intermediate_size": 96, "num_experts": 4, "num_experts_per_tok": 5,
                       "moe_intermediate_size": 8, )",
            "experts per token: got 5, expected 1 to 4"}));

TEST(ConfigFromJson, RefusesHeadsThatDoNotDivide) {
  const std::string text =
      R"({"num_hidden_layers": 1, "hidden_size": 64, "num_attention_heads": 4, "num_key_value_heads": 3,
          "vocab_size": 10, "intermediate_size": 96})";
  EXPECT_EQ(refusal(read(text)),
            "load config: config.json: number of attention heads: got 4, expected a multiple of "
            "the 3 key/value heads");
}

/// A GGUF file with changes applied to its builder.
template <typename Change>
Result<Config> read_changed(const TinySpec& spec, Role role, const Change& change) {
  TinyModel model(spec);
  change(model.builder());
  auto file = model.build();
  RILL_CHECK(file.has_value(), "tiny model");
  return config_from_gguf(*file, role);
}

TEST(ConfigFromGguf, ReadsSizesAndLayerKinds) {
  TinySpec spec;
  spec.conv_bias = true;
  const auto config = read_changed(spec, Role::kGenerator, [](auto&) {});
  ASSERT_TRUE(config.has_value()) << refusal(config);
  EXPECT_EQ(config->layer_types, (std::vector{kC, kA, kC, kA}));
  EXPECT_EQ(config->num_kv_heads, 2u);
  EXPECT_EQ(config->head_dim, 8u);
  EXPECT_EQ(config->intermediate_size, 48u);
  EXPECT_EQ(config->rope_theta, 10000.0);
  EXPECT_TRUE(config->conv_bias);
  EXPECT_TRUE(config->tie_embedding);
  EXPECT_EQ(config->sliding_window, 0u);
}

TEST(ConfigFromGguf, ReadsSparseModels) {
  TinySpec spec;
  spec.experts = 4;
  const auto config = read_changed(spec, Role::kGenerator, [](auto&) {});
  ASSERT_TRUE(config.has_value()) << refusal(config);
  EXPECT_EQ(config->num_experts, 4u);
  EXPECT_EQ(config->num_dense_layers, 1u);
  EXPECT_TRUE(config->use_expert_bias);
  EXPECT_TRUE(config->norm_topk_prob);
  EXPECT_EQ(config->routed_scaling_factor, 1.0f);
}

TEST(ConfigFromGguf, RefusesPooledAndNonCausalVariants) {
  const auto non_causal = read_changed({}, Role::kGenerator,
                                       [](auto& b) { b.boolean("lfm2.attention.causal", false); });
  EXPECT_EQ(refusal(non_causal),
            "load config: tiny.gguf: lfm2.attention.causal: got false: this is an embedding model, "
            "which does not "
            "generate text");
  const auto pooled =
      read_changed({}, Role::kGenerator, [](auto& b) { b.u32("lfm2.pooling_type", 1); });
  EXPECT_EQ(refusal(pooled),
            "load config: tiny.gguf: lfm2.pooling_type: this is an embedding model with pooled "
            "outputs, which does not "
            "generate text");
}

TEST(ConfigFromGguf, RefusesUnknownOperators) {
  const auto flag =
      read_changed({}, Role::kGenerator, [](auto& b) { b.boolean("lfm2.attention.gated", true); });
  EXPECT_EQ(refusal(flag),
            "load config: tiny.gguf: lfm2.attention.gated: unknown switch that is on");
  const auto cap = read_changed({}, Role::kGenerator,
                                [](auto& b) { b.f32("lfm2.final_logit_softcapping", 30.0f); });
  EXPECT_EQ(refusal(cap),
            "load config: tiny.gguf: lfm2.final_logit_softcapping: this build does not know what "
            "it asks for");
  const auto scaling = read_changed({}, Role::kGenerator,
                                    [](auto& b) { b.string("lfm2.rope.scaling.type", "yarn"); });
  EXPECT_EQ(refusal(scaling),
            "load config: tiny.gguf: lfm2.rope.scaling.type: got \"yarn\", this build knows none");
  const auto experts =
      read_changed({}, Role::kGenerator, [](auto& b) { b.u32("lfm2.expert_count", 4); });
  EXPECT_EQ(refusal(experts),
            "load config: tiny.gguf: lfm2.expert_count: this build does not know what it asks for");
}

TEST(ConfigFromGguf, IgnoresKeysThatDescribe) {
  const auto config = read_changed({}, Role::kGenerator, [](auto& b) {
    b.string("general.name", "x").u32("lfm2.some_number", 3).boolean("lfm2.some_switch", false);
    b.u32("general.file_type", 7).boolean("tokenizer.ggml.add_bos_token", true);
  });
  EXPECT_TRUE(config.has_value()) << refusal(config);
}

TEST(ConfigFromGguf, SaysWhenTheFileIsADetokenizer) {
  TinySpec spec;
  spec.window = 30;
  const auto as_text = read_changed(spec, Role::kGenerator,
                                    [](auto& b) { b.u32("lfm2.embedding_length_out", 1282); });
  EXPECT_NE(refusal(as_text).find("this is the detokenizer part"), std::string::npos)
      << refusal(as_text);
  const auto detokenizer = read_changed(spec, Role::kDetokenizer,
                                        [](auto& b) { b.u32("lfm2.embedding_length_out", 1282); });
  ASSERT_TRUE(detokenizer.has_value()) << refusal(detokenizer);
  EXPECT_EQ(detokenizer->sliding_window, 30u);
  EXPECT_EQ(detokenizer->embedding_length_out, 1282u);
  EXPECT_FALSE(read_changed({}, Role::kDetokenizer, [](auto&) {}).has_value());
}

/// A file with nothing but an architecture.
std::string architecture_refusal(const std::string& name) {
  test::GgufBuilder builder;
  builder.string("general.architecture", name);
  const auto bytes = builder.build();
  auto file = format::GgufFile::parse(bytes, "some.gguf");
  RILL_CHECK(file.has_value(), "file");
  return refusal(config_from_gguf(*file));
}

TEST(ConfigFromGguf, NamesOtherArchitecturesInPlainWords) {
  EXPECT_EQ(architecture_refusal("llama"),
            "load config: some.gguf: general.architecture: got \"llama\", this version of rill "
            "runs lfm2 and lfm2moe");
  EXPECT_EQ(architecture_refusal(""),
            "load config: some.gguf: general.architecture: got \"\", this version of rill runs "
            "lfm2 and lfm2moe");
  EXPECT_EQ(architecture_refusal("lfm3"),
            "load config: some.gguf: general.architecture: got \"lfm3\", this version of rill runs "
            "lfm2 and lfm2moe; a "
            "newer version may know it");
  EXPECT_NE(architecture_refusal("clip").find("the encoder part (mmproj)"), std::string::npos);
  EXPECT_NE(architecture_refusal(
                "this model cannot be used as LLM, use it via --model-vocoder in TTS examples")
                .find("the vocoder part"),
            std::string::npos);
}

TEST(ConfigFromGguf, RefusesAMissingOrMistypedArchitecture) {
  test::GgufBuilder missing;
  const auto missing_bytes = missing.build();
  auto missing_file = format::GgufFile::parse(missing_bytes, "some.gguf");
  ASSERT_TRUE(missing_file.has_value());
  const auto no_key = config_from_gguf(*missing_file);
  ASSERT_FALSE(no_key.has_value());
  EXPECT_EQ(no_key.error().code, ErrorCode::kNotFound);
  EXPECT_NE(refusal(no_key).find("general.architecture"), std::string::npos);
  test::GgufBuilder number;
  number.u32("general.architecture", 3);
  const auto number_bytes = number.build();
  auto number_file = format::GgufFile::parse(number_bytes, "some.gguf");
  ASSERT_TRUE(number_file.has_value());
  EXPECT_NE(refusal(config_from_gguf(*number_file)).find("general.architecture"),
            std::string::npos);
}

TEST(ConfigFromGguf, RefusesLayerCountsThatDisagree) {
  TinyModel model(TinySpec{});
  test::GgufBuilder builder;
  builder.string("general.architecture", "lfm2")
      .u32("lfm2.block_count", 3)
      .u32("lfm2.context_length", 10);
  builder.u32("lfm2.embedding_length", 8)
      .u32("lfm2.feed_forward_length", 8)
      .u32("lfm2.attention.head_count", 2);
  builder.i32s("lfm2.attention.head_count_kv", {0, 2})
      .f32("lfm2.attention.layer_norm_rms_epsilon", 1e-5f);
  builder.f32("lfm2.rope.freq_base", 1e6f).u32("lfm2.shortconv.l_cache", 3);
  const auto bytes = builder.build();
  auto file = format::GgufFile::parse(bytes, "some.gguf");
  ASSERT_TRUE(file.has_value());
  EXPECT_EQ(refusal(config_from_gguf(*file)),
            "load config: some.gguf: lfm2.attention.head_count_kv: got 2 values, expected one for "
            "each of the 3 layers");
}

}  // namespace
}  // namespace rill::lfm2_test
