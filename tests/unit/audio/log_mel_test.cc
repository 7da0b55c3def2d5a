// SPDX-License-Identifier: Apache-2.0
// The log-mel front end against the reference, stage by stage, and its promises about cuts and
// lengths.
#include "audio/log_mel.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstring>
#include <limits>

#include "base/json.h"
#include "support/test_data.h"
#include "unit/audio/audio_helpers.h"

namespace rill::audio {
namespace {

// Reference values lie mel-major; ours are time-major.
std::vector<float> transposed(const float* rows, size_t num_rows, size_t cols) {
  std::vector<float> out(num_rows * cols);
  for (size_t r = 0; r < num_rows; ++r) {
    for (size_t c = 0; c < cols; ++c) out[c * num_rows + r] = rows[r * cols + c];
  }
  return out;
}

std::vector<float> features_of(const Tensor& features) {
  return transposed(features.data(), features.rows(), features.cols());
}

LogMel default_front_end() {
  auto front_end = LogMel::create();
  EXPECT_TRUE(front_end) << front_end.error().message;
  return std::move(*front_end);
}

TEST(LogMel, WindowAndFilterbankMatchTheReference) {
  const test::Vectors vectors(test::data_path("audio/frontend_constants.safetensors"));
  const LogMel front_end = default_front_end();
  EXPECT_LT(test::relative_rms(front_end.window(), vectors.floats("hann_window_400")), 2e-7);
  std::vector<float> filters;
  for (size_t m = 0; m < 128; ++m) {
    const std::vector<float> row = front_end.filterbank().dense_row(m);
    filters.insert(filters.end(), row.begin(), row.end());
  }
  EXPECT_LT(test::relative_rms(filters, vectors.floats("mel_filterbank")), 2e-7);
}

TEST(LogMel, StagesMatchTheReference) {
  const test::Vectors stages(test::data_path("audio/frontend_stages.safetensors"));
  const std::vector<float> pcm =
      test::Vectors(test::data_path("audio/resampled.safetensors")).floats("clip_hello");
  const LogMel front_end = default_front_end();
  std::vector<float> emphasised(pcm.size());
  float previous = 0.0f;
  front_end.preemphasise(pcm, previous, emphasised);
  EXPECT_LT(test::relative_rms(emphasised, stages.floats("preemphasised")), 1e-7);

  auto power_of = [&](size_t frame) {
    std::vector<float> samples(400, 0.0f);
    for (size_t i = 0; i < 400; ++i) {
      const int64_t at = static_cast<int64_t>(frame * 160 + i) - 200;
      if (at >= 0 && at < static_cast<int64_t>(pcm.size()))
        samples[i] = emphasised[static_cast<size_t>(at)];
    }
    LogMel::Work work;
    front_end.power_spectrum(samples, work);
    return std::vector<float>(work.power.begin(), work.power.end());
  };
  auto expect_power = [&](std::string_view name, size_t first_frame, size_t count) {
    std::vector<float> rows;
    for (size_t f = 0; f < count; ++f) {
      const std::vector<float> power = power_of(first_frame + f);
      rows.insert(rows.end(), power.begin(), power.end());
    }
    EXPECT_LT(test::relative_rms(transposed(rows.data(), count, 257), stages.floats(name)), 2e-6)
        << name;
  };
  expect_power("power_first4", 0, 4);
  expect_power("power_last2", 126, 2);

  LogMelStream stream(front_end);
  stream.push(pcm);
  stream.finish_frames();
  ASSERT_EQ(stream.frames_ready(), 128u);
  EXPECT_LT(
      test::relative_rms(transposed(stream.rows().data(), 128, 128), stages.floats("log_mel")),
      1e-6);
}

TEST(LogMelFunction, FeaturesMatchTheReferenceOnEveryClip) {
  const test::Vectors resampled(test::data_path("audio/resampled.safetensors"));
  const test::Vectors features(test::data_path("audio/features.safetensors"));
  for (const std::string clip :
       {"burst_16k", "clip_fox", "clip_hello", "clip_ja", "tone_11k", "tone_16k", "tone_24k",
        "tone_44k", "tone_44k_stereo", "tone_48k", "tone_8k"}) {
    auto computed = log_mel(resampled.floats(clip));
    ASSERT_TRUE(computed) << computed.error().message;
    const std::vector<float> expected = features.floats(clip);
    ASSERT_EQ(computed->rows() * computed->cols(), expected.size());
    EXPECT_LT(test::relative_rms(features_of(*computed), expected), 5e-6) << clip;
  }
}

TEST(LogMelFunction, SilenceIsExactlyZero) {
  for (const float level :
       {0.0f, 0.25f}) {  // a constant differs from silence in its first frames only
    auto features = log_mel(std::vector<float>(level == 0.0f ? 19200 : 0, level));
    ASSERT_TRUE(features);
    for (size_t i = 0; i < features->rows() * features->cols(); ++i)
      ASSERT_EQ(features->data()[i], 0.0f);
  }
}

TEST(LogMelFunction, LengthsMatchTheReference) {
  const auto bytes = test::read_file(test::data_path("audio/lengths.json"));
  auto json = parse_json(test::to_text(bytes));
  ASSERT_TRUE(json) << json.error().message;
  const Json* counts = json->find("frame_counts");
  ASSERT_NE(counts, nullptr);
  ASSERT_FALSE(counts->items().empty());
  for (const Json& item : counts->items()) {
    const size_t samples = static_cast<size_t>(item.find("samples")->as_int());
    EXPECT_EQ(log_mel_frames(samples), static_cast<size_t>(item.find("mel_frames")->as_int()))
        << samples;
    EXPECT_EQ(audio_steps(samples), static_cast<size_t>(item.find("audio_tokens")->as_int()))
        << samples;
  }
  EXPECT_EQ(audio_steps(480000), 376u);
}

TEST(LogMelFunction, LastFrameIsZeroAndOneValidFrameToo) {
  for (const size_t count : std::initializer_list<size_t>{0, 1, 159, 160, 161, 319}) {
    auto features = log_mel(test::noise(count));
    ASSERT_TRUE(features);
    for (size_t i = 0; i < features->rows() * features->cols(); ++i)
      ASSERT_EQ(features->data()[i], 0.0f) << count;
  }
  auto features = log_mel(test::noise(1600));
  ASSERT_TRUE(features);
  ASSERT_EQ(features->rows(), 11u);
  float largest = 0.0f;
  for (size_t m = 0; m < 128; ++m) {
    EXPECT_EQ(features->mat().row(10)[m], 0.0f);
    largest = std::max(largest, std::fabs(features->mat().row(9)[m]));
  }
  EXPECT_GT(largest, 0.1f);
}

TEST(LogMelStream, AnyCutGivesTheSameBits) {
  const LogMel front_end = default_front_end();
  for (const size_t count : {size_t{161}, size_t{4097}, size_t{20345}}) {
    const std::vector<float> pcm = test::noise(count);
    auto whole = log_mel(pcm);
    ASSERT_TRUE(whole);
    for (const size_t piece : {size_t{1}, size_t{159}, size_t{160}, size_t{401}, size_t{5000}}) {
      LogMelStream stream(front_end);
      for (size_t i = 0; i < count; i += piece)
        stream.push(std::span(pcm).subspan(i, std::min(piece, count - i)));
      auto features = stream.finish();
      ASSERT_TRUE(features);
      ASSERT_EQ(features->rows(), whole->rows());
      EXPECT_EQ(std::memcmp(features->data(), whole->data(),
                            whole->rows() * whole->cols() * sizeof(float)),
                0)
          << piece;
    }
  }
}

TEST(LogMelStream, ComputesFramesAsSamplesCome) {
  const LogMel front_end = default_front_end();
  LogMelStream stream(front_end);
  EXPECT_EQ(stream.frames_ready(), 0u);
  stream.push(test::noise(200));
  EXPECT_EQ(stream.frames_ready(), 1u);
  stream.push(test::noise(160));
  EXPECT_EQ(stream.frames_ready(), 2u);
  EXPECT_EQ(stream.rows().size(), 2u * 128u);
}

TEST(LogMelFunction, NamesTheSampleThatIsNoNumber) {
  std::vector<float> pcm(400, 0.0f);
  pcm[123] = std::numeric_limits<float>::infinity();
  auto features = log_mel(pcm);
  ASSERT_FALSE(features);
  EXPECT_EQ(features.error().code, ErrorCode::kInvalidFormat);
  EXPECT_NE(features.error().message.find("sample 123: got an infinity"), std::string::npos)
      << features.error().message;
}

TEST(LogMelFunction, StaysFiniteForTheLoudestAndFaintestSamples) {
  for (const float level : {1e12f, 1e-38f, 1e-45f}) {
    std::vector<float> pcm = test::noise(3200);
    for (float& s : pcm) s *= level;
    auto features = log_mel(pcm);
    ASSERT_TRUE(features);
    for (size_t i = 0; i < features->rows() * features->cols(); ++i)
      ASSERT_TRUE(std::isfinite(features->data()[i]));
  }
}

TEST(LogMel, RefusesSettingsThatMakeNoSense) {
  auto expect_refused = [](const LogMelConfig& config, std::string_view part) {
    auto front_end = LogMel::create(config);
    ASSERT_FALSE(front_end) << part;
    EXPECT_EQ(front_end.error().code, ErrorCode::kInvalidArgument);
    EXPECT_NE(front_end.error().message.find(part), std::string::npos) << front_end.error().message;
  };
  expect_refused({.n_fft = 514}, "fft");
  expect_refused({.win_length = 513}, "win_length");
  expect_refused({.win_length = 1}, "win_length");
  expect_refused({.hop_length = 0}, "hop_length");
  expect_refused({.hop_length = 401}, "hop_length");
  expect_refused({.n_mels = 0}, "n_mels");
  expect_refused({.n_mels = 513}, "n_mels");
  expect_refused({.f_max_hz = 8001.0}, "f_max_hz");
  expect_refused({.f_min_hz = 8000.0}, "f_min_hz");
  expect_refused({.sample_rate_hz = 0}, "sample_rate_hz");
  expect_refused({.log_guard = 0.0}, "log_guard");
}

}  // namespace
}  // namespace rill::audio
