// SPDX-License-Identifier: Apache-2.0
// Chunk plans and speech segments, against the reference's cases and at the edges.
#include "audio/chunk_plan.h"

#include <gtest/gtest.h>

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
  EXPECT_EQ(find_speech(blocks("#########"), 4000),
            Ranges{});  // the signal ends at exactly the minimum
  EXPECT_EQ(find_speech(blocks("#########"), 4001), (Ranges{{0, 4001}}));
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

TEST(FindSpeech, SharesANarrowGapBetweenNeighbours) {
  SpeechSegmentOptions options;
  options.min_silence = 512;
  EXPECT_EQ(find_speech(blocks("########..########"), 18 * 512, options),
            (Ranges{{0, 4096 + 480}, {5120 - 480, 18 * 512}}));
  options.padding = 600;
  EXPECT_EQ(find_speech(blocks("########..########"), 18 * 512, options),
            (Ranges{{0, 4096 + 512}, {5120 - 512, 18 * 512}}));
}

}  // namespace
}  // namespace rill::audio
