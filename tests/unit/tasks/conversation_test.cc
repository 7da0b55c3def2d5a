// SPDX-License-Identifier: Apache-2.0
// Conversations of several turns on the tiny package. Whatever a session keeps and whatever ran
// before, a turn gives the bytes of a session that has just begun, and errors likewise.
#include <gtest/gtest.h>

#include <cstring>

#if defined(__GLIBC__)
#include <malloc.h>
#endif

#include "audio/wav_writer.h"
#include "base/str_cat.h"
#include "task_support.h"
#include "tasks/audio_input.h"
#include "tasks/s2s.h"
#include "tasks/speech_stream.h"

namespace rill::tasks {
namespace {

using model::lfm2_audio::Model;

/// A conversation as its client holds it.
struct Talk {
  std::string system;
  std::vector<Artifact> history;
};

struct Turn {
  std::string error;
  std::string text;
  std::vector<float> pcm;
  std::vector<Artifact> reply;
  size_t prompt_steps = 0;
  size_t cached_steps = 0;
};

/// A question of that many seconds, which the seed decides.
std::vector<float> question(uint32_t seed, size_t seconds = 9) {
  std::vector<float> samples(seconds * 16000);
  uint32_t state = seed * 2654435761u + 1;
  float smooth = 0;
  for (float& sample : samples) {
    state = state * 1664525u + 1013904223u;
    smooth = 0.9f * smooth + 0.1f * static_cast<float>(static_cast<int32_t>(state)) * 0x1p-31f;
    sample = smooth;
  }
  return samples;
}

class ConversationTest : public testing::Test {
 protected:
  static constexpr size_t kMaxTokens = 20;

  void SetUp() override {
    if (machine_.lacks_tier) GTEST_SKIP() << "the processor lacks the tier that RILL_ISA names";
    model_ = load_tiny_speaker(*machine_.pool);
  }

  static S2sRequest request_of(const Talk& talk, size_t max_tokens) {
    S2sRequest request;
    request.system = talk.system;
    request.artifacts = talk.history;
    request.options.max_tokens = max_tokens;
    request.options.seed = 11;
    request.options.return_codes = true;
    return request;
  }
  Turn run(const Talk& talk, const std::vector<float>& samples, ConversationCache* cache,
           size_t max_tokens = kMaxTokens) {
    Turn turn;
    auto stream = S2sStream::start(*model_, request_of(talk, max_tokens), {},
                                   kDefaultMaxPassDurationS, cache);
    if (!stream) return {stream.error().message, {}, {}, {}, 0, 0};
    RILL_CHECK(stream->push_mono(samples).has_value(), "push");
    while (true) {
      auto event = stream->next(machine_.context);
      if (!event) return {event.error().message, {}, {}, {}, 0, 0};
      if (!event->has_value()) break;
      turn.text += (*event)->text;
      turn.pcm.insert(turn.pcm.end(), (*event)->pcm.begin(), (*event)->pcm.end());
    }
    turn.reply = {stream->reply_artifact()};
    turn.prompt_steps = stream->prompt_steps();
    turn.cached_steps = stream->cached_steps();
    return turn;
  }
  static void expect_same(const Turn& got, const Turn& want) {
    EXPECT_EQ(got.error, want.error);
    EXPECT_EQ(got.text, want.text);
    EXPECT_EQ(got.prompt_steps, want.prompt_steps);
    ASSERT_EQ(got.pcm.size(), want.pcm.size());
    EXPECT_TRUE(got.pcm.empty() ||
                std::memcmp(got.pcm.data(), want.pcm.data(), got.pcm.size() * sizeof(float)) == 0);
    ASSERT_EQ(got.reply.size(), want.reply.size());
    if (!got.reply.empty()) {
      EXPECT_EQ(got.reply[0].payload, want.reply[0].payload);
    }
  }
  /// The next turn of a conversation: as a fresh session answers it. Returns the steps that the
  /// cache saved.
  size_t ask(Talk& talk, const std::vector<float>& samples, ConversationCache& cache,
             size_t max_tokens = kMaxTokens) {
    const Turn want = run(talk, samples, nullptr, max_tokens);
    const Turn got = run(talk, samples, &cache, max_tokens);
    expect_same(got, want);
    if (!got.error.empty()) return 0;
    add(talk, samples, got);
    return got.cached_steps;
  }
  static void add(Talk& talk, const std::vector<float>& samples, const Turn& turn) {
    talk.history.push_back({kQuestionId,
                            kQuestionKind,
                            audio::encode_wav(audio::WavSampleType::kFloat32, 16000, 1, samples),
                            {}});
    talk.history.push_back(turn.reply[0]);
  }
  static bool keeps(const ConversationCache& cache, const std::vector<float>& samples) {
    return cache.questions.find(hash_samples(samples)) != nullptr;
  }

  Machine machine_{2};
  std::unique_ptr<Model> model_;
};

TEST_F(ConversationTest, FourTurnsWithOthersBetweenThemAreThoseOfFreshSessions) {
  ConversationCache cache(4);
  Talk a;
  Talk b{"Be brief.", {}};
  EXPECT_EQ(ask(a, question(1), cache), 0u);
  EXPECT_EQ(ask(a, question(2), cache), 0u);  // a first turn keeps no blocks
  EXPECT_TRUE(keeps(cache, question(1)));
  EXPECT_TRUE(keeps(cache, question(2)));
  EXPECT_EQ(ask(b, question(7), cache), 0u);
  const size_t third = ask(a, question(3), cache);
  EXPECT_GE(third, 256u);
  ask(a, question(4), cache, kMaxConversationSteps);  // refused, as a fresh session refuses it
  EXPECT_EQ(a.history.size(), 6u);
  EXPECT_GE(ask(a, question(4), cache), third);
  EXPECT_TRUE(keeps(cache, question(1)));
}

TEST_F(ConversationTest, TwoConversationsTakeTurnsInTwoSlots) {
  const std::string long_system(700, 'x');
  for (const auto& [system_a, system_b, seed_b] :
       {std::tuple("", "Be brief.", 100u),
        std::tuple(long_system.c_str(), long_system.c_str(), 100u),
        std::tuple("", "Be brief.", 0u)}) {  // the last two ask the same clips
    ConversationCache cache(2);
    ConversationCache own(2);  // a session of a's own
    Talk a{system_a, {}};
    Talk alone{system_a, {}};
    Talk b{system_b, {}};
    for (uint32_t turn = 1; turn <= 4; ++turn) {
      const size_t saved = ask(a, question(turn), cache);
      EXPECT_GE(saved, ask(alone, question(turn), own));
      ask(b, question(seed_b + turn), cache);
      EXPECT_TRUE(keeps(cache, question(turn)));
    }
    // A third one drops what was used least recently: a's.
    Talk c{"Be kind.", {}};
    for (uint32_t turn = 1; turn <= 3; ++turn) ask(c, question(200 + turn), cache);
    EXPECT_EQ(cache.blocks.num_prompts(), 2u);
    EXPECT_EQ(cache.questions.num_conversations(), 2u);
    const size_t shared = a.system == b.system ? 256u : 0u;
    EXPECT_LE(ask(a, question(5), cache), shared + 256u);
  }
}

TEST_F(ConversationTest, OneSlotAndNoneGiveTheSameBytes) {
  for (const size_t slots : {0, 1}) {
    ConversationCache cache(slots);
    Talk a;
    Talk b{"Be brief.", {}};
    for (uint32_t turn = 1; turn <= 3; ++turn) {
      ask(a, question(turn), cache);
      ask(b, question(50 + turn), cache);
      EXPECT_LE(cache.blocks.num_prompts(), slots);
      EXPECT_EQ(cache.questions.num_conversations(), slots);
    }
  }
}

TEST_F(ConversationTest, FourKeepWhatTheyHaveAloneAndAFifthDropsTheOldest) {
  ConversationCache cache(4);
  std::vector<Talk> talks;
  for (const char* system : {"One.", "Two.", "Three.", "Four."}) talks.push_back({system, {}});
  std::vector<size_t> saved(4);
  for (uint32_t turn = 1; turn <= 3; ++turn) {
    for (uint32_t t = 0; t < 4; ++t) saved[t] = ask(talks[t], question(10 * t + turn), cache);
  }
  for (const size_t steps : saved) EXPECT_GE(steps, 256u);
  Talk fifth{"Five.", {}};
  ask(fifth, question(90), cache);
  EXPECT_FALSE(keeps(cache, question(1)));  // of the least recently used
  EXPECT_TRUE(keeps(cache, question(11)));
  EXPECT_TRUE(keeps(cache, question(90)));
}

TEST_F(ConversationTest, AChangedTurnIsAnotherConversation) {
  ConversationCache cache(2);
  Talk talk;
  for (uint32_t turn = 1; turn <= 3; ++turn) ask(talk, question(turn), cache);
  Talk changed = talk;
  Talk second = {talk.system, {talk.history.begin(), talk.history.begin() + 2}};
  const Turn other = run(second, question(33), nullptr);
  changed.history.resize(2);
  add(changed, question(33), other);  // the second question and its reply are other ones
  ask(changed, question(4), cache);
  EXPECT_GE(ask(talk, question(4), cache), 256u);  // the old one is still kept
}

TEST_F(ConversationTest, LeavingOutTheOldestTurnRunsTheRestAnew) {
  ConversationCache cache(2);
  Talk talk;
  for (uint32_t turn = 1; turn <= 4; ++turn) ask(talk, question(turn), cache);
  talk.history.erase(talk.history.begin(), talk.history.begin() + 2);
  EXPECT_TRUE(keeps(cache, question(2)));
  EXPECT_EQ(ask(talk, question(5), cache), 0u);  // every position moved
  EXPECT_GE(ask(talk, question(6), cache), 256u);
}

TEST_F(ConversationTest, ARequestWithoutHistoryOrCodesKeepsNothing) {
  ConversationCache cache(4);
  S2sRequest request = request_of({}, kMaxTokens);
  request.options.return_codes = false;
  auto stream = S2sStream::start(*model_, request, {}, kDefaultMaxPassDurationS, &cache);
  ASSERT_TRUE(stream.has_value());
  ASSERT_TRUE(stream->push_mono(question(1)).has_value());
  ASSERT_TRUE(stream->next(machine_.context).has_value());
  EXPECT_EQ(cache.questions.num_conversations(), 0u);
  EXPECT_EQ(cache.blocks.num_prompts(), 0u);
}

TEST_F(ConversationTest, TheLimitHoldsToTheStep) {
  Talk talk;
  ConversationCache cache(1);
  ask(talk, question(1), cache);
  const size_t steps = run(talk, question(2), nullptr).prompt_steps;
  const auto first_event = [&](size_t max_tokens) {
    auto stream = S2sStream::start(*model_, request_of(talk, max_tokens), {},
                                   kDefaultMaxPassDurationS, &cache);
    if (!stream) return stream.error().message;
    RILL_CHECK(stream->push_mono(question(2)).has_value(), "push");
    const auto event = stream->next(machine_.context);
    return event ? std::string() : event.error().message;
  };
  EXPECT_EQ(first_event(kMaxConversationSteps - steps), "");
  EXPECT_EQ(
      first_event(kMaxConversationSteps - steps + 1),
      cat("LFM2-Audio conversation needs ", steps,
          " prompt steps plus max_tokens=", kMaxConversationSteps - steps + 1,
          ", more than the 8192 a conversation may take; leave out its oldest turns, or lower "
          "max_tokens"));
}

TEST_F(ConversationTest, AStreamFinishedEarlyGivesWhatItsEventsCarried) {
  S2sRequest request = request_of({}, 200);
  auto s2s = S2sStream::start(*model_, request, {}, kDefaultMaxPassDurationS, nullptr);
  ASSERT_TRUE(s2s.has_value());
  SpeechStream stream(std::move(s2s).value(), /*return_codes=*/true);
  ASSERT_TRUE(stream.push_audio(question(1), 1, 16000).has_value());
  std::string text;
  std::vector<float> pcm;
  for (int i = 0; i < 3; ++i) {
    const auto event = stream.next(machine_.context);
    ASSERT_TRUE(event.has_value() && event->has_value());
    text += (*event)->text;
    pcm.insert(pcm.end(), (*event)->pcm.begin(), (*event)->pcm.end());
  }
  const SpeechResult result = stream.result();
  EXPECT_EQ(result.text, text);
  EXPECT_EQ(result.pcm, pcm);
  EXPECT_EQ(result.stop_reason, StopReason::kCancelled);
  ASSERT_EQ(result.artifacts.size(), 1u);
  EXPECT_EQ(result.artifacts[0].meta.back(),
            (std::pair<std::string, std::string>("ended", "false")));
  // What was said so far goes back in as it is.
  Talk talk;
  Turn cut;
  cut.reply = result.artifacts;
  add(talk, question(1), cut);
  EXPECT_EQ(run(talk, question(2), nullptr).error, "");
}

TEST_F(ConversationTest, SpeechFinishedEarlyIsTheStartOfTheWhole) {
  TtsRequest request;
  request.text = "Good morning.";
  request.options.seed = 3;
  request.options.max_tokens = 12;
  const auto pull = [&](size_t events) {
    auto tts = TtsStream::start(*model_, request, {});
    RILL_CHECK(tts.has_value(), "start");
    SpeechStream stream(std::move(tts).value());
    for (size_t i = 0; i < events; ++i) {
      const auto event = stream.next(machine_.context);
      if (!event || !event->has_value()) break;
    }
    return stream.result();
  };
  const SpeechResult whole = pull(1000);
  const SpeechResult cut = pull(3);
  EXPECT_EQ(cut.stop_reason, StopReason::kCancelled);
  ASSERT_LT(cut.pcm.size(), whole.pcm.size());
  EXPECT_TRUE(std::equal(cut.pcm.begin(), cut.pcm.end(), whole.pcm.begin()));
}

#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(ConversationTest, AHundredRequestsKeepTheHeapFlat) {
  ConversationCache cache(2);
  Talk first;
  ask(first, question(1, 2), cache);
  const auto speak_times = [&](int count) {
    for (int i = 0; i < count; ++i) {
      TtsRequest request;
      request.text = "Good morning.";
      request.options.max_tokens = 5;
      request.options.seed = static_cast<uint64_t>(i);
      auto stream = TtsStream::start(*model_, request, {});
      ASSERT_TRUE(stream.has_value());
      while (true) {
        const auto event = stream->next(machine_.context);
        ASSERT_TRUE(event.has_value());
        if (!event->has_value()) break;
      }
      ASSERT_EQ(run(first, question(2, 2), &cache, 12).error, "");
    }
  };
  const auto heap_bytes = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.arena + info.hblkhd;
  };
  speak_times(20);
  const size_t before = heap_bytes();
  speak_times(100);
  EXPECT_LT(heap_bytes(), before + (size_t{1} << 20));
}
#endif

}  // namespace
}  // namespace rill::tasks
