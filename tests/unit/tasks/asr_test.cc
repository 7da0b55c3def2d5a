// SPDX-License-Identifier: Apache-2.0
// Transcription with the demo package.
#include "tasks/asr.h"

#include <gtest/gtest.h>
#if __has_include(<malloc.h>)
#include <malloc.h>
#endif

#include <memory>
#include <string>

#include "audio/log_mel.h"
#include "base/json.h"
#include "base/mapped_file.h"
#include "base/str_cat.h"
#include "model/conformer/config.h"
#include "support/recorded_bits.h"
#include "task_support.h"

namespace rill::tasks {
namespace {

using model::lfm2_audio::LoadOptions;
using model::lfm2_audio::Model;

class TranscribeTest : public testing::Test {
 protected:
  void SetUp() override {
    if (machine_.lacks_tier) GTEST_SKIP() << "the processor lacks the tier that RILL_ISA names";
  }

  const Model& model() {
    if (model_ == nullptr)
      model_ = std::move(Model::load(kDemoPackage, LoadOptions{}, *machine_.pool)).value();
    return *model_;
  }
  Result<Transcript> run(std::span<const float> samples, const AsrOptions& options = {},
                         const AsrRun& run = {}) {
    return transcribe_samples(model(), machine_.context, samples, options, run);
  }
  static std::vector<float> clip(size_t index) {
    const std::string path = cat(kDemoPackage, "/wav/asr_", index < 10 ? "0" : "", index, ".wav");
    return std::move(AudioInput::from_path(path).read_mono_16k()).value();
  }

  Machine machine_{2};
  std::unique_ptr<Model> model_;
};

TEST_F(TranscribeTest, GivesTheReferencesIdsForEveryClip) {
  const auto file = MappedFile::open(kDemoPackage + "/expected.json");
  ASSERT_TRUE(file.has_value());
  const auto text =
      std::string_view(reinterpret_cast<const char*>(file->bytes().data()), file->bytes().size());
  const auto expected = parse_json(text);
  ASSERT_TRUE(expected.has_value());
  const Json::Array& clips = expected->find("asr")->items();
  ASSERT_EQ(clips.size(), 20u);
  for (size_t i = 0; i < clips.size(); ++i) {
    const auto transcript = run(clip(i));
    ASSERT_TRUE(transcript.has_value()) << transcript.error().message;
    EXPECT_EQ(transcript->text, clips[i].find("heard")->as_string());
    std::vector<int64_t> ids(transcript->segments[0].tokens.begin(),
                             transcript->segments[0].tokens.end());
    std::vector<int64_t> want;
    for (const Json& id : clips[i].find("ids")->items()) want.push_back(id.as_int());
    ASSERT_EQ(want.back(), model().special_ids().im_end);
    want.pop_back();
    EXPECT_EQ(ids, want) << "clip " << i;
  }
}

// Ids may agree by luck; the encoder's rows do not.
TEST_F(TranscribeTest, EveryTierGivesTheRecordedBits) {
  for (const size_t index : {0u, 10u}) {
    const auto mel = audio::log_mel(clip(index), model().log_mel_config());
    ASSERT_TRUE(mel.has_value());
    const size_t steps = model::conformer::num_steps(mel->rows());
    auto rows = Tensor::create(steps, model().backbone().config().hidden_size);
    ASSERT_TRUE(rows.has_value());
    ASSERT_TRUE(model().embed_speech(machine_.context, mel->mat(), rows->mat()));
    const std::string name = cat("demo.asr_", index);
    test::expect_recorded_bits(name + ".encoder", {rows->data(), steps * rows->cols()});
    const auto transcript = run(clip(index));
    ASSERT_TRUE(transcript.has_value());
    test::expect_recorded_ids(name + ".ids", transcript->segments[0].tokens);
  }
}

TEST_F(TranscribeTest, FixedChunksKeepTheirTimesAndCoverTheAudio) {
  std::vector<float> samples = clip(0);
  const std::vector<float> second = clip(1);
  samples.insert(samples.end(), second.begin(), second.end());
  AsrOptions options;
  options.audio_chunk_mode = AudioChunkMode::kFixed;
  options.audio_chunk_duration_s = 2.0;
  const auto transcript = run(samples, options);
  ASSERT_TRUE(transcript.has_value());
  ASSERT_GE(transcript->segments.size(), 2u);
  EXPECT_EQ(transcript->segments.front().start_s, 0.0);
  EXPECT_EQ(transcript->segments.back().end_s, static_cast<double>(samples.size()) / 16000);
  for (size_t i = 1; i < transcript->segments.size(); ++i) {
    EXPECT_EQ(transcript->segments[i].start_s, transcript->segments[i - 1].end_s);
    EXPECT_LE(transcript->segments[i].end_s - transcript->segments[i].start_s, 2.0);
  }
}

TEST_F(TranscribeTest, PromptLookupChangesNoToken) {
  // The second half says the first again, so its chunks can be guessed from theirs.
  std::vector<float> samples = clip(10);
  const std::vector<float> once = samples;
  samples.insert(samples.end(), once.begin(), once.end());
  AsrOptions options;
  options.audio_chunk_mode = AudioChunkMode::kFixed;
  options.audio_chunk_duration_s = static_cast<double>(once.size()) / kModelSampleRateHz;
  for (const size_t max_tokens : {size_t{512}, size_t{5}}) {
    options.max_tokens = max_tokens;
    options.prompt_lookup = 0;
    const auto plain = run(samples, options);
    ASSERT_TRUE(plain.has_value());
    EXPECT_EQ(plain->guessed_tokens, 0u);
    for (const size_t guesses : {2u, 100000u}) {
      options.prompt_lookup = guesses;
      const auto ahead = run(samples, options);
      ASSERT_TRUE(ahead.has_value());
      ASSERT_EQ(ahead->segments.size(), plain->segments.size());
      for (size_t i = 0; i < plain->segments.size(); ++i)
        EXPECT_EQ(ahead->segments[i].tokens, plain->segments[i].tokens) << guesses << " " << i;
      EXPECT_EQ(ahead->text, plain->text);
      EXPECT_EQ(ahead->stop_reason, plain->stop_reason);
      EXPECT_GT(ahead->guessed_tokens, 0u) << guesses;
    }
  }
}

TEST_F(TranscribeTest, MaxTokensCutsTheChunkAndWarns) {
  AsrOptions options;
  options.max_tokens = 3;
  std::string warning;
  Logger logger;
  logger.user = &warning;
  logger.sink = [](void* user, LogLevel level, std::string_view message) {
    if (level == LogLevel::kWarning) *static_cast<std::string*>(user) += message;
  };
  AsrRun with_log;
  with_log.logger = &logger;
  const auto whole = run(clip(0));
  const auto cut = run(clip(0), options, with_log);
  ASSERT_TRUE(whole.has_value() && cut.has_value());
  EXPECT_EQ(cut->segments[0].tokens.size(), 3u);
  EXPECT_TRUE(std::equal(cut->segments[0].tokens.begin(), cut->segments[0].tokens.end(),
                         whole->segments[0].tokens.begin()));
  EXPECT_EQ(cut->stop_reason, StopReason::kMaxTokens);
  EXPECT_NE(
      warning.find("reached max_tokens=3 and is cut off there; raise max_tokens for the rest"),
      std::string::npos);
}

TEST_F(TranscribeTest, DigitalSilenceHasNoText) {
  const auto transcript = run(std::vector<float>(19200, 0.0f));
  ASSERT_TRUE(transcript.has_value());
  EXPECT_EQ(transcript->text, "");
  EXPECT_EQ(transcript->stop_reason, StopReason::kNoSpeech);
  EXPECT_EQ(transcript->audio_s, 1.2);
}

TEST_F(TranscribeTest, AudioShorterThanAFrameIsRefused) {
  for (const size_t samples : {0, 1, 2, 3, 159}) {
    const auto transcript = run(std::vector<float>(samples, 0.1f));
    ASSERT_FALSE(transcript.has_value()) << samples;
    EXPECT_EQ(transcript.error().code, ErrorCode::kInvalidFormat);
    EXPECT_NE(transcript.error().message.find(cat("got ", samples, " samples")), std::string::npos);
  }
  for (const size_t samples : {160, 161, 199, 200, 201, 399, 400, 401, 511, 512}) {
    EXPECT_TRUE(run(std::vector<float>(samples, 0.1f)).has_value()) << samples;
  }
}

TEST_F(TranscribeTest, OnePassPastTheLimitIsRefusedBeforeEncoding) {
  AsrRun limited;
  limited.max_pass_duration_s = 1.0;
  AsrOptions one_pass;
  one_pass.audio_chunk_mode = AudioChunkMode::kNone;
  const std::vector<float> samples(32000, 0.1f);
  EXPECT_EQ(run(samples, one_pass, limited).error().code, ErrorCode::kContextFull);
  AsrOptions long_chunks;
  long_chunks.audio_chunk_duration_s = 1.5;
  EXPECT_EQ(run(samples, long_chunks, limited).error().code, ErrorCode::kContextFull);
  // A chunk duration above the limit is harmless for input within it, and an unset one is never an
  // error.
  EXPECT_TRUE(run(std::span(samples).first(16000), long_chunks, limited).has_value());
  EXPECT_TRUE(run(samples, {}, limited).has_value());
}

TEST_F(TranscribeTest, AnotherLanguageThanTheCheckpointsIsRefused) {
  AsrOptions options;
  options.language = "ja";
  EXPECT_EQ(run(clip(0), options).error().message,
            "this LFM2-Audio checkpoint transcribes en, not ja");
  options.language = "auto";
  EXPECT_TRUE(run(clip(0), options).has_value());
}

TEST_F(TranscribeTest, CancelledBeforeTheFirstChunkIsAnError) {
  std::atomic<bool> cancel{true};
  AsrRun cancelled;
  cancelled.cancel = &cancel;
  EXPECT_EQ(run(clip(0), {}, cancelled).error().code, ErrorCode::kCancelled);
}

TEST_F(TranscribeTest, CancelledAfterAChunkKeepsIt) {
  static std::atomic<bool> cancel{false};
  cancel = false;
  AsrRun stops;
  stops.cancel = &cancel;
  stops.progress = [](void*, double done) { cancel = done > 0.35; };  // the first of two chunks
  AsrOptions options;
  options.audio_chunk_mode = AudioChunkMode::kFixed;
  options.audio_chunk_duration_s = 1.0;
  const auto transcript = run(clip(0), options, stops);
  ASSERT_TRUE(transcript.has_value());
  EXPECT_EQ(transcript->segments.size(), 1u);
  EXPECT_EQ(transcript->stop_reason, StopReason::kCancelled);
}

// glibc's aligned_alloc cannot reuse a freed block for the next one of its size: each chunk once
// cost a block of keys and values for good.
#if defined(__GLIBC__) && !defined(__SANITIZE_ADDRESS__) && !defined(__SANITIZE_THREAD__)
TEST_F(TranscribeTest, ManyChunksKeepTheHeapFlat) {
  const std::vector<float> samples = clip(0);
  std::vector<Transcript> kept;  // small pieces that stay between the chunks' large ones
  const auto transcribe_times = [&](int count) {
    for (int i = 0; i < count; ++i) {
      auto transcript = run(samples);
      ASSERT_TRUE(transcript.has_value());
      kept.push_back(std::move(transcript).value());
    }
  };
  const auto heap_bytes = [] {
    const struct mallinfo2 info = mallinfo2();
    return info.arena + info.hblkhd;
  };
  transcribe_times(20);
  const size_t before = heap_bytes();
  transcribe_times(100);
  EXPECT_LT(heap_bytes(), before + (size_t{1} << 20));
}
#endif

TEST_F(TranscribeTest, UnpackedWeightsGiveTheSameIds) {
  LoadOptions borrowed;
  borrowed.repack = false;
  const auto unpacked = Model::load(kDemoPackage, borrowed, *machine_.pool);
  ASSERT_TRUE(unpacked.has_value());
  const std::vector<float> samples = clip(2);
  const auto a = run(samples);
  const auto b = transcribe_samples(**unpacked, machine_.context, samples, {}, {});
  ASSERT_TRUE(a.has_value() && b.has_value());
  EXPECT_EQ(a->segments[0].tokens, b->segments[0].tokens);
}

}  // namespace
}  // namespace rill::tasks
