// SPDX-License-Identifier: Apache-2.0
// Speech out: prompts, depthformer, a whole spoken text and the detokenizer against the reference
// implementation on a tiny model.
#include <algorithm>
#include <string>
#include <utility>
#include <vector>

#include "audio_support.h"
#include "model/lfm2/backbone.h"
#include "model/lfm2_audio/prompts.h"
#include "ops/elementwise.h"
#include "support/recorded_bits.h"

namespace rill::audio_test {
namespace {

using model::lfm2_audio::Language;
using model::lfm2_audio::Model;
using model::lfm2_audio::Use;

constexpr double kTolerance = 5e-6;
constexpr double kWaveformTolerance = 5e-5;

std::unique_ptr<Model> load_speaking(Compute& compute, bool repack = true) {
  model::lfm2_audio::LoadOptions options;
  options.use = Use::kSpeak;
  options.repack = repack;
  return load_package("F16", compute, options);
}

/// One step of a reference run: a text token (one number) or the codes of a frame.
using Step = std::vector<int32_t>;

std::vector<Step> steps_of(const Json& run) {
  std::vector<Step> out;
  for (const Json& step : run.find("steps")->items()) {
    if (step.is_array()) {
      out.push_back(int_list(step));
    } else {
      out.push_back({static_cast<int32_t>(step.as_int())});
    }
  }
  return out;
}

/// The frames of a run, in order.
std::vector<Step> frames_of(const Json& run) {
  std::vector<Step> out = steps_of(run);
  std::erase_if(out, [](const Step& step) { return step.size() == 1; });
  return out;
}

/// All ids and codes of a run.
std::vector<int32_t> flat(const std::vector<Step>& steps) {
  std::vector<int32_t> out;
  for (const Step& step : steps) out.insert(out.end(), step.begin(), step.end());
  return out;
}

/// The codes that are decoded to sound: frames without the end code.
std::vector<int32_t> spoken_codes(const std::vector<Step>& frames, int32_t end_code) {
  std::vector<int32_t> out;
  for (const Step& frame : frames) {
    if (std::find(frame.begin(), frame.end(), end_code) != frame.end()) continue;
    out.insert(out.end(), frame.begin(), frame.end());
  }
  return out;
}

int32_t end_code_of(const Model& model) {
  return static_cast<int32_t>(model.speech()->depthformer().config().end_code());
}

std::vector<int32_t> reference_prompt(const std::string& name) {
  return int_list(*read_json("prompts").find(name)->find("ids"));
}

TEST(AudioPrompts, SpeakingPromptsEqualTheReference) {
  Compute compute;
  const auto model = load_package("F16", compute);
  const Json runs = read_json("tts");
  for (const std::string name : {"en_us_male", "en_uk_female", "ja"}) {
    const Json& run = *runs.find(name);
    const bool japanese = name == "ja";
    const auto voice = model::lfm2_audio::voice_by_name(japanese ? "us_male" : name.substr(3));
    ASSERT_TRUE(voice.has_value());
    const auto prompt = model::lfm2_audio::tts_prompt(
        model->tokenizer(), japanese ? Language::kJapanese : Language::kEnglish, *voice,
        run.find("text")->as_string());
    ASSERT_TRUE(prompt);
    EXPECT_EQ(*prompt, reference_prompt("tts_" + name)) << name;
  }
}

TEST(AudioPrompts, ConversationsReplayEarlierTurns) {
  Compute compute;
  const auto model = load_package("F16", compute);
  const auto prompt = [&](std::span<const model::lfm2_audio::ChatTurn> earlier, size_t steps) {
    return *model::lfm2_audio::chat_prompt(model->tokenizer(),
                                           model::lfm2_audio::kDefaultChatSystem, earlier, steps);
  };
  EXPECT_EQ(prompt({}, 16), reference_prompt("s2s_clip_hello"));
  model::lfm2_audio::ChatTurn turn = {16, {}};
  for (const Step& step : steps_of(*read_json("s2s").find("clip_hello_na12"))) {
    turn.reply.push_back(step.size() == 1 ? step[0] : model::lfm2_audio::kFrameStep);
  }
  EXPECT_EQ(prompt({&turn, 1}, 14), reference_prompt("conversation_en_turn2"));
}

/// Checks logits and greedy codes of every frame, given the reference's hidden states and codes.
void expect_frames(const Model& model, Compute& compute, const AudioVectors& vectors,
                   const std::string& name, const std::vector<Step>& frames) {
  auto decoder = model::depthformer::FrameDecoder::create(model.speech()->depthformer());
  ASSERT_TRUE(decoder);
  const Tensor hidden = vectors.matrix(name + ".frame_hidden");
  const std::vector<float> logits = vectors.floats(name + ".depth_logits");
  ASSERT_EQ(hidden.rows(), frames.size());
  std::vector<float> got;
  for (size_t f = 0; f < frames.size(); ++f) {
    ASSERT_TRUE(decoder->begin(compute.context, {hidden.mat().row(f), hidden.cols()}));
    for (size_t i = 0; i < frames[f].size(); ++i) {
      const auto row = decoder->next(compute.context, i == 0 ? 0 : frames[f][i - 1]);
      ASSERT_TRUE(row);
      got.insert(got.end(), row->begin(), row->end());
      // The end frame's other codes are overwritten, so only its first one was picked.
      if (frames[f][0] == end_code_of(model) && i > 0) continue;
      EXPECT_EQ(static_cast<int32_t>(ops::argmax(*row)), frames[f][i])
          << name << " frame " << f << " code " << i;
    }
  }
  // The reference fed the codes that it picked for the end frame, which are not recorded.
  const size_t num_compared =
      (frames.size() - 1) * frames[0].size() * (got.size() / frames.size() / frames[0].size());
  EXPECT_LT(relative_rms(std::span(got).first(num_compared), std::span(logits).first(num_compared)),
            kTolerance)
      << name;
  test::expect_recorded_bits("audio.frame_logits." + name, std::span(got).first(num_compared));
}

TEST(Depthformer, LogitsAndCodesEqualTheReference) {
  Compute compute;
  const auto model = load_speaking(compute);
  const AudioVectors tts("tts");
  const Json runs = read_json("tts");
  for (const std::string name : {"en_us_male", "en_uk_female", "ja"}) {
    expect_frames(*model, compute, tts, name, frames_of(*runs.find(name)));
  }
  expect_frames(*model, compute, AudioVectors("s2s"), "clip_hello_na12",
                frames_of(*read_json("s2s").find("clip_hello_na12")));
}

/// A spoken text as the reference runs it: prefill, text until <|audio_start|>, frames until the
/// end frame.
class SpokenText {
 public:
  SpokenText(const Model& model, Compute& compute, const std::vector<int32_t>& prompt)
      : model_(model),
        compute_(compute),
        state_(*model::lfm2::SequenceState::create(model.backbone().config(), DType::kF32)),
        decoder_(*model::depthformer::FrameDecoder::create(model.speech()->depthformer())),
        last_(make_tensor(1, model.backbone().config().hidden_size)) {
    for (const int32_t token : prompt) append_token(token);
  }

  std::vector<Step> run() {
    std::vector<Step> steps;
    while (steps.empty() || steps.back()[0] != model_.special_ids().audio_start) {
      Tensor logits = make_tensor(1, model_.backbone().config().vocab_size);
      EXPECT_TRUE(model_.backbone().logits(compute_.context, last_.mat(), logits.mat()));
      steps.push_back({static_cast<int32_t>(ops::argmax({logits.data(), logits.cols()}))});
      append_token(steps.back()[0]);
      if (steps.size() > 16) return steps;
    }
    while (steps.size() < 64) {
      hidden.insert(hidden.end(), last_.data(), last_.data() + last_.cols());
      steps.push_back(next_frame());
      if (steps.back()[0] == end_code_of(model_)) return steps;
      EXPECT_TRUE(model_.speech()->embed_frame(compute_.context, steps.back(),
                                               {last_.data(), last_.cols()}));
      forward();
    }
    return steps;
  }

  std::vector<float> hidden;  // before each frame

 private:
  void append_token(int32_t token) {
    EXPECT_TRUE(model_.backbone().embed(token, {last_.data(), last_.cols()}));
    forward();
  }
  void forward() {
    EXPECT_TRUE(model_.backbone().forward(compute_.context, last_.mat(), state_, last_.mat()));
  }
  Step next_frame() {
    Step frame;
    EXPECT_TRUE(decoder_.begin(compute_.context, {last_.data(), last_.cols()}));
    while (frame.size() < model_.speech()->depthformer().config().num_codebooks) {
      const auto logits = decoder_.next(compute_.context, frame.empty() ? 0 : frame.back());
      EXPECT_TRUE(logits);
      frame.push_back(static_cast<int32_t>(ops::argmax(*logits)));
    }
    if (frame[0] == end_code_of(model_)) std::fill(frame.begin(), frame.end(), frame[0]);
    return frame;
  }

  const Model& model_;
  Compute& compute_;
  model::lfm2::SequenceState state_;
  model::depthformer::FrameDecoder decoder_;
  Tensor last_;
};

TEST(AudioTts, GreedySpeechEqualsTheReference) {
  Compute compute;
  const auto model = load_speaking(compute);
  const AudioVectors vectors("tts");
  const Json runs = read_json("tts");
  for (const std::string name : {"en_us_male", "en_uk_female", "ja"}) {
    SpokenText speech(*model, compute, reference_prompt("tts_" + name));
    std::vector<Step> want = steps_of(*runs.find(name));
    want.pop_back();  // <|im_end|> after the end frame, which nothing uses
    const std::vector<Step> got = speech.run();
    EXPECT_EQ(got, want) << name;
    EXPECT_LT(relative_rms(speech.hidden, vectors.floats(name + ".frame_hidden")), kTolerance)
        << name;
    test::expect_recorded_ids("audio.tts.steps." + name, flat(got));
    test::expect_recorded_bits("audio.tts.hidden." + name, speech.hidden);
  }
}

std::vector<float> decode(const Model& model, Compute& compute, std::span<const int32_t> codes,
                          size_t frames_per_push) {
  auto stream = model::detokenizer::Stream::create(model.speech()->detokenizer());
  std::vector<float> pcm;
  const size_t piece = frames_per_push * model.speech()->detokenizer().codes().num_codebooks;
  for (size_t begin = 0; begin < codes.size(); begin += piece) {
    EXPECT_TRUE(stream->push(compute.context,
                             codes.subspan(begin, std::min(piece, codes.size() - begin)), pcm));
  }
  stream->finish(pcm);
  return pcm;
}

TEST(Detokenizer, EveryStageEqualsTheReference) {
  Compute compute;
  const auto model = load_speaking(compute);
  const AudioVectors vectors("detokenizer");
  const std::vector<int64_t> wide = vectors.ints("codes");
  const std::vector<int32_t> codes(wide.begin(), wide.end());
  auto stream = model::detokenizer::Stream::create(model->speech()->detokenizer());
  Recorder recorder;
  std::vector<float> pcm;
  ASSERT_TRUE(stream->push(compute.context, codes, pcm, &recorder.trace));
  stream->finish(pcm);
  const std::pair<std::string, std::string> stages[] = {
      {"frame_embedding", "frame_embedding"},
      {"layer0.after_ffn", "layer.0"},
      {"layer1.after_ffn", "layer.1"},
      {"layer2.after_ffn", "layer.2"},
      {"layer3.after_ffn", "layer.3"},
      {"final_norm", "final_norm"},
      {"head", "head"},
  };
  for (const auto& [ours, theirs] : stages) {
    EXPECT_LT(relative_rms(recorder.stages[ours], vectors.floats(theirs)), kTolerance) << theirs;
  }
  EXPECT_LT(relative_rms(pcm, vectors.floats("waveform")), kWaveformTolerance);
}

TEST(Detokenizer, SpeechOfWholeRepliesEqualsTheReference) {
  Compute compute;
  const auto model = load_speaking(compute);
  const AudioVectors vectors("tts");
  const Json runs = read_json("tts");
  for (const std::string name : {"en_us_male", "en_uk_female", "ja"}) {
    const auto codes = spoken_codes(frames_of(*runs.find(name)), end_code_of(*model));
    const std::vector<float> pcm = decode(*model, compute, codes, 1);
    EXPECT_LT(relative_rms(pcm, vectors.floats(name + ".waveform")), kWaveformTolerance) << name;
    test::expect_recorded_bits("audio.pcm." + name, pcm);
  }
}

/// Frames past the attention window and past a piece of the offline path.
std::vector<int32_t> many_codes(size_t frames) {
  std::vector<int32_t> codes(frames * 8);
  for (size_t i = 0; i < codes.size(); ++i)
    codes[i] = static_cast<int32_t>((i * 37 + i / 8 * 11) % 128);
  return codes;
}

TEST(Detokenizer, TheCutIntoPushesDoesNotChangeABit) {
  Compute compute;
  const auto model = load_speaking(compute);
  const std::vector<int32_t> codes = many_codes(70);
  const std::vector<float> whole = decode(*model, compute, codes, 70);
  EXPECT_EQ(whole.size(), 70 * model->speech()->detokenizer().frame_samples());
  test::expect_recorded_bits("audio.pcm.long", whole);
  for (const size_t frames : {1u, 2u, 7u, 64u})
    EXPECT_EQ(decode(*model, compute, codes, frames), whole) << frames;
  Compute many(5);
  EXPECT_EQ(decode(*model, many, codes, 3), whole);
  const auto borrowed = load_speaking(compute, false);
  EXPECT_EQ(decode(*borrowed, compute, codes, 70), whole);
}

TEST(Detokenizer, ReleasesSamplesAsSoonAsTheyAreFinal) {
  Compute compute;
  const auto model = load_speaking(compute);
  auto stream = model::detokenizer::Stream::create(model->speech()->detokenizer());
  const std::vector<int32_t> codes = many_codes(3);
  std::vector<float> pcm;
  for (size_t f = 0; f < 3; ++f) {
    ASSERT_TRUE(stream->push(compute.context, std::span(codes).subspan(f * 8, 8), pcm));
    EXPECT_EQ(pcm.size(), 1440 + f * 1920);
  }
  stream->finish(pcm);
  EXPECT_EQ(pcm.size(), 3 * 1920u);
}

TEST(Detokenizer, RefusesTheEndCode) {
  Compute compute;
  const auto model = load_speaking(compute);
  auto stream = model::detokenizer::Stream::create(model->speech()->detokenizer());
  std::vector<int32_t> codes = many_codes(1);
  codes[3] = end_code_of(*model);
  std::vector<float> pcm;
  const Status status = stream->push(compute.context, codes, pcm);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(status.error().message, "detokenizer: code: got 128, expected 0 to 127");
}

}  // namespace
}  // namespace rill::audio_test
