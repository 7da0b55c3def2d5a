// SPDX-License-Identifier: Apache-2.0
// The backbone against reference values of small random checkpoints: every stage of a prompt, keys,
// values and conv states, logits, greedy replies, short and long prompts; dense and sparse, F32 and
// BF16, and mixed GGUF types.
#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <map>

#include "base/json.h"
#include "session/generator.h"
#include "support/recorded_bits.h"
#include "support/test_data.h"
#include "unit/model/lfm2_support.h"

namespace rill::lfm2_test {
namespace {

using model::lfm2::Config;
using test::relative_rms;

constexpr double kTolerance = 5e-6;  // docs/numerics.md: F32 and BF16 weights
constexpr double kOneProductTolerance = 1e-2;
// No tolerance of docs/numerics.md, which allows 2e-2 and is missed here (docs/conformance.md): it
// only keeps the known miss from growing.
constexpr double kQuantizedLogitsGuard = 8e-2;

std::string set_path(const std::string& name) { return test::data_path("models/text/" + name); }

const Json& manifest(const std::string& name) {
  static std::map<std::string, Json> parsed;
  const auto known = parsed.find(name);
  if (known != parsed.end()) return known->second;
  auto json = parse_json(test::to_text(test::read_file(set_path(name))));
  RILL_CHECK(json.has_value(), "manifest: no JSON");
  return parsed.emplace(name, std::move(json).value()).first->second;
}

std::vector<int32_t> int_list(const Json& array) {
  std::vector<int32_t> out;
  for (const Json& item : array.items()) out.push_back(static_cast<int32_t>(item.as_int()));
  return out;
}

/// One checkpoint in one precision.
struct Case {
  std::string name;
  std::string variant;
  std::string weights;
  const Json* facts = nullptr;

  friend void PrintTo(const Case& c, std::ostream* out) { *out << c.name << "." << c.variant; }
};

std::vector<Case> all_cases() {
  std::vector<Case> out;
  for (const Json& entry : manifest("manifest.json").find("cases")->items()) {
    for (const Json& variant : entry.find("variants")->items()) {
      const std::string& kind = variant.find("variant")->as_string();
      out.push_back({entry.find("name")->as_string(), kind,
                     entry.find("files")->find(kind)->as_string(), &variant});
    }
  }
  return out;
}

class Lfm2Conformance : public testing::TestWithParam<Case> {
 protected:
  void SetUp() override {
    const std::string weights = set_path(GetParam().weights);
    auto loaded = model::lfm2::load_checkpoint(
        set_path("models/" + GetParam().name + "/config.json"), weights, *compute_.pool);
    ASSERT_TRUE(loaded.has_value()) << (loaded ? "" : loaded.error().message);
    backbone_ = std::move(loaded).value();
  }
  [[nodiscard]] const Json& facts(const char* key) const { return *GetParam().facts->find(key); }
  [[nodiscard]] test::Vectors vectors() const {
    return test::Vectors(set_path(facts("vectors").as_string()));
  }

  session::Sequence new_sequence() {
    auto created = session::Sequence::create(*backbone_, DType::kF32);
    RILL_CHECK(created.has_value(), "sequence");
    return std::move(created).value();
  }
  std::vector<float> logits_of(std::span<const float> hidden) {
    const size_t D = backbone_->config().hidden_size;
    const size_t V = backbone_->config().vocab_size;
    const size_t T = hidden.size() / D;
    std::vector<float> out(T * V);
    EXPECT_TRUE(
        backbone_->logits(compute_.context, {hidden.data(), T, D, D}, {out.data(), T, V, V}));
    return out;
  }
  std::vector<int32_t> greedy(std::span<const int32_t> prompt, size_t max_tokens) {
    session::Sequence sequence = new_sequence();
    EXPECT_TRUE(sequence.append_tokens(compute_.context, prompt));
    session::GenerateOptions options;
    options.max_tokens = max_tokens;
    auto reply = session::generate(compute_.context, sequence, options);
    EXPECT_TRUE(reply.has_value());
    return reply ? reply->tokens : std::vector<int32_t>();
  }

  Compute compute_;
  std::unique_ptr<Backbone> backbone_;
};

/// Keeps each stage; with vectors, compares it with the reference tensor of its name.
struct StageCheck {
  const test::Vectors* vectors = nullptr;
  size_t compared = 0;
  std::map<std::string, std::vector<float>> kept;

  static void record(void* user, std::string_view stage, ConstMat value) {
    auto& self = *static_cast<StageCheck*>(user);
    const std::string name(stage);
    std::vector<float>& got = self.kept[name];
    for (size_t r = 0; r < value.rows; ++r)
      got.insert(got.end(), value.row(r), value.row(r) + value.cols);
    const bool is_expert = name.find(".expert") != std::string::npos;
    if (self.vectors == nullptr || is_expert || !self.vectors->has(name)) return;
    EXPECT_LE(relative_rms(got, self.vectors->floats(name)), kTolerance) << name;
    ++self.compared;
  }
};

/// The reference's (expert, weight) pairs of a row come in its own order.
void expect_same_experts(const StageCheck& check, const test::Vectors& vectors,
                         const std::string& layer) {
  const std::vector<int64_t> want_ids = vectors.ints(layer + "experts");
  const std::vector<float> want_weights = vectors.floats(layer + "expert_weights");
  const std::vector<float>& ids = check.kept.at(layer + "experts");
  const std::vector<float>& weights = check.kept.at(layer + "expert_weights");
  ASSERT_EQ(ids.size(), want_ids.size());
  const size_t k = vectors.shape(layer + "experts").cols();
  for (size_t row = 0; row < ids.size(); row += k) {
    std::map<int64_t, float> want;
    for (size_t j = row; j < row + k; ++j) want[want_ids[j]] = want_weights[j];
    for (size_t j = row; j < row + k; ++j) {
      const auto found = want.find(static_cast<int64_t>(ids[j]));
      ASSERT_NE(found, want.end()) << layer << " row " << row / k << ": expert " << ids[j];
      EXPECT_NEAR(weights[j], found->second, 1e-5f * std::fabs(found->second)) << layer;
      if (j > row) {
        EXPECT_LT(ids[j - 1], ids[j]);
      }
    }
  }
}

TEST_P(Lfm2Conformance, EveryStageOfThePrompt) {
  const test::Vectors reference = vectors();
  if (!reference.has("embed")) GTEST_SKIP() << "this precision comes with logits only";
  const std::vector<int32_t> tokens = int_list(facts("input_ids"));
  const Config& config = backbone_->config();
  const size_t D = config.hidden_size;
  std::vector<float> rows(tokens.size() * D);
  for (size_t t = 0; t < tokens.size(); ++t) {
    ASSERT_TRUE(backbone_->embed(tokens[t], std::span<float>(rows).subspan(t * D, D)));
  }
  SequenceState state = make_state(*backbone_);
  StageCheck check{&reference, 0, {}};
  const Trace trace{&StageCheck::record, &check};
  const Mat mat = {rows.data(), tokens.size(), D, D};
  ASSERT_TRUE(backbone_->forward(compute_.context, mat, state, mat, &trace));
  // embed and final_norm; per layer 6 stages, 3 of the short convolution or 6 of attention, and the
  // router's logits.
  size_t expected = 2;
  for (size_t i = 0; i < config.num_layers; ++i) {
    expected += 6 + (config.is_attention(i) ? 6 : 3) + (config.is_sparse(i) ? 1 : 0);
    if (config.is_sparse(i)) expect_same_experts(check, reference, cat("layer", i, "."));
  }
  EXPECT_EQ(check.compared, expected);
}

TEST_P(Lfm2Conformance, LogitsOfThePrompt) {
  SequenceState state = make_state(*backbone_);
  const std::vector<float> hidden =
      run_tokens(compute_, *backbone_, state, int_list(facts("input_ids")));
  EXPECT_LE(relative_rms(logits_of(hidden), vectors().floats("logits")), kTolerance);
}

TEST_P(Lfm2Conformance, KeysValuesAndConvStatesAfterThePrompt) {
  const test::Vectors reference = vectors();
  const Config& config = backbone_->config();
  SequenceState state = make_state(*backbone_);
  (void)run_tokens(compute_, *backbone_, state, int_list(facts("input_ids")));
  const size_t T = state.position();
  size_t attention = 0;
  size_t conv = 0;
  for (size_t i = 0; i < config.num_layers; ++i) {
    const std::string prefix = cat("cache_after_prefill.layer", i, ".");
    if (!config.is_attention(i)) {
      const ConstMat rows = state.conv(conv++);  // [L-1, D]; the reference keeps [D, L]
      if (!reference.has(prefix + "conv_state")) continue;
      const std::vector<float> want = reference.floats(prefix + "conv_state");
      std::vector<float> got = want;
      for (size_t c = 0; c < rows.cols; ++c) {
        for (size_t r = 0; r < rows.rows; ++r)
          got[c * config.conv_L_cache + 1 + r] = rows.row(r)[c];
      }
      EXPECT_LE(relative_rms(got, want), kTolerance) << prefix;
      continue;
    }
    const ops::KvView kv = state.kv(attention++);
    std::vector<float> rows(T * ops::kv_row_bytes(kv) / sizeof(float));
    ops::read_kv(kv, 0, T, reinterpret_cast<std::byte*>(rows.data()));
    for (size_t part = 0; part < 2; ++part) {
      const std::string name = prefix + (part == 0 ? "k" : "v");
      if (!reference.has(name)) continue;
      const float* first = rows.data() + part * rows.size() / 2;
      const std::vector<float> got(first, first + rows.size() / 2);
      EXPECT_LE(relative_rms(got, reference.floats(name)), kTolerance) << name;
    }
  }
}

TEST_P(Lfm2Conformance, LogitsOfTheFirstDecodeSteps) {
  const std::vector<int32_t> reply = int_list(facts("greedy_new_tokens"));
  session::Sequence sequence = new_sequence();
  ASSERT_TRUE(sequence.append_tokens(compute_.context, int_list(facts("input_ids"))));
  std::vector<float> got;
  const test::Vectors reference = vectors();
  if (!reference.has("decode_logits_first6"))
    GTEST_SKIP() << "this precision comes with prompt logits only";
  for (size_t step = 0; step < 6; ++step) {
    if (step > 0) {
      ASSERT_TRUE(sequence.append_token(compute_.context, reply[step - 1]));
    }
    const auto logits = sequence.logits(compute_.context);
    ASSERT_TRUE(logits.has_value());
    got.insert(got.end(), logits->begin(), logits->end());
  }
  EXPECT_LE(relative_rms(got, reference.floats("decode_logits_first6")), kTolerance);
}

TEST_P(Lfm2Conformance, EveryTierGivesTheRecordedBits) {
  session::Sequence sequence = new_sequence();
  ASSERT_TRUE(sequence.append_tokens(compute_.context, int_list(facts("input_ids"))));
  const auto logits = sequence.logits(compute_.context);
  ASSERT_TRUE(logits.has_value());
  test::expect_recorded_bits("text." + GetParam().name + "." + GetParam().variant, *logits);
}

TEST_P(Lfm2Conformance, GreedyReplyIsIdentical) {
  const std::vector<int32_t> want = int_list(facts("greedy_new_tokens"));
  EXPECT_EQ(greedy(int_list(facts("input_ids")), want.size()), want);
}

TEST_P(Lfm2Conformance, GreedyRepliesToPromptsShorterThanTheKernelAreIdentical) {
  for (const Json& prompt : facts("short_prompts").items()) {
    const std::vector<int32_t> want = int_list(*prompt.find("greedy_new_tokens"));
    const std::vector<int32_t> ids = int_list(*prompt.find("input_ids"));
    EXPECT_EQ(greedy(ids, want.size()), want) << "prompt of " << ids.size();
  }
}

TEST_P(Lfm2Conformance, LongPrompt) {
  const Json& prompt = facts("long_prompt");
  const std::vector<int32_t> ids = int_list(*prompt.find("input_ids"));
  const std::vector<int32_t> want = int_list(*prompt.find("greedy_new_tokens"));
  EXPECT_EQ(greedy(ids, want.size()), want);
  const test::Vectors reference = vectors();
  if (!reference.has("long.last_logits")) return;
  session::Sequence sequence = new_sequence();
  ASSERT_TRUE(sequence.append_tokens(compute_.context, ids));
  const auto logits = sequence.logits(compute_.context);
  ASSERT_TRUE(logits.has_value());
  EXPECT_LE(relative_rms(*logits, reference.floats("long.last_logits")), kTolerance);
}

INSTANTIATE_TEST_SUITE_P(Text, Lfm2Conformance, testing::ValuesIn(all_cases()),
                         [](const auto& c) { return c.param.name + "_" + c.param.variant; });

/// GGUF files that mix types; the reference ran in F32 on the values that the files hold.
class Lfm2GgufConformance : public testing::TestWithParam<size_t> {
 protected:
  void SetUp() override {
    auto opened = format::GgufFile::open(set_path(name()));
    ASSERT_TRUE(opened.has_value()) << (opened ? "" : opened.error().message);
    file_ = std::make_unique<format::GgufFile>(std::move(opened).value());
  }
  [[nodiscard]] static const Json& facts() {
    return manifest("gguf/manifest.json").find("files")->items()[GetParam()];
  }
  [[nodiscard]] static const std::string& name() { return facts().find("file")->as_string(); }

  std::unique_ptr<Backbone> load(model::lfm2::MatrixForm form) {
    model::lfm2::LoadOptions options;
    options.form = form;
    auto loaded = model::lfm2::load_gguf(*file_, options, *compute_.pool);
    RILL_CHECK(loaded.has_value(), "load");
    return std::move(loaded).value();
  }
  std::vector<float> prompt_logits(const Backbone& backbone, StageCheck* stages = nullptr) {
    const std::vector<int32_t> tokens = int_list(*facts().find("input_ids"));
    const size_t T = tokens.size();
    const size_t D = backbone.config().hidden_size;
    const size_t V = backbone.config().vocab_size;
    std::vector<float> rows(T * D);
    for (size_t t = 0; t < T; ++t) {
      EXPECT_TRUE(backbone.embed(tokens[t], std::span<float>(rows).subspan(t * D, D)));
    }
    SequenceState state = make_state(backbone);
    const Mat mat = {rows.data(), T, D, D};
    const Trace trace{&StageCheck::record, stages};
    EXPECT_TRUE(
        backbone.forward(compute_.context, mat, state, mat, stages == nullptr ? nullptr : &trace));
    std::vector<float> logits(T * V);
    EXPECT_TRUE(backbone.logits(compute_.context, mat, {logits.data(), T, V, V}));
    return logits;
  }
  [[nodiscard]] static std::vector<float> reference_logits() {
    const test::Vectors reference(set_path("gguf/logits.safetensors"));
    return reference.floats(name().substr(name().rfind('/') + 1) + ".logits");
  }

  Compute compute_;
  std::unique_ptr<format::GgufFile> file_;
};

TEST_P(Lfm2GgufConformance, WidenedWeightsGiveTheReferenceLogitsAndReply) {
  const auto backbone = load(model::lfm2::MatrixForm::kWidened);
  EXPECT_LE(relative_rms(prompt_logits(*backbone), reference_logits()), kTolerance);
  auto sequence = session::Sequence::create(*backbone, DType::kF32);
  ASSERT_TRUE(sequence.has_value());
  ASSERT_TRUE(sequence->append_tokens(compute_.context, int_list(*facts().find("input_ids"))));
  const std::vector<int32_t> want = int_list(*facts().find("greedy_new_tokens"));
  session::GenerateOptions options;
  options.max_tokens = want.size();
  const auto reply = session::generate(compute_.context, *sequence, options);
  ASSERT_TRUE(reply.has_value());
  EXPECT_EQ(reply->tokens, want);
}

TEST_P(Lfm2GgufConformance, EveryTierGivesTheRecordedBits) {
  const auto packed = load(model::lfm2::MatrixForm::kPacked);
  test::expect_recorded_bits("text." + name(), prompt_logits(*packed));
}

// Activations of 8 bits per block of 32 cost 0.5 % in one product. These random models multiply
// activations with each other three times a layer and have no dominant residual, so that the error
// grows to some percent at the logits.
TEST_P(Lfm2GgufConformance, QuantizedProductsStayNearTheWidenedOnes) {
  const auto wide = load(model::lfm2::MatrixForm::kWidened);
  const auto packed = load(model::lfm2::MatrixForm::kPacked);
  StageCheck want;
  StageCheck got;
  const std::vector<float> want_logits = prompt_logits(*wide, &want);
  const std::vector<float> got_logits = prompt_logits(*packed, &got);
  EXPECT_LE(relative_rms(got.kept.at("layer0.conv_BCx"), want.kept.at("layer0.conv_BCx")),
            kOneProductTolerance);
  EXPECT_LE(relative_rms(got_logits, want_logits), kQuantizedLogitsGuard);
}

INSTANTIATE_TEST_SUITE_P(
    Text, Lfm2GgufConformance,
    testing::Range(size_t{0}, manifest("gguf/manifest.json").find("files")->items().size()));

}  // namespace
}  // namespace rill::lfm2_test
