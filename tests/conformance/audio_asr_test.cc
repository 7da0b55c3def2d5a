// SPDX-License-Identifier: Apache-2.0
// Prompts, backbone and greedy transcription against the reference implementation on a tiny model.
#include <algorithm>
#include <cstring>

#include "audio_support.h"
#include "model/conformer/config.h"
#include "model/lfm2/backbone.h"
#include "model/lfm2_audio/prompts.h"
#include "ops/elementwise.h"
#include "support/recorded_bits.h"

namespace rill::audio_test {
namespace {

using model::lfm2_audio::Language;
using model::lfm2_audio::Model;

constexpr double kTolerance = 5e-6;

Language language_of(const std::string& clip) {
  return clip == "clip_ja" ? Language::kJapanese : Language::kEnglish;
}

/// The prompt of a clip as backbone inputs, [steps, D].
Tensor prompt_rows(const Model& model, Compute& compute, const std::string& clip) {
  const Tensor mel = features(clip);
  const size_t width = model.adapter().output_size();
  Tensor speech = make_tensor(model::conformer::num_steps(mel.rows()), width);
  EXPECT_TRUE(model.embed_speech(compute.context, mel.mat(), speech.mat()));
  const auto steps =
      model::lfm2_audio::asr_prompt(model.tokenizer(), language_of(clip), speech.rows());
  Tensor rows = make_tensor(steps->size(), width);
  size_t next_speech = 0;
  for (size_t t = 0; t < steps->size(); ++t) {
    const int32_t step = (*steps)[t];
    if (step == model::lfm2_audio::kAudioStep) {
      std::memcpy(rows.mat().row(t), speech.mat().row(next_speech++), width * sizeof(float));
    } else {
      EXPECT_TRUE(model.backbone().embed(step, {rows.mat().row(t), width}));
    }
  }
  return rows;
}

/// What a greedy run gives.
struct GreedyRun {
  std::vector<float> prefill;              // [steps, D]
  std::vector<std::vector<float>> logits;  // per step
  std::vector<int32_t> tokens;             // <|im_end|> included
};

GreedyRun transcribe(const Model& model, Compute& compute, const std::string& clip) {
  const Tensor rows = prompt_rows(model, compute, clip);
  auto state = model::lfm2::SequenceState::create(model.backbone().config(), DType::kF32);
  Tensor hidden = make_tensor(rows.rows(), rows.cols());
  EXPECT_TRUE(model.backbone().forward(compute.context, rows.mat(), *state, hidden.mat()));
  GreedyRun run;
  run.prefill = copy_of(hidden.mat());
  ConstMat last = hidden.mat().row_range(hidden.rows() - 1, 1);
  Tensor step = make_tensor(1, rows.cols());
  Tensor logits = make_tensor(1, model.backbone().config().vocab_size);
  while (run.tokens.size() < 64) {
    EXPECT_TRUE(model.backbone().logits(compute.context, last, logits.mat()));
    run.logits.push_back(copy_of(logits.mat()));
    const auto token = static_cast<int32_t>(ops::argmax({logits.data(), logits.cols()}));
    run.tokens.push_back(token);
    if (token == model.special_ids().im_end) break;
    EXPECT_TRUE(model.backbone().embed(token, {step.data(), step.cols()}));
    EXPECT_TRUE(model.backbone().forward(compute.context, step.mat(), *state, step.mat()));
    last = step.mat();
  }
  return run;
}

TEST(AudioPrompts, TranscriptionPromptsEqualTheReference) {
  Compute compute;
  const auto model = load_package("F16", compute);
  const Json vectors = read_json("prompts");
  for (const std::string clip : {"clip_hello", "clip_fox", "clip_ja", "tone_16k"}) {
    const size_t steps = model::conformer::num_steps(features(clip).rows());
    const auto prompt = model::lfm2_audio::asr_prompt(model->tokenizer(), language_of(clip), steps);
    ASSERT_TRUE(prompt);
    EXPECT_EQ(*prompt, int_list(*vectors.find("asr_" + clip)->find("ids"))) << clip;
  }
}

TEST(AudioBackbone, EveryLayerEqualsTheReference) {
  Compute compute;
  const auto model = load_package("F16", compute);
  const AudioVectors vectors("backbone_layers");
  const Tensor input = vectors.matrix("in");
  auto state = model::lfm2::SequenceState::create(model->backbone().config(), DType::kF32);
  Tensor hidden = make_tensor(input.rows(), input.cols());
  Recorder recorder;
  ASSERT_TRUE(model->backbone().forward(compute.context, input.mat(), *state, hidden.mat(),
                                        &recorder.trace));
  for (size_t layer = 0; layer < model->backbone().config().num_layers; ++layer) {
    const std::string ours = "layer" + std::to_string(layer);
    const std::string theirs = "layer." + std::to_string(layer);
    EXPECT_LT(relative_rms(recorder.stages[ours + ".operator_out"], vectors.floats(theirs + ".op")),
              kTolerance)
        << theirs;
    EXPECT_LT(relative_rms(recorder.stages[ours + ".after_ffn"], vectors.floats(theirs)),
              kTolerance)
        << theirs;
  }
  EXPECT_LT(relative_rms(copy_of(hidden.mat()), vectors.floats("out")), kTolerance);
}

TEST(AudioAsr, PrefillAndLogitsEqualTheReference) {
  Compute compute;
  const auto model = load_package("F16", compute);
  const AudioVectors vectors("asr");
  for (const std::string clip : {"clip_hello", "clip_fox", "clip_ja"}) {
    const GreedyRun run = transcribe(*model, compute, clip);
    EXPECT_LT(relative_rms(run.prefill, vectors.floats(clip + ".prefill_out")), kTolerance) << clip;
    const std::vector<float> want = vectors.floats(clip + ".step_logits");
    const size_t vocab = run.logits[0].size();
    ASSERT_EQ(want.size(), run.logits.size() * vocab) << clip;
    for (size_t s = 0; s < run.logits.size(); ++s) {
      const auto begin = want.begin() + static_cast<std::ptrdiff_t>(s * vocab);
      EXPECT_LT(relative_rms(run.logits[s], {begin, begin + static_cast<std::ptrdiff_t>(vocab)}),
                kTolerance)
          << clip << " step " << s;
    }
  }
}

TEST(AudioAsr, GreedyTokensEqualTheReferenceInEveryQuantization) {
  Compute compute;
  const Json vectors = read_json("asr");
  for (const std::string quantization : {"F16", "Q4_0"}) {
    const auto model = load_package(quantization, compute);
    for (const std::string clip : {"clip_hello", "clip_fox", "clip_ja"}) {
      EXPECT_EQ(transcribe(*model, compute, clip).tokens,
                int_list(*vectors.find(clip)->find("tokens")))
          << quantization << " " << clip;
    }
  }
}

TEST(AudioAsr, EveryTierGivesTheRecordedBits) {
  Compute compute;
  for (const std::string quantization : {"F16", "Q4_0"}) {
    const auto model = load_package(quantization, compute);
    for (const std::string clip : {"clip_hello", "clip_fox", "clip_ja"}) {
      const GreedyRun run = transcribe(*model, compute, clip);
      std::vector<float> values = run.prefill;
      for (const std::vector<float>& step : run.logits)
        values.insert(values.end(), step.begin(), step.end());
      test::expect_recorded_bits("audio.asr.values." + quantization + "." + clip, values);
      test::expect_recorded_ids("audio.asr.ids." + quantization + "." + clip, run.tokens);
    }
  }
}

TEST(AudioAsr, ThreadsDoNotChangeABit) {
  Compute one(1);
  for (const std::string quantization : {"F16", "Q4_0"}) {
    const auto model = load_package(quantization, one);
    const GreedyRun want = transcribe(*model, one, "clip_hello");
    for (const size_t threads : {2u, 3u, 8u}) {
      Compute many(threads);
      const GreedyRun got = transcribe(*model, many, "clip_hello");
      EXPECT_EQ(got.prefill, want.prefill) << quantization << " " << threads;
      EXPECT_EQ(got.logits, want.logits) << quantization << " " << threads;
    }
  }
}

}  // namespace
}  // namespace rill::audio_test
