// SPDX-License-Identifier: Apache-2.0
// Speech synthesis and spoken chat on the tiny package, against the reference implementation's
// greedy runs; streams against offline runs; conversations with and without what a session keeps.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>

#include "audio/wav_writer.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "base/str_cat.h"
#include "support/recorded_bits.h"
#include "task_support.h"
#include "tasks/audio_input.h"
#include "tasks/s2s.h"
#include "tasks/tts.h"

namespace rill::tasks {
namespace {

using model::lfm2_audio::Model;

Json read_vectors(const std::string& name) {
  const auto file = MappedFile::open(kTinyPackage + "/vectors/" + name + ".json");
  RILL_CHECK(file.has_value(), "vectors");
  const auto bytes = file->bytes();
  return std::move(parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()})).value();
}

/// Steps as the vectors write them: a token is a number, a frame a list.
std::vector<std::vector<int32_t>> steps_of(const Json& run) {
  std::vector<std::vector<int32_t>> out;
  for (const Json& step : run.find("steps")->items()) {
    std::vector<int32_t> ids;
    if (step.is_int()) {
      ids.push_back(static_cast<int32_t>(step.as_int()));
    } else {
      for (const Json& code : step.items()) ids.push_back(static_cast<int32_t>(code.as_int()));
    }
    out.push_back(std::move(ids));
  }
  return out;
}

std::vector<std::vector<int32_t>> steps_of(const std::vector<ReplyStep>& steps) {
  std::vector<std::vector<int32_t>> out;
  for (const ReplyStep& step : steps)
    out.push_back(step.is_frame() ? step.codes : std::vector<int32_t>{step.token});
  return out;
}

/// What a stream put out in all, and how it was cut.
struct Spoken {
  std::string text;
  std::vector<float> pcm;
  std::vector<size_t> event_samples;
  std::string error;
};

template <typename Stream>
Spoken drain(Stream& stream, ops::Context& context) {
  Spoken out;
  while (true) {
    auto event = stream.next(context);
    if (!event) {
      out.error = event.error().message;
      return out;
    }
    if (!event->has_value()) return out;
    out.text += (*event)->text;
    out.event_samples.push_back((*event)->pcm.size());
    out.pcm.insert(out.pcm.end(), (*event)->pcm.begin(), (*event)->pcm.end());
  }
}

void expect_same_bits(const std::vector<float>& a, const std::vector<float>& b) {
  ASSERT_EQ(a.size(), b.size());
  EXPECT_EQ(std::memcmp(a.data(), b.data(), a.size() * sizeof(float)), 0);
}

class SpeechTest : public testing::Test {
 protected:
  void SetUp() override {
    if (machine_.lacks_tier) GTEST_SKIP() << "the processor lacks the tier that RILL_ISA names";
    model_ = load_tiny_speaker(*machine_.pool);
  }

  static TtsRequest greedy_text(const Json& run) {
    TtsRequest request;
    request.text = run.find("text")->as_string();
    request.voice = run.find("voice")->as_string();
    request.options.temperature = 0.0f;
    request.options.seed = 0;
    return request;
  }
  Spoken speak(const TtsRequest& request, const SpeechRun& run = {}) {
    auto stream = TtsStream::start(*model_, request, run);
    if (!stream) return {{}, {}, {}, stream.error().message};
    return drain(*stream, machine_.context);
  }

  static std::vector<float> clip(const std::string& name) {
    const std::string path = cat(RILL_TEST_DATA, "/audio/", name, ".wav");
    return std::move(AudioInput::from_path(path).read_mono_16k()).value();
  }
  static S2sRequest greedy_turn() {
    S2sRequest request;
    request.options.temperature = 0.0f;
    request.options.seed = 0;
    request.options.return_codes = true;
    return request;
  }
  /// A turn whose question is pushed in pieces of `piece` samples.
  S2sStream turn(const std::string& question, S2sRequest request,
                 ConversationCache* cache = nullptr, size_t piece = 1600,
                 const SpeechRun& run = {}) {
    auto stream =
        S2sStream::start(*model_, std::move(request), run, kDefaultMaxPassDurationS, cache);
    RILL_CHECK(stream.has_value(), stream.error().message.c_str());
    const std::vector<float> samples = clip(question);
    for (size_t at = 0; at < samples.size(); at += piece) {
      const auto part = std::span(samples).subspan(at, std::min(piece, samples.size() - at));
      RILL_CHECK(stream->push_mono(part).has_value(), "push");
    }
    return std::move(stream).value();
  }
  static Artifact question_artifact(const std::string& name) {
    return {kQuestionId,
            kQuestionKind,
            audio::encode_wav(audio::WavSampleType::kFloat32, 16000, 1, clip(name)),
            {}};
  }

  Machine machine_{2};
  std::unique_ptr<Model> model_;
};

TEST_F(SpeechTest, SpokenTextHasTheReferencesLength) {
  const Json runs = read_vectors("tts");
  for (const char* name : {"en_us_male", "en_uk_female"}) {
    const Json& run = *runs.find(name);
    const Spoken spoken = speak(greedy_text(run));
    EXPECT_EQ(spoken.error, "");
    EXPECT_EQ(spoken.pcm.size(), static_cast<size_t>(run.find("samples")->as_int())) << name;
    test::expect_recorded_bits(cat("audio.tts.pcm.", name), spoken.pcm);
  }
}

TEST_F(SpeechTest, EventsCarryAFrameEachAndATail) {
  const Json runs = read_vectors("tts");
  const Spoken spoken = speak(greedy_text(*runs.find("en_us_male")));
  ASSERT_GE(spoken.event_samples.size(), 3u);
  EXPECT_EQ(spoken.event_samples.front(), 1440u);
  EXPECT_EQ(spoken.event_samples[1], 1920u);
  EXPECT_EQ(spoken.event_samples.back(), 480u);
}

TEST_F(SpeechTest, AnyEventSizeGivesTheSameSpeech) {
  TtsRequest request = greedy_text(*read_vectors("tts").find("en_uk_female"));
  request.options.temperature = 0.8f;
  request.options.seed = 42;
  request.options.max_tokens = 20;
  const Spoken one = speak(request);
  for (const size_t frames : {2, 3, 1000}) {
    request.options.stream_frames_per_event = frames;
    expect_same_bits(one.pcm, speak(request).pcm);
  }
}

TEST_F(SpeechTest, TheSameSeedSpeaksTheSameOnAnyThreadCount) {
  TtsRequest request = greedy_text(*read_vectors("tts").find("en_us_male"));
  request.options.temperature = 0.8f;
  request.options.seed = 7;
  request.options.max_tokens = 12;
  const Spoken first = speak(request);
  for (const size_t threads : {1, 3, 8}) {
    Machine other(threads);
    auto stream = TtsStream::start(*model_, request, {});
    ASSERT_TRUE(stream.has_value());
    expect_same_bits(first.pcm, drain(*stream, other.context).pcm);
  }
}

TEST_F(SpeechTest, MaxTokensKeepsTheSpeechSoFarAndWarns) {
  TtsRequest request = greedy_text(*read_vectors("tts").find("en_us_male"));
  const Spoken whole = speak(request);
  std::string warning;
  Logger logger;
  logger.user = &warning;
  logger.sink = [](void* user, LogLevel, std::string_view message) {
    *static_cast<std::string*>(user) += message;
  };
  SpeechRun run;
  run.logger = &logger;
  request.options.max_tokens = 3;
  const Spoken cut = speak(request, run);
  EXPECT_EQ(cut.error, "");
  EXPECT_EQ(cut.pcm.size(), 3u * 1920);
  EXPECT_TRUE(std::equal(cut.pcm.begin(), cut.pcm.begin() + 3 * 1920 - 960, whole.pcm.begin()));
  EXPECT_EQ(warning,
            "[lfm2_audio] the speech reached max_tokens=3 and is cut off there; raise max_tokens "
            "or lower text_chunk_size "
            "for the rest");
}

TEST_F(SpeechTest, LongTextIsSpokenChunkByChunkWithItsOwnSeeds) {
  TtsRequest request;
  request.text = "Good morning. Tea, please!";
  request.options.text_chunk_size = 13;
  request.options.seed = 5;
  request.options.max_tokens = 6;
  const Spoken both = speak(request);
  request.text = "Good morning.";
  const Spoken first = speak(request);
  request.text = "Tea, please!";
  request.options.seed = 6;
  const Spoken second = speak(request);
  std::vector<float> joined = first.pcm;
  joined.insert(joined.end(), second.pcm.begin(), second.pcm.end());
  expect_same_bits(both.pcm, joined);
}

TEST_F(SpeechTest, BadRequestsToSpeakAreRefusedByName) {
  TtsRequest request;
  EXPECT_EQ(speak(request).error, "LFM2-Audio TTS requires text_input");
  request.text = "a";
  request.voice = "robot";
  EXPECT_EQ(
      speak(request).error,
      "unknown LFM2-Audio voice robot; the voices are us_male, us_female, uk_male, uk_female");
  request.voice = "us_male";
  request.options.language = "ja";
  EXPECT_EQ(speak(request).error, "this LFM2-Audio checkpoint speaks en, not ja");
}

TEST_F(SpeechTest, RepliesFollowTheReferenceStepByStep) {
  const Json runs = read_vectors("s2s");
  const std::pair<const char*, const char*> cases[] = {{"clip_hello_na12", "clip_hello"},
                                                       {"clip_fox_na12", "clip_fox"}};
  for (const auto& [name, question] : cases) {
    S2sStream stream = turn(question, greedy_turn());
    const Spoken spoken = drain(stream, machine_.context);
    EXPECT_EQ(spoken.error, "");
    EXPECT_EQ(steps_of(stream.steps()), steps_of(*runs.find(name))) << name;
    EXPECT_EQ(spoken.text, runs.find(name)->find("text")->as_string());
    EXPECT_TRUE(stream.ended());
    test::expect_recorded_bits(cat("audio.s2s.pcm.", name), spoken.pcm);
  }
}

TEST_F(SpeechTest, TheSecondTurnFollowsTheReference) {
  S2sStream first = turn("clip_hello", greedy_turn());
  drain(first, machine_.context);
  S2sRequest request = greedy_turn();
  request.artifacts = {question_artifact("clip_hello"), first.reply_artifact()};
  S2sStream second = turn("clip_fox", request);
  drain(second, machine_.context);
  EXPECT_EQ(steps_of(second.steps()), steps_of(*read_vectors("s2s").find("conversation_en_turn2")));
}

TEST_F(SpeechTest, AnyCutOfTheQuestionAndOfTheEventsGivesTheSameReply) {
  S2sStream whole = turn("clip_hello", greedy_turn());
  const Spoken want = drain(whole, machine_.context);
  for (const size_t piece : {1, 7, 4096, 1000000}) {
    S2sRequest request = greedy_turn();
    request.options.stream_frames_per_event = piece % 5 + 1;
    S2sStream cut = turn("clip_hello", request, nullptr, piece == 1 ? 333 : piece);
    const Spoken got = drain(cut, machine_.context);
    EXPECT_EQ(got.text, want.text);
    expect_same_bits(got.pcm, want.pcm);
  }
}

TEST_F(SpeechTest, AReplyCutAtMaxTokensIsAPrefixAndNotEnded) {
  S2sStream whole = turn("clip_hello", greedy_turn());
  drain(whole, machine_.context);
  for (const size_t budget : {7, 10, 20}) {
    S2sRequest request = greedy_turn();
    request.options.max_tokens = budget;
    S2sStream cut = turn("clip_hello", request);
    EXPECT_EQ(drain(cut, machine_.context).error, "");
    const auto want = steps_of(whole.steps());
    EXPECT_EQ(steps_of(cut.steps()),
              std::vector(want.begin(), want.begin() + static_cast<std::ptrdiff_t>(budget)));
    EXPECT_FALSE(cut.ended());
    EXPECT_EQ(cut.reply_artifact().meta.back().second, "false");
  }
  S2sRequest request = greedy_turn();
  request.options.max_tokens = 6;
  S2sStream silent = turn("clip_hello", request);
  EXPECT_EQ(drain(silent, machine_.context).error,
            "LFM2-Audio reached max_tokens before the reply spoke; raise max_tokens");
}

TEST_F(SpeechTest, WhatASessionKeepsNeverChangesAReply) {
  S2sStream first = turn("clip_hello", greedy_turn());
  drain(first, machine_.context);
  S2sRequest request = greedy_turn();
  // A history of more than two blocks of 256 steps.
  for (int i = 0; i < 6; ++i) {
    request.artifacts.push_back(question_artifact("clip_hello"));
    request.artifacts.push_back(first.reply_artifact());
  }
  S2sStream fresh = turn("clip_fox", request);
  const Spoken want = drain(fresh, machine_.context);
  ASSERT_GT(fresh.prompt_steps(), 512u);
  for (const size_t slots : {0, 1, 2, 4}) {
    ConversationCache cache(slots);
    for (int repeat = 0; repeat < 2; ++repeat) {
      S2sStream kept = turn("clip_fox", request, &cache);
      const Spoken got = drain(kept, machine_.context);
      EXPECT_EQ(got.text, want.text);
      expect_same_bits(got.pcm, want.pcm);
      EXPECT_EQ(kept.cached_steps(), slots > 0 && repeat == 1 ? 512u : 0u);
    }
    S2sRequest other = request;  // leaving out the oldest turn shifts every position
    other.artifacts.erase(other.artifacts.begin(), other.artifacts.begin() + 2);
    S2sStream shifted = turn("clip_fox", other, &cache);
    S2sStream shifted_fresh = turn("clip_fox", other);
    expect_same_bits(drain(shifted, machine_.context).pcm,
                     drain(shifted_fresh, machine_.context).pcm);
    EXPECT_LE(cache.blocks.num_prompts(), slots);
  }
}

class HistoryTest : public SpeechTest {
 protected:
  void SetUp() override {
    SpeechTest::SetUp();
    if (IsSkipped()) return;
    ReplyStep frame{-1, std::vector<int32_t>(reply_shape(*model_).num_codebooks, 3)};
    reply_ = encode_reply(std::vector<ReplyStep>{{5, {}}, frame}, true, reply_shape(*model_));
    question_ = question_artifact("clip_fox");
  }
  std::string refusal(std::vector<Artifact> artifacts) {
    const auto turns = read_history(artifacts, reply_shape(*model_));
    if (turns) return "";
    EXPECT_EQ(turns.error().code, ErrorCode::kInvalidArgument);
    return turns.error().message;
  }
  std::string refusal_with_meta(const std::string& key, const std::string& value) {
    Artifact changed = reply_;
    for (auto& [name, text] : changed.meta) {
      if (name == key) text = value;
    }
    return refusal({question_, changed});
  }

  Artifact reply_;
  Artifact question_;
};

TEST_F(HistoryTest, AWholeTurnReadsBack) {
  const auto turns = read_history(std::vector<Artifact>{question_, reply_}, reply_shape(*model_));
  ASSERT_TRUE(turns.has_value()) << turns.error().message;
  EXPECT_EQ((*turns)[0].reply.size(), 2u);
  EXPECT_EQ((*turns)[0].question, clip("clip_fox"));
}

TEST_F(HistoryTest, ArtifactsOutOfTurnAreRefused) {
  EXPECT_NE(refusal({reply_}).find("input artifact 0 (lfm2_audio.reply) has no question before it"),
            std::string::npos);
  EXPECT_NE(refusal({question_, question_})
                .find("follows a question; each question needs its reply after it"),
            std::string::npos);
  EXPECT_NE(
      refusal({question_}).find("has no reply after it; the new question goes in audio_input"),
      std::string::npos);
  Artifact other = question_;
  other.id = "lfm2_audio.answer";
  EXPECT_NE(refusal({other}).find("artifacts only, not input artifact 0 (lfm2_audio.answer)"),
            std::string::npos);
  Artifact kind = question_;
  kind.kind = "audio";
  EXPECT_NE(refusal({kind, reply_}).find("must be of kind custom"), std::string::npos);
}

TEST_F(HistoryTest, MetaThatDoesNotFitIsRefused) {
  EXPECT_NE(
      refusal_with_meta("format", "lfm2_audio.reply/2").find("this build reads lfm2_audio.reply/1"),
      std::string::npos);
  EXPECT_NE(
      refusal_with_meta("language", "ja").find("comes from a ja checkpoint, and this one is en"),
      std::string::npos);
  EXPECT_NE(refusal_with_meta("codebooks", "2").find("has codebooks 2, and this checkpoint 8"),
            std::string::npos);
  EXPECT_NE(refusal_with_meta("steps", "two").find("is not a whole number"), std::string::npos);
  EXPECT_NE(refusal_with_meta("steps", "3").find("has 2 steps, and its meta says 3"),
            std::string::npos);
  EXPECT_NE(refusal_with_meta("ended", "yes").find("neither true nor false"), std::string::npos);
  Artifact missing = reply_;
  missing.meta.pop_back();
  EXPECT_NE(refusal({question_, missing}).find("has no meta ended"), std::string::npos);
  Artifact extra = reply_;
  extra.meta.emplace_back("voice", "x");
  EXPECT_NE(
      refusal({question_, extra}).find("has meta voice, which lfm2_audio.reply/1 does not have"),
      std::string::npos);
}

TEST_F(HistoryTest, DamagedPayloadsAreRefusedAtEveryCut) {
  for (size_t size = 0; size < reply_.payload.size(); ++size) {
    Artifact cut = reply_;
    cut.payload.resize(size);
    EXPECT_NE(refusal({question_, cut}), "") << size;
  }
  Artifact bad_token = reply_;
  bad_token.payload[2] = std::byte{0x7f};
  EXPECT_NE(refusal({question_, bad_token}).find("outside the vocabulary"), std::string::npos);
  Artifact bad_code = reply_;
  bad_code.payload[9] = std::byte{0x7f};
  EXPECT_NE(refusal({question_, bad_code}).find("has code "), std::string::npos);
}

TEST_F(HistoryTest, QuestionsMustBeWavFilesWithAudio) {
  Artifact text = question_;
  text.payload.resize(10);
  EXPECT_NE(refusal({text, reply_}).find("does not read as a WAV file"), std::string::npos);
  Artifact empty = question_;
  empty.payload =
      audio::encode_wav(audio::WavSampleType::kFloat32, 16000, 1, std::vector<float>(10, 0.5f));
  EXPECT_NE(refusal({empty, reply_}).find("has no audio"), std::string::npos);
}

TEST_F(HistoryTest, AConversationOverTheLimitIsRefusedBeforeItsAudio) {
  S2sRequest request = greedy_turn();
  request.artifacts = {question_, reply_};
  request.options.max_tokens = kMaxConversationSteps;
  const auto stream = S2sStream::start(*model_, request, {}, kDefaultMaxPassDurationS, nullptr);
  ASSERT_FALSE(stream.has_value());
  EXPECT_EQ(stream.error().code, ErrorCode::kContextFull);
  EXPECT_NE(stream.error().message.find("LFM2-Audio conversation needs at least "),
            std::string::npos);
}

}  // namespace
}  // namespace rill::tasks
