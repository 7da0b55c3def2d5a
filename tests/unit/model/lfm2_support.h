// SPDX-License-Identifier: Apache-2.0
// What the tests of the backbone and of sequences share: threads and kernels, small random models
// made in memory, and ways to run them.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/cpu_features.h"
#include "base/str_cat.h"
#include "base/thread_pool.h"
#include "kernels/kernel_table.h"
#include "model/lfm2/load.h"
#include "ops/context.h"
#include "quant/quantize.h"
#include "support/gguf_builder.h"

namespace rill::lfm2_test {

using model::lfm2::Backbone;
using model::lfm2::SequenceState;

/// Skips a whole program whose forced kernel tier this host lacks.
class TierGuard : public testing::Environment {
 public:
  void SetUp() override {
    const char* isa = std::getenv("RILL_ISA");
    if (isa != nullptr && !choose_isa_tier(isa))
      GTEST_SKIP() << "no " << isa << " on this processor";
  }
};
inline testing::Environment* const kTierGuard = testing::AddGlobalTestEnvironment(new TierGuard);

/// Threads, kernels and scratch memory for ops.
struct Compute {
  explicit Compute(size_t num_threads = 2) {
    auto created = ThreadPool::create(num_threads);
    RILL_CHECK(created.has_value(), "thread pool");
    pool = std::move(created).value();
    const char* isa = std::getenv("RILL_ISA");
    const auto tier = choose_isa_tier(isa != nullptr ? isa : "");
    RILL_CHECK(tier.has_value(), "RILL_ISA");
    context = {&kernels::kernel_table(*tier), pool.get(), &arena};
  }
  std::unique_ptr<ThreadPool> pool;
  Arena arena;
  ops::Context context;
};

/// Uniform numbers in [-1, 1) from a seed.
class Noise {
 public:
  explicit Noise(uint64_t seed) : state_(seed * 2 + 1) {}
  float next() {
    state_ = state_ * 6364136223846793005u + 1442695040888963407u;
    return static_cast<float>(static_cast<int32_t>(state_ >> 32)) * 0x1p-31f;
  }
  std::vector<float> values(size_t count, float scale, float offset = 0.0f) {
    std::vector<float> out(count);
    for (float& value : out) value = next() * scale + offset;
    return out;
  }

 private:
  uint64_t state_;
};

/// Sizes of a small model. 'c' is a conv layer, 'a' an attention layer.
struct TinySpec {
  std::string layers = "caca";
  uint32_t D = 32;
  uint32_t heads = 4;
  uint32_t kv_heads = 2;
  uint32_t I = 48;
  uint32_t vocab = 64;
  uint32_t kernel = 3;
  uint32_t context = 4096;
  uint32_t window = 0;
  uint32_t experts = 0;  // sparse from layer 1 on
  uint32_t expert_I = 16;
  bool conv_bias = false;
  bool q8_0 = false;             // matrices of whole blocks as Q8_0
  DType matrices = DType::kF32;  // another type for them
  std::string final_norm = "token_embd_norm.weight";
  std::string left_out = {};  // tensors that are not written
  std::string also_left_out = {};
  float norm_weight = 1.0f;
};

class TinyModel {
 public:
  explicit TinyModel(const TinySpec& spec, uint64_t seed = 1) : spec_(spec), noise_(seed) {
    const std::string arch = spec.experts > 0 ? "lfm2moe" : "lfm2";
    builder_.string("general.architecture", arch);
    const auto key = [&](std::string_view name) { return cat(arch, ".", name); };
    const auto num_layers = static_cast<uint32_t>(spec.layers.size());
    std::vector<int32_t> kv;
    for (const char kind : spec.layers)
      kv.push_back(kind == 'a' ? static_cast<int32_t>(spec.kv_heads) : 0);
    builder_.u32(key("block_count"), num_layers).u32(key("context_length"), spec.context);
    builder_.u32(key("embedding_length"), spec.D).u32(key("feed_forward_length"), spec.I);
    builder_.u32(key("vocab_size"), spec.vocab).u32(key("attention.head_count"), spec.heads);
    builder_.i32s(key("attention.head_count_kv"), kv)
        .f32(key("attention.layer_norm_rms_epsilon"), 1e-5f);
    builder_.f32(key("rope.freq_base"), 10000.0f).u32(key("shortconv.l_cache"), spec.kernel);
    if (spec.window > 0) builder_.u32(key("attention.sliding_window"), spec.window);
    if (spec.experts > 0) {
      builder_.u32(key("expert_count"), spec.experts).u32(key("expert_used_count"), 2);
      builder_.u32(key("expert_feed_forward_length"), spec.expert_I)
          .u32(key("leading_dense_block_count"), 1);
      builder_.u32(key("expert_gating_func"), 2);
    }
    add_tensors();
  }

  /// For tests that add keys and tensors of their own; before build().
  test::GgufBuilder& builder() { return builder_; }
  void add(const std::string& name, const std::vector<uint64_t>& dims, float scale,
           float offset = 0.0f) {
    size_t count = 1;
    for (const uint64_t dim : dims) count *= dim;
    const std::vector<float> values = noise_.values(count, scale, offset);
    if (name == spec_.left_out || name == spec_.also_left_out) return;
    const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
    test::BuilderTensor tensor;
    tensor.name = name;
    tensor.dims = dims;
    tensor.data.assign(bytes, bytes + count * sizeof(float));
    const DType type = spec_.q8_0 ? DType::kQ8_0 : spec_.matrices;
    if (dims.size() > 1 && dims[0] % dtype_info(type).block_values == 0) {
      tensor.type = static_cast<uint32_t>(type);
      tensor.data.resize(row_bytes(type, count));
      quant::quantize_row(type, values, tensor.data.data());
    }
    builder_.tensor(std::move(tensor));
  }

  /// The file's bytes.
  std::vector<std::byte> bytes() { return builder_.build(); }
  /// The parsed file; the model must outlive it.
  Result<format::GgufFile> build() {
    bytes_ = builder_.build();
    return format::GgufFile::parse(bytes_, "tiny.gguf");
  }

 private:
  void add_tensors() {
    const uint64_t D = spec_.D;
    add("token_embd.weight", {D, spec_.vocab}, 1.0f);
    if (!spec_.final_norm.empty())
      add(spec_.final_norm, {D}, 0.2f * spec_.norm_weight, spec_.norm_weight);
    for (size_t i = 0; i < spec_.layers.size(); ++i) {
      const std::string p = cat("blk.", i, ".");
      add(p + "attn_norm.weight", {D}, 0.2f, 1.0f);
      add(p + "ffn_norm.weight", {D}, 0.2f, 1.0f);
      if (spec_.layers[i] == 'a') {
        add_attention(p);
      } else {
        add_conv(p);
      }
      if (spec_.experts > 0 && i > 0) {
        add_experts(p);
      } else {
        add(p + "ffn_gate.weight", {D, spec_.I}, 0.3f);
        add(p + "ffn_up.weight", {D, spec_.I}, 0.3f);
        add(p + "ffn_down.weight", {spec_.I, D}, 0.3f);
      }
    }
  }
  void add_attention(const std::string& p) {
    const uint64_t D = spec_.D;
    const uint64_t d = D / spec_.heads;
    add(p + "attn_q.weight", {D, D}, 0.3f);
    add(p + "attn_k.weight", {D, spec_.kv_heads * d}, 0.3f);
    add(p + "attn_v.weight", {D, spec_.kv_heads * d}, 0.3f);
    add(p + "attn_output.weight", {D, D}, 0.3f);
    add(p + "attn_q_norm.weight", {d}, 0.2f, 1.0f);
    add(p + "attn_k_norm.weight", {d}, 0.2f, 1.0f);
  }
  void add_conv(const std::string& p) {
    const uint64_t D = spec_.D;
    add(p + "shortconv.in_proj.weight", {D, 3 * D}, 0.3f);
    add(p + "shortconv.conv.weight", {spec_.kernel, D}, 0.5f);
    add(p + "shortconv.out_proj.weight", {D, D}, 0.3f);
    if (!spec_.conv_bias) return;
    add(p + "shortconv.in_proj.bias", {3 * D}, 0.1f);
    add(p + "shortconv.conv.bias", {D}, 0.1f);
    add(p + "shortconv.out_proj.bias", {D}, 0.1f);
  }
  void add_experts(const std::string& p) {
    const uint64_t D = spec_.D;
    const uint64_t E = spec_.experts;
    add(p + "ffn_gate_inp.weight", {D, E}, 0.3f);
    add(p + "exp_probs_b.bias", {E}, 0.3f);
    add(p + "ffn_gate_exps.weight", {D, spec_.expert_I, E}, 0.3f);
    add(p + "ffn_up_exps.weight", {D, spec_.expert_I, E}, 0.3f);
    add(p + "ffn_down_exps.weight", {spec_.expert_I, D, E}, 0.3f);
  }

  TinySpec spec_;
  Noise noise_;
  test::GgufBuilder builder_;
  std::vector<std::byte> bytes_;
};

/// A loaded tiny model. `file` and `model` stay alive for borrowed weights.
struct LoadedTiny {
  LoadedTiny(const TinySpec& spec, Compute& compute, model::lfm2::LoadOptions options = {})
      : model(spec) {
    auto parsed = model.build();
    RILL_CHECK(parsed.has_value(), "tiny model: file");
    file = std::make_unique<format::GgufFile>(std::move(parsed).value());
    auto loaded = model::lfm2::load_gguf(*file, options, *compute.pool);
    EXPECT_TRUE(loaded.has_value()) << (loaded ? "" : loaded.error().message);
    RILL_CHECK(loaded.has_value(), "tiny model: load");
    backbone = std::move(loaded).value();
  }
  TinyModel model;
  std::unique_ptr<format::GgufFile> file;
  std::unique_ptr<Backbone> backbone;
};

inline std::vector<int32_t> some_tokens(size_t count, uint32_t vocab, uint64_t seed = 7) {
  Noise noise(seed);
  std::vector<int32_t> out(count);
  for (int32_t& id : out) {
    id = static_cast<int32_t>((noise.next() + 1.0f) * 0.5f * static_cast<float>(vocab)) %
         static_cast<int32_t>(vocab);
  }
  return out;
}

inline SequenceState make_state(const Backbone& backbone, DType kv_type = DType::kF32) {
  auto state = SequenceState::create(backbone.config(), kv_type);
  RILL_CHECK(state.has_value(), "state");
  return std::move(state).value();
}

/// Hidden states [T, D] of tokens, appended to the state in pieces of `piece` steps (0: at once).
inline std::vector<float> run_tokens(Compute& compute, const Backbone& backbone,
                                     SequenceState& state, std::span<const int32_t> tokens,
                                     size_t piece = 0) {
  const size_t D = backbone.config().hidden_size;
  std::vector<float> rows(tokens.size() * D);
  std::vector<float> hidden(tokens.size() * D);
  for (size_t t = 0; t < tokens.size(); ++t) {
    EXPECT_TRUE(backbone.embed(tokens[t], std::span<float>(rows).subspan(t * D, D)));
  }
  if (piece == 0) piece = tokens.size();
  for (size_t first = 0; first < tokens.size(); first += piece) {
    const size_t count = std::min(piece, tokens.size() - first);
    const Status done =
        backbone.forward(compute.context, ConstMat{rows.data() + first * D, count, D, D}, state,
                         Mat{hidden.data() + first * D, count, D, D});
    EXPECT_TRUE(done.has_value()) << (done ? "" : done.error().message);
  }
  return hidden;
}

/// Everything that a state remembers, as bytes; equal for equal sequences.
inline std::vector<float> state_values(const SequenceState& state,
                                       const model::lfm2::Config& config) {
  std::vector<float> out;
  for (size_t layer = 0; layer < config.num_attention_layers(); ++layer) {
    const ops::KvView kv = state.kv(layer);
    std::vector<float> rows(state.position() * ops::kv_row_bytes(kv) / sizeof(float));
    ops::read_kv(kv, 0, state.position(), reinterpret_cast<std::byte*>(rows.data()));
    out.insert(out.end(), rows.begin(), rows.end());
  }
  for (size_t layer = 0; layer < config.num_conv_layers(); ++layer) {
    const ConstMat conv = state.conv(layer);
    for (size_t r = 0; r < conv.rows; ++r)
      out.insert(out.end(), conv.row(r), conv.row(r) + conv.cols);
  }
  return out;
}

}  // namespace rill::lfm2_test
