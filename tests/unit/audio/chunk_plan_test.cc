// SPDX-License-Identifier: Apache-2.0
// Chunk plans and speech segments, against the reference's cases and at the edges.
#include "audio/chunk_plan.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <string>

#include "audio/speech_chunker.h"
#include "audio/vad_segments.h"
#include "base/json.h"
#include "base/str_cat.h"
#include "support/test_data.h"

namespace rill::audio {

// How GoogleTest prints a range.
void PrintTo(const SampleRange& range, std::ostream* out) {
  *out << "[" << range.begin << ", " << range.end << ")";
}

namespace {

using Ranges = std::vector<SampleRange>;

Json read_json(std::string_view name) {
  const auto bytes = test::read_file(test::data_path(cat("audio/", name)));
  auto json = parse_json(test::to_text(bytes));
  EXPECT_TRUE(json) << json.error().message;
  return std::move(*json);
}

Ranges ranges_of(const Json& json) {
  Ranges out;
  for (const Json& item : json.items())
    out.push_back({item.items()[0].as_int(), item.items()[1].as_int()});
  return out;
}

TEST(PlanSpeechChunks, MatchesTheReferenceCases) {
  const Json json = read_json("vad_chunks.json");
  const Json* cases = json.find("cases");
  ASSERT_NE(cases, nullptr);
  ASSERT_EQ(cases->items().size(), 22u);
  for (const Json& item : cases->items()) {
    SpeechChunkOptions options;
    options.max_chunk = item.find("max_chunk")->as_int();
    options.merge_gap = item.find("merge_gap")->as_int();
    options.padding = item.find("padding")->as_int();
    const Ranges segments = ranges_of(*item.find("segments"));
    const Ranges expected = ranges_of(*item.find("chunks"));
    EXPECT_EQ(plan_speech_chunks(segments, item.find("samples")->as_int(), options), expected)
        << item.find("name")->as_string();
  }
}

TEST(PlanSpeechChunks, NoSegmentsGiveNoChunks) {
  EXPECT_TRUE(plan_speech_chunks({}, 480000).empty());
}

TEST(PlanSpeechChunks, KeepsItsPromisesOnManyPlans) {
  uint32_t state = 1;
  auto next = [&](uint32_t bound) {
    state = state * 1664525u + 1013904223u;
    return static_cast<int64_t>((state >> 8) % bound);
  };
  for (int round = 0; round < 500; ++round) {
    Ranges segments;
    int64_t at = next(20000);
    for (int64_t count = next(12); count > 0; --count) {
      const int64_t end = at + 4001 + next(60000);
      segments.push_back({at, end});
      at = end + 1 + next(20000);
    }
    const int64_t samples = segments.empty() ? 1000 : segments.back().end + next(3000);
    const SpeechChunkOptions options = {.max_chunk = 16000 + next(80000)};
    const Ranges chunks = plan_speech_chunks(segments, samples, options);
    int64_t last = 0;
    for (const SampleRange& chunk : chunks) {
      ASSERT_GE(chunk.begin, last);
      ASSERT_GT(chunk.length(), 0);
      ASSERT_LE(chunk.length(), options.max_chunk);
      ASSERT_LE(chunk.end, samples);
      last = chunk.end;
    }
    for (const SampleRange& segment : segments) {  // every sample of speech is in some chunk
      int64_t covered = 0;
      for (const SampleRange& chunk : chunks) {
        covered += std::max<int64_t>(
            0, std::min(chunk.end, segment.end) - std::max(chunk.begin, segment.begin));
      }
      ASSERT_EQ(covered, segment.length());
    }
  }
}

TEST(PlanFixedChunks, CutsEveryChunk) {
  EXPECT_EQ(plan_fixed_chunks(0, 480000), Ranges{});
  EXPECT_EQ(plan_fixed_chunks(1, 480000), (Ranges{{0, 1}}));
  EXPECT_EQ(plan_fixed_chunks(480000, 480000), (Ranges{{0, 480000}}));
  EXPECT_EQ(plan_fixed_chunks(960000, 480000), (Ranges{{0, 480000}, {480000, 960000}}));
  EXPECT_EQ(plan_fixed_chunks(976000, 480000),
            (Ranges{{0, 480000}, {480000, 960000}, {960000, 976000}}));
}

TEST(PlanFixedChunks, SplitsAShortLastPieceEvenlyWithTheOneBefore) {
  EXPECT_EQ(plan_fixed_chunks(480001, 480000), (Ranges{{0, 240000}, {240000, 480001}}));
  EXPECT_EQ(plan_fixed_chunks(975999, 480000),
            (Ranges{{0, 480000}, {480000, 727999}, {727999, 975999}}));
  EXPECT_EQ(plan_fixed_chunks(31999, 16000), (Ranges{{0, 15999}, {15999, 31999}}));
}

TEST(PlanFixedChunks, CoversEverythingWithinTheLimit) {
  for (int64_t samples = 1; samples < 200000; samples += 1237) {
    int64_t at = 0;
    for (const SampleRange& chunk : plan_fixed_chunks(samples, 48000)) {
      ASSERT_EQ(chunk.begin, at);
      ASSERT_GT(chunk.length(), 0);
      ASSERT_LE(chunk.length(), 48000);
      at = chunk.end;
    }
    ASSERT_EQ(at, samples);
  }
}

TEST(FindSpeech, MatchesTheReferenceSegments) {
  const test::Vectors vectors(test::data_path("audio/vad.safetensors"));
  const Json json = read_json("vad.json");
  ASSERT_EQ(json.members().size(), 4u);
  for (const auto& [clip, facts] : json.members()) {
    const std::vector<float> probabilities = vectors.floats(cat(clip, ".probability"));
    EXPECT_EQ(find_speech(probabilities, facts.find("samples")->as_int()),
              ranges_of(*facts.find("segments")))
        << clip;
  }
}

// Probabilities as text: '#' speech, '-' between release and threshold, '.' silence.
std::vector<float> blocks(std::string_view text) {
  std::vector<float> out;
  for (const char c : text) out.push_back(c == '#' ? 0.9f : c == '-' ? 0.4f : 0.1f);
  return out;
}

Ranges found(std::string_view text) {
  return find_speech(blocks(text), static_cast<int64_t>(text.size()) * 512);
}

TEST(FindSpeech, NoSpeechGivesNoSegments) {
  EXPECT_TRUE(find_speech({}, 0).empty());
  EXPECT_TRUE(found("..........").empty());
  EXPECT_TRUE(found("----------").empty());
}

TEST(FindSpeech, KeepsOnlySegmentsLongerThanTheMinimum) {
  EXPECT_TRUE(found("..#######......").empty());  // 7 blocks are 3584 samples
  EXPECT_EQ(found("..########......"), (Ranges{{1024 - 480, 5120 + 480}}));  // 8 are 4096
  EXPECT_EQ(find_speech(blocks("########"), 4000),
            Ranges{});  // the signal ends at exactly the minimum
  EXPECT_EQ(find_speech(blocks("########"), 4001), (Ranges{{0, 4001}}));
}

TEST(FindSpeech, BridgesShortPauses) {
  // 4 silent blocks: the pause is looked at 1536 samples after its start, which is below 1600.
  EXPECT_EQ(found("########....########"), (Ranges{{0, 20 * 512}}));
  EXPECT_EQ(found("########.....########"), (Ranges{{0, 4096 + 480}, {13 * 512 - 480, 21 * 512}}));
}

TEST(FindSpeech, BlocksBetweenReleaseAndThresholdKeepAPendingEnd) {
  EXPECT_EQ(found("########.---.########"), (Ranges{{0, 4096 + 480}, {13 * 512 - 480, 21 * 512}}));
  EXPECT_EQ(found("########----------###"), (Ranges{{0, 21 * 512}}));
}

TEST(FindSpeech, ADoubtfulPauseEndsSpeechInTheEnd) {
  SpeechSegmentOptions options;
  options.max_doubt = 20 * 512;
  const std::string doubt(20, '-');
  const auto found_in = [&](const std::string& text) {
    return find_speech(blocks(text), static_cast<int64_t>(text.size()) * 512, options);
  };
  const SampleRange first = {0, 4096 + 480};
  EXPECT_EQ(found_in("########." + doubt.substr(1) + "###"), (Ranges{{0, 31 * 512}}));
  EXPECT_EQ(found_in("########." + doubt + "###"), (Ranges{first}));
  EXPECT_EQ(found_in("########." + doubt + "########"),
            (Ranges{first, {29 * 512 - 480, 37 * 512}}));
  // Doubt that no silence came before is speech.
  EXPECT_EQ(found_in("########" + doubt + doubt), (Ranges{{0, 48 * 512}}));
}

TEST(FindSpeech, SharesANarrowGapBetweenNeighbours) {
  SpeechSegmentOptions options;
  options.min_silence = 512;
  EXPECT_EQ(find_speech(blocks("########..########"), 18 * 512, options),
            (Ranges{{0, 4096 + 480}, {5120 - 480, 18 * 512}}));
  options.padding = 600;
  EXPECT_EQ(find_speech(blocks("########..########"), 18 * 512, options),
            (Ranges{{0, 4096 + 512}, {5120 - 512, 18 * 512}}));
}

// Long random stretches of speech, hesitation and silence.
std::vector<float> random_blocks(uint32_t& state, size_t count) {
  auto next = [&](uint32_t bound) {
    state = state * 1664525u + 1013904223u;
    return (state >> 8) % bound;
  };
  std::vector<float> out;
  while (out.size() < count) {
    const float level = std::array<float, 3>{0.9f, 0.4f, 0.1f}[next(3)];
    const size_t most = std::array<uint32_t, 3>{4, 30, 90}[next(3)];
    out.insert(out.end(), 1 + next(static_cast<uint32_t>(most)), level);
  }
  out.resize(count);
  return out;
}

TEST(SpeechChunker, GivesTheChunksOfTheWholeSignalHoweverItIsCut) {
  uint32_t state = 7;
  auto next = [&](uint32_t bound) {
    state = state * 1664525u + 1013904223u;
    return static_cast<int64_t>((state >> 8) % bound);
  };
  size_t total = 0;
  for (int round = 0; round < 400; ++round) {
    const std::vector<float> probabilities =
        random_blocks(state, 1 + static_cast<size_t>(next(900)));
    const int64_t samples = static_cast<int64_t>(probabilities.size()) * 512 - next(512);
    SpeechSegmentOptions finding;
    if (round % 2 == 1) finding.padding = 480 + next(3000);
    finding.max_doubt = 1600 + next(40000);
    const SpeechChunkOptions options = {.max_chunk = 16000 + next(200000)};
    const Ranges expected =
        plan_speech_chunks(find_speech(probabilities, samples, finding), samples, options);
    total += expected.size();
    SpeechChunker chunker(finding, options);
    Ranges got;
    const auto take = [&] {
      for (const SpeechChunk& chunk : chunker.take()) {
        ASSERT_GE(chunk.speech.begin, chunk.range.begin);
        ASSERT_LE(chunk.speech.end, chunk.range.end);
        ASSERT_GT(chunk.speech.length(), 0);
        got.push_back(chunk.range);
      }
    };
    for (size_t i = 0; i < probabilities.size();) {
      const size_t count =
          std::min<size_t>(static_cast<size_t>(1 + next(40)), probabilities.size() - i);
      const int64_t needed = chunker.next_begin();
      chunker.push(std::span(probabilities).subspan(i, count),
                   std::min(samples, static_cast<int64_t>(i + count) * 512));
      i += count;
      const size_t before = got.size();
      take();
      // Nothing that was needed was dropped.
      const int64_t first = got.size() > before ? got[before].begin : needed;
      ASSERT_GE(first, needed);
      // What has to be kept of the signal stays within a chunk, a doubtful pause and a few seconds.
      ASSERT_LE(static_cast<int64_t>(i) * 512 - chunker.next_begin(),
                options.max_chunk + finding.max_doubt + 64000);
    }
    chunker.finish(samples);
    take();
    ASSERT_EQ(got, expected) << "round " << round;
  }
  EXPECT_GT(total, 1000u);
}

TEST(SpeechChunker, KeepsLittleOfAnHourOfDoubt) {
  for (const std::string_view begin : {"########.", "##.", "########", "."}) {
    SpeechChunker chunker({}, {});
    int64_t heard = 0;
    const auto push = [&](std::string_view text) {
      heard += static_cast<int64_t>(text.size()) * 512;
      chunker.push(blocks(text), heard);
      (void)chunker.take();
    };
    push(begin);
    for (int second = 0; second < 3600; ++second) {
      push("-------------------------------");
      ASSERT_LE(heard - chunker.next_begin(), 2 * 480000 + 64000) << begin << " " << second;
    }
  }
}

TEST(SpeechChunker, ChunksComeOutAboutASecondAfterTheSpeech) {
  SpeechChunker chunker({}, {});
  const std::vector<float> speech = blocks(std::string(50, '#'));
  chunker.push(speech, 50 * 512);
  EXPECT_TRUE(chunker.is_speaking());
  EXPECT_EQ(chunker.open_chunk(), (SampleRange{0, 50 * 512}));
  int64_t heard = 50 * 512;
  std::vector<SpeechChunk> chunks;
  while (chunks.empty()) {
    heard += 512;
    chunker.push(blocks("."), heard);
    chunks = chunker.take();
    ASSERT_LT(heard, 50 * 512 + 24000);
  }
  EXPECT_FALSE(chunker.is_speaking());
  EXPECT_EQ(chunks[0].range, (SampleRange{0, 50 * 512 + 480 + 4000}));
  EXPECT_EQ(chunks[0].speech, (SampleRange{0, 50 * 512 + 480}));
  EXPECT_LE(heard - 50 * 512, 18000);
  EXPECT_EQ(chunker.open_chunk(), std::nullopt);
}

}  // namespace
}  // namespace rill::audio
