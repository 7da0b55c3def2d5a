// SPDX-License-Identifier: Apache-2.0
// Chunks at pauses, offline and streamed, with the demo package and the real detector.
#include "tasks/transcript_stream.h"

#include <gtest/gtest.h>

#include <memory>
#include <string>
#include <utility>

#include "base/str_cat.h"
#include "support/vad_weights.h"
#include "task_support.h"

namespace rill::tasks {
namespace {

using model::lfm2_audio::LoadOptions;
using model::lfm2_audio::Model;
using model::silero_vad::SileroVad;

std::vector<float> clip(const char* name) {
  return std::move(AudioInput::from_path(cat(kDemoPackage, "/wav/", name, ".wav")).read_mono_16k())
      .value();
}

void append(std::vector<float>& samples, const std::vector<float>& more) {
  samples.insert(samples.end(), more.begin(), more.end());
}

std::vector<float> silence(double seconds) {
  return std::vector<float>(samples_of_seconds(seconds), 0.0f);
}

/// A second of silence, a clip, two of silence, a clip, one of silence.
std::vector<float> two_clips() {
  std::vector<float> samples = silence(1);
  append(samples, clip("asr_00"));
  append(samples, silence(2));
  append(samples, clip("asr_04"));
  append(samples, silence(1));
  return samples;
}

class TranscriptStreamTest : public testing::Test {
 protected:
  void SetUp() override {
    if (machine_.lacks_tier) GTEST_SKIP() << "the processor lacks the tier that RILL_ISA names";
    model_ = std::move(Model::load(kDemoPackage, LoadOptions{}, *machine_.pool)).value();
    if (const auto path = test::vad_weights()) {
      vad_ = std::make_unique<SileroVad>(SileroVad::open(*path, *machine_.pool).value());
      run_.vad = vad_.get();
    }
  }

  /// Pushes pieces and collects the final segments; partial results are only counted.
  std::vector<TranscriptSegment> stream(std::span<const float> samples, size_t piece,
                                        const AsrOptions& options, double partial_interval_s) {
    auto stream = TranscriptStream::start(*model_, options, run_, partial_interval_s);
    EXPECT_TRUE(stream) << stream.error().message;
    std::vector<TranscriptSegment> finals;
    bool over = false;
    while (!over) {
      const auto event = stream->next(machine_.context);
      EXPECT_TRUE(event);
      if (!event) break;
      if (event->kind == TranscriptEvent::Kind::kPartial) ++num_partials_;
      if (event->kind == TranscriptEvent::Kind::kFinal) finals.push_back(event->segment);
      over = event->kind == TranscriptEvent::Kind::kEnd;
      if (event->kind != TranscriptEvent::Kind::kNeedsAudio) continue;
      const auto pushed = samples.first(std::min(piece, samples.size()));
      samples = samples.subspan(pushed.size());
      if (pushed.empty()) {
        stream->end_audio();
      } else {
        EXPECT_TRUE(stream->push_audio(pushed, 1, kModelSampleRateHz));
      }
    }
    result_ = stream->result();
    return finals;
  }

  Machine machine_{2};
  std::unique_ptr<Model> model_;
  std::unique_ptr<SileroVad> vad_;
  AsrRun run_;
  size_t num_partials_ = 0;
  Transcript result_;
};

TEST_F(TranscriptStreamTest, GivesTheOfflineSegmentsHoweverTheAudioIsCut) {
  if (vad_ == nullptr) GTEST_SKIP() << test::kNoVadWeights;
  const std::vector<float> samples = two_clips();
  AsrOptions options;
  options.audio_chunk_mode = AudioChunkMode::kVad;
  const auto offline = transcribe_samples(*model_, machine_.context, samples, options, run_);
  ASSERT_TRUE(offline) << offline.error().message;
  ASSERT_EQ(offline->segments.size(), 2u);
  for (const size_t piece : {size_t{333}, size_t{16000}, samples.size()}) {
    const auto finals = stream(samples, piece, options, piece == 16000 ? 0.5 : 0.0);
    ASSERT_EQ(finals.size(), 2u) << piece;
    for (size_t i = 0; i < 2; ++i) {
      EXPECT_EQ(finals[i].tokens, offline->segments[i].tokens);
      EXPECT_EQ(finals[i].start_s, offline->segments[i].start_s);
      EXPECT_EQ(finals[i].end_s, offline->segments[i].end_s);
    }
    EXPECT_EQ(result_.text, offline->text);
    EXPECT_EQ(result_.audio_s, offline->audio_s);
    EXPECT_EQ(result_.stop_reason, StopReason::kEos);
  }
  EXPECT_GT(num_partials_, 1u);
}

// Partial results are what the final ones are guessed from.
TEST_F(TranscriptStreamTest, PromptLookupChangesNoSegment) {
  if (vad_ == nullptr) GTEST_SKIP() << test::kNoVadWeights;
  std::vector<float> samples = clip("asr_04");
  append(samples, silence(1));
  AsrOptions options;
  options.audio_chunk_mode = AudioChunkMode::kVad;
  const auto plain = stream(samples, 4000, options, 0.5);
  const size_t num_partials = std::exchange(num_partials_, 0);
  options.prompt_lookup = 8;
  const auto ahead = stream(samples, 4000, options, 0.5);
  ASSERT_FALSE(plain.empty());
  ASSERT_EQ(ahead.size(), plain.size());
  for (size_t i = 0; i < plain.size(); ++i) EXPECT_EQ(ahead[i].tokens, plain[i].tokens);
  EXPECT_EQ(num_partials_, num_partials);
  EXPECT_GT(result_.guessed_tokens, result_.generated_tokens / 2);
}

TEST_F(TranscriptStreamTest, SegmentsLieWhereSomebodySpeaks) {
  if (vad_ == nullptr) GTEST_SKIP() << test::kNoVadWeights;
  AsrOptions options;
  options.audio_chunk_mode = AudioChunkMode::kVad;
  const std::vector<float> samples = two_clips();
  const double first = static_cast<double>(clip("asr_00").size()) / kModelSampleRateHz;
  const auto finals = stream(samples, 4000, options, 0);
  ASSERT_EQ(finals.size(), 2u);
  EXPECT_NEAR(finals[0].start_s, 1.0, 0.4);
  EXPECT_NEAR(finals[0].end_s, 1.0 + first, 0.4);
  EXPECT_NEAR(finals[1].start_s, 3.0 + first, 0.4);
}

TEST_F(TranscriptStreamTest, SilenceHasNoSegments) {
  if (vad_ == nullptr) GTEST_SKIP() << test::kNoVadWeights;
  EXPECT_TRUE(stream(silence(3), 1600, {}, 0.5).empty());
  EXPECT_EQ(num_partials_, 0u);
  EXPECT_EQ(result_.stop_reason, StopReason::kNoSpeech);
  EXPECT_TRUE(stream({}, 1600, {}, 0).empty());
  EXPECT_EQ(result_.audio_s, 0.0);
}

TEST_F(TranscriptStreamTest, FixedChunksNeedNoDetector) {
  run_.vad = nullptr;
  AsrOptions options;
  options.audio_chunk_mode = AudioChunkMode::kFixed;
  options.audio_chunk_duration_s = 2.0;
  const std::vector<float> samples = two_clips();
  const auto offline = transcribe_samples(*model_, machine_.context, samples, options, run_);
  ASSERT_TRUE(offline);
  const auto finals = stream(samples, 5000, options, 0);
  ASSERT_EQ(finals.size(), offline->segments.size());
  for (size_t i = 0; i < finals.size(); ++i) {
    EXPECT_EQ(finals[i].tokens, offline->segments[i].tokens);
    EXPECT_EQ(finals[i].end_s, offline->segments[i].end_s);
  }
}

TEST_F(TranscriptStreamTest, WhatCannotBeIsRefusedByName) {
  AsrOptions options;
  options.audio_chunk_mode = AudioChunkMode::kNone;
  EXPECT_EQ(TranscriptStream::start(*model_, options, run_, 0).error().code,
            ErrorCode::kInvalidArgument);
  options.audio_chunk_mode = AudioChunkMode::kFixed;
  EXPECT_EQ(TranscriptStream::start(*model_, options, run_, -1).error().code,
            ErrorCode::kInvalidArgument);
  options.audio_chunk_duration_s = 121.0;
  EXPECT_EQ(TranscriptStream::start(*model_, options, run_, 0).error().code,
            ErrorCode::kContextFull);
  run_.vad = nullptr;
  const auto no_detector = TranscriptStream::start(*model_, {}, run_, 0);
  ASSERT_FALSE(no_detector);
  EXPECT_EQ(no_detector.error().code, ErrorCode::kNotFound);
  EXPECT_NE(no_detector.error().message.find("lfm2_audio.vad_model_path"), std::string::npos);

  options.audio_chunk_duration_s.reset();
  auto stream = TranscriptStream::start(*model_, options, run_, 0);
  ASSERT_TRUE(stream);
  ASSERT_TRUE(stream->push_audio(silence(0.1), 1, 16000));
  EXPECT_EQ(stream->push_audio(silence(0.1), 2, 16000).error().code, ErrorCode::kInvalidArgument);
  EXPECT_EQ(stream->push_audio(silence(0.1), 1, 8000).error().code, ErrorCode::kInvalidArgument);
  stream->end_audio();
  EXPECT_EQ(stream->push_audio(silence(0.1), 1, 16000).error().code, ErrorCode::kInvalidArgument);
}

TEST_F(TranscriptStreamTest, ACancelledStreamEndsWithWhatIsFinal) {
  std::atomic<bool> cancel{false};
  run_.cancel = &cancel;
  AsrOptions options;
  options.audio_chunk_mode = AudioChunkMode::kFixed;
  options.audio_chunk_duration_s = 1.0;
  auto stream = TranscriptStream::start(*model_, options, run_, 0);
  ASSERT_TRUE(stream);
  ASSERT_TRUE(stream->push_audio(clip("asr_00"), 1, kModelSampleRateHz));
  auto event = stream->next(machine_.context);
  ASSERT_TRUE(event);
  ASSERT_EQ(event->kind, TranscriptEvent::Kind::kFinal);
  cancel = true;
  event = stream->next(machine_.context);
  ASSERT_TRUE(event);
  EXPECT_EQ(event->kind, TranscriptEvent::Kind::kEnd);
  EXPECT_EQ(stream->result().segments.size(), 1u);
  EXPECT_EQ(stream->result().stop_reason, StopReason::kCancelled);
}

}  // namespace
}  // namespace rill::tasks
