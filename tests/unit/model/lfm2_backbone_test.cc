// SPDX-License-Identifier: Apache-2.0
// One answer everywhere: cuts, threads, batches and layouts of the backbone give the same bits.
#include <gtest/gtest.h>

#include "unit/model/lfm2_support.h"

namespace rill::lfm2_test {
namespace {

struct NamedSpec {
  std::string name;
  TinySpec spec;

  friend void PrintTo(const NamedSpec& named, std::ostream* out) { *out << named.name; }
};

TinySpec spec_with(void (*change)(TinySpec&)) {
  TinySpec spec;
  change(spec);
  return spec;
}

/// A spec with matrices of one type, wide enough for whole blocks of it.
TinySpec typed_spec(DType type, uint32_t width, uint32_t experts, const char* layers) {
  TinySpec spec;
  spec.layers = layers;
  spec.D = spec.I = spec.expert_I = width;
  spec.experts = experts;
  spec.matrices = type;
  return spec;
}

std::vector<NamedSpec> all_specs() {
  return {{"dense", {}},
          {"f16", typed_spec(DType::kF16, 32, 0, "ca")},
          {"q8_0", typed_spec(DType::kQ8_0, 64, 0, "ca")},
          {"q4_k", typed_spec(DType::kQ4_K, 256, 0, "a")},
          {"sparse_bf16", typed_spec(DType::kBF16, 32, 5, "ca")},
          {"sparse_q4_0", typed_spec(DType::kQ4_0, 64, 5, "ca")},
          {"sparse", spec_with([](TinySpec& s) { s.experts = 6; })},
          {"biases_long_kernel", spec_with([](TinySpec& s) {
             s.conv_bias = true;
             s.kernel = 5;
           })},
          {"window", spec_with([](TinySpec& s) { s.window = 30; })},
          {"conv_only", spec_with([](TinySpec& s) { s.layers = "cc"; })},
          {"attention_only", spec_with([](TinySpec& s) { s.layers = "aa"; })}};
}

class BackboneBits : public testing::TestWithParam<NamedSpec> {
 protected:
  void SetUp() override { tiny_ = std::make_unique<LoadedTiny>(GetParam().spec, compute_); }
  [[nodiscard]] const Backbone& backbone() const { return *tiny_->backbone; }

  Compute compute_;
  std::unique_ptr<LoadedTiny> tiny_;
};

TEST_P(BackboneBits, AnyCutOfThePromptIsTheSame) {
  const auto tokens = some_tokens(83, 64);
  SequenceState whole = make_state(backbone());
  const auto hidden = run_tokens(compute_, backbone(), whole, tokens);
  const auto values = state_values(whole, backbone().config());
  for (const size_t piece : {1, 2, 3, 7, 64, 82}) {
    SequenceState state = make_state(backbone());
    EXPECT_EQ(run_tokens(compute_, backbone(), state, tokens, piece), hidden)
        << "pieces of " << piece;
    EXPECT_EQ(state_values(state, backbone().config()), values) << "pieces of " << piece;
  }
}

TEST_P(BackboneBits, CachedDecodeIsTheSameAsFullRecompute) {
  const auto tokens = some_tokens(70, 64);
  SequenceState cached = make_state(backbone());
  const size_t D = backbone().config().hidden_size;
  for (size_t t = 0; t < tokens.size(); ++t) {
    const auto step = run_tokens(compute_, backbone(), cached, {&tokens[t], 1});
    if (t % 23 != 0 && t > 4) continue;
    SequenceState fresh = make_state(backbone());
    const auto all = run_tokens(compute_, backbone(), fresh, std::span(tokens).first(t + 1));
    EXPECT_EQ(std::vector(all.end() - static_cast<std::ptrdiff_t>(D), all.end()), step)
        << "step " << t;
  }
}

TEST_P(BackboneBits, AnyNumberOfThreadsIsTheSame) {
  const auto tokens = some_tokens(41, 64);
  std::vector<float> first;
  for (const size_t threads : {1, 2, 3, 4, 8}) {
    Compute compute(threads);
    SequenceState state = make_state(backbone());
    const auto hidden = run_tokens(compute, backbone(), state, tokens);
    if (first.empty()) first = hidden;
    EXPECT_EQ(hidden, first) << threads << " threads";
  }
}

TEST_P(BackboneBits, BorrowedWeightsAreTheSame) {
  model::lfm2::LoadOptions options;
  options.form = model::lfm2::MatrixForm::kBorrowed;
  const LoadedTiny borrowed(GetParam().spec, compute_, options);
  EXPECT_LT(borrowed.backbone->weights().owned_bytes(), backbone().weights().owned_bytes());
  const auto tokens = some_tokens(19, 64);
  SequenceState a = make_state(backbone());
  SequenceState b = make_state(*borrowed.backbone);
  EXPECT_EQ(run_tokens(compute_, *borrowed.backbone, b, tokens),
            run_tokens(compute_, backbone(), a, tokens));
}

TEST_P(BackboneBits, BatchedSequencesAreTheSameAsAlone) {
  const size_t D = backbone().config().hidden_size;
  const std::vector<size_t> lengths = {1, 17, 2, 0, 600};  // the last is longer than one piece
  std::vector<SequenceState> batched;
  std::vector<float> rows;
  std::vector<std::vector<float>> alone;
  for (size_t i = 0; i < lengths.size(); ++i) {
    const auto history = some_tokens(3 * i, 64, i);
    const auto tokens = some_tokens(lengths[i], 64, 100 + i);
    SequenceState state = make_state(backbone());
    batched.push_back(make_state(backbone()));
    (void)run_tokens(compute_, backbone(), state, history);
    (void)run_tokens(compute_, backbone(), batched.back(), history);
    alone.push_back(run_tokens(compute_, backbone(), state, tokens));
    for (const int32_t token : tokens) {
      rows.resize(rows.size() + D);
      ASSERT_TRUE(backbone().embed(token, std::span<float>(rows).last(D)));
    }
  }
  std::vector<model::lfm2::Segment> segments;
  for (size_t i = 0; i < lengths.size(); ++i) segments.push_back({&batched[i], lengths[i]});
  const Mat mat = {rows.data(), rows.size() / D, D, D};
  const auto done = backbone().forward(compute_.context, mat, segments, mat);
  ASSERT_TRUE(done.has_value()) << (done ? "" : done.error().message);
  auto at = rows.begin();
  for (size_t i = 0; i < lengths.size(); ++i) {
    const auto end = at + static_cast<std::ptrdiff_t>(lengths[i] * D);
    EXPECT_EQ(std::vector(at, end), alone[i]) << "sequence " << i;
    EXPECT_EQ(batched[i].position(), 3 * i + lengths[i]);
    at = end;
  }
}

TEST_P(BackboneBits, TracingChangesNothing) {
  const auto tokens = some_tokens(11, 64);
  const size_t D = backbone().config().hidden_size;
  SequenceState plain = make_state(backbone());
  const auto want = run_tokens(compute_, backbone(), plain, tokens);
  std::vector<float> rows(tokens.size() * D);
  for (size_t t = 0; t < tokens.size(); ++t) {
    ASSERT_TRUE(backbone().embed(tokens[t], std::span<float>(rows).subspan(t * D, D)));
  }
  size_t stages = 0;
  const Trace trace{[](void* user, std::string_view, ConstMat) { ++*static_cast<size_t*>(user); },
                    &stages};
  SequenceState state = make_state(backbone());
  const Mat mat = {rows.data(), tokens.size(), D, D};
  ASSERT_TRUE(backbone().forward(compute_.context, mat, state, mat, &trace));
  EXPECT_EQ(rows, want);
  EXPECT_GT(stages, 10u);
}

INSTANTIATE_TEST_SUITE_P(Specs, BackboneBits, testing::ValuesIn(all_specs()),
                         [](const auto& named) { return named.param.name; });

TEST(Backbone, PromptLongerThanOnePieceIsTheSameInAnyCut) {
  Compute compute;
  TinySpec spec;
  spec.layers = "ca";
  const LoadedTiny tiny(spec, compute);
  const auto tokens = some_tokens(Backbone::kMaxPieceSteps + 77, 64);
  SequenceState whole = make_state(*tiny.backbone);
  SequenceState cut = make_state(*tiny.backbone);
  EXPECT_EQ(run_tokens(compute, *tiny.backbone, whole, tokens),
            run_tokens(compute, *tiny.backbone, cut, tokens, 100));
}

TEST(Backbone, WindowHidesWhatLiesBehindIt) {
  Compute compute(1);
  TinySpec spec;
  spec.layers = "a";
  spec.window = 4;
  const LoadedTiny tiny(spec, compute);
  const auto tail = some_tokens(4, 64, 5);
  std::vector<int32_t> a = some_tokens(9, 64, 1);
  std::vector<int32_t> b = some_tokens(9, 64, 2);
  a.insert(a.end(), tail.begin(), tail.end());
  b.insert(b.end(), tail.begin(), tail.end());
  SequenceState state_a = make_state(*tiny.backbone);
  SequenceState state_b = make_state(*tiny.backbone);
  const auto hidden_a = run_tokens(compute, *tiny.backbone, state_a, a);
  const auto hidden_b = run_tokens(compute, *tiny.backbone, state_b, b);
  const std::ptrdiff_t D = 32;
  EXPECT_EQ(std::vector(hidden_a.end() - D, hidden_a.end()),
            std::vector(hidden_b.end() - D, hidden_b.end()));
  EXPECT_NE(std::vector(hidden_a.end() - 2 * D, hidden_a.end() - D),
            std::vector(hidden_b.end() - 2 * D, hidden_b.end() - D));
}

TEST(Backbone, HalfPrecisionCacheStaysNearTheFullOne) {
  Compute compute(1);
  const LoadedTiny tiny({}, compute);
  const auto tokens = some_tokens(50, 64);
  SequenceState full = make_state(*tiny.backbone, DType::kF32);
  SequenceState half = make_state(*tiny.backbone, DType::kF16);
  const auto a = run_tokens(compute, *tiny.backbone, full, tokens);
  const auto b = run_tokens(compute, *tiny.backbone, half, tokens);
  EXPECT_NE(a, b);
  double error = 0;
  double norm = 0;
  for (size_t i = 0; i < a.size(); ++i) {
    error += (a[i] - b[i]) * (a[i] - b[i]);
    norm += a[i] * a[i];
  }
  EXPECT_LT(error, 1e-5 * norm);
}

TEST(Backbone, RefusesStepsPastTheContext) {
  Compute compute(1);
  TinySpec spec;
  spec.context = 8;
  const LoadedTiny tiny(spec, compute);
  SequenceState state = make_state(*tiny.backbone);
  std::vector<float> rows(9 * 32, 0.5f);
  const Mat mat = {rows.data(), 9, 32, 32};
  const auto status = tiny.backbone->forward(compute.context, mat, state, mat);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kContextFull);
  EXPECT_EQ(status.error().message, "forward pass: got 9 positions, expected at most 8");
  EXPECT_EQ(state.position(), 0u);
}

TEST(Backbone, RefusesTokensOutsideTheVocabulary) {
  Compute compute(1);
  const LoadedTiny tiny({}, compute);
  std::vector<float> row(32);
  for (const int32_t token : {-1, 64}) {
    const auto status = tiny.backbone->embed(token, row);
    ASSERT_FALSE(status.has_value());
    EXPECT_EQ(status.error().message, cat("embed: token id: got ", token, ", expected 0 to 63"));
  }
}

TEST(Backbone, ReportsHiddenStatesThatAreNotFinite) {
  Compute compute(1);
  TinySpec spec;
  spec.norm_weight = 3e38f;  // overflows with any state above 1
  const LoadedTiny tiny(spec, compute);
  SequenceState state = make_state(*tiny.backbone);
  std::vector<float> rows(32);
  ASSERT_TRUE(tiny.backbone->embed(3, rows));
  const Mat mat = {rows.data(), 1, 32, 32};
  const auto status = tiny.backbone->forward(compute.context, mat, state, mat);
  ASSERT_FALSE(status.has_value());
  EXPECT_EQ(status.error().code, ErrorCode::kInternal);
  EXPECT_NE(status.error().message.find("tiny.gguf: hidden states are not finite"),
            std::string::npos);
  EXPECT_NE(status.error().message.find("rill verify"), std::string::npos);
}

}  // namespace
}  // namespace rill::lfm2_test
