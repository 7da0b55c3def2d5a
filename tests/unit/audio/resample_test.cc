// SPDX-License-Identifier: Apache-2.0
// Resampler and MonoStream: parity with the reference, levels, aliasing, cuts, degenerate lengths.
#include "audio/resample.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <limits>

#include "audio/log_mel.h"
#include "audio/mono.h"
#include "audio/wav.h"
#include "base/str_cat.h"
#include "support/test_data.h"
#include "unit/audio/audio_helpers.h"

namespace rill::audio {
namespace {

std::vector<float> resample(const std::vector<float>& samples, uint32_t from, uint32_t to,
                            size_t piece = 1 << 20) {
  auto resampler = Resampler::create(from, to);
  EXPECT_TRUE(resampler) << resampler.error().message;
  std::vector<float> out;
  for (size_t i = 0; i < samples.size(); i += piece) {
    resampler->push(std::span(samples).subspan(i, std::min(piece, samples.size() - i)), out);
  }
  resampler->finish(out);
  return out;
}

const std::vector<std::string> kClips = {"burst_16k",   "clip_fox",        "clip_hello", "clip_ja",
                                         "silence_16k", "tone_11k",        "tone_16k",   "tone_24k",
                                         "tone_44k",    "tone_44k_stereo", "tone_48k",   "tone_8k"};

TEST(ReadMono, MatchesTheReferenceOnEveryClip) {
  const test::Vectors vectors(test::data_path("audio/resampled.safetensors"));
  for (const std::string& clip : kClips) {
    SCOPED_TRACE(clip);
    auto source = FileSource::open(test::data_path(cat("audio/", clip, ".wav")));
    ASSERT_TRUE(source) << source.error().message;
    auto reader = WavReader::open(std::move(*source));
    ASSERT_TRUE(reader) << reader.error().message;
    auto mono = read_mono(**reader);
    ASSERT_TRUE(mono) << mono.error().message;
    const std::vector<float> expected = vectors.floats(clip);
    ASSERT_EQ(mono->size(), expected.size());
    if (clip == "silence_16k") {
      EXPECT_EQ(*mono, expected);
    } else {
      EXPECT_LT(test::relative_rms(*mono, expected), 1e-6);
    }
  }
}

TEST(Resampler, AnyCutGivesTheSameBits) {
  const std::vector<float> samples = test::noise(5000);
  for (const uint32_t from :
       std::initializer_list<uint32_t>{8000, 11025, 22050, 24000, 44100, 48000, 96000, 12345}) {
    const std::vector<float> whole = resample(samples, from, 16000);
    for (const size_t piece : std::initializer_list<size_t>{1, 2, 7, 160, 1000, 4999}) {
      EXPECT_EQ(resample(samples, from, 16000, piece), whole)
          << from << " Hz in pieces of " << piece;
    }
  }
}

TEST(Resampler, OutputLengthIsTheCeiling) {
  for (const uint32_t from :
       std::initializer_list<uint32_t>{8000, 11025, 22050, 44100, 48000, 192000}) {
    for (const size_t count : std::initializer_list<size_t>{0, 1, 2, 3, 5, 159, 160, 441, 1000}) {
      const size_t expected = (count * 16000 + from - 1) / from;
      EXPECT_EQ(resample(std::vector<float>(count, 0.1f), from, 16000).size(), expected)
          << from << " Hz, " << count;
    }
  }
}

TEST(Resampler, EqualRatesCopy) {
  const std::vector<float> samples = test::noise(777);
  EXPECT_EQ(resample(samples, 16000, 16000, 100), samples);
}

double rms(std::span<const float> samples) {
  double sum = 0.0;
  for (const float s : samples) sum += static_cast<double>(s) * static_cast<double>(s);
  return std::sqrt(sum / static_cast<double>(samples.size()));
}

std::span<const float> middle(const std::vector<float>& samples) {
  return std::span(samples).subspan(samples.size() / 4, samples.size() / 2);
}

TEST(Resampler, KeepsTheLevelOfATone) {
  for (const uint32_t rate : std::initializer_list<uint32_t>{8000, 11025, 16000, 22050, 24000,
                                                             32000, 44100, 48000, 96000, 192000}) {
    const std::vector<float> out = resample(test::sine(1000.0, rate, rate), rate, 16000);
    const std::vector<float> expected = test::sine(1000.0, 16000.0, 16000);
    EXPECT_NEAR(20.0 * std::log10(rms(middle(out)) / rms(middle(expected))), 0.0, 0.05) << rate;
  }
}

TEST(Resampler, KeepsAConstant) {
  for (const uint32_t rate : std::initializer_list<uint32_t>{8000, 22050, 44100, 48000}) {
    const std::vector<float> out = resample(std::vector<float>(rate / 4, 0.25f), rate, 16000);
    for (const float value : middle(out)) ASSERT_NEAR(value, 0.25f, 1e-3) << rate;
  }
}

TEST(Resampler, SuppressesWhatTheNewRateCannotHold) {
  struct Stop {
    double hz;
    double max_db;
  };
  for (const uint32_t rate : std::initializer_list<uint32_t>{44100, 48000}) {
    for (const Stop& stop : {Stop{12000.0, -50.0}, Stop{20000.0, -60.0}}) {
      const std::vector<float> out = resample(test::sine(stop.hz, rate, rate), rate, 16000);
      const double db = 20.0 * std::log10(rms(middle(out)) / rms(test::sine(stop.hz, rate, rate)));
      EXPECT_LT(db, stop.max_db) << stop.hz << " Hz at " << rate;
    }
  }
}

// Power of one frequency in a signal, relative to a tone of level 0.5, in dB.
double level_db(std::span<const float> samples, double hz, double rate) {
  double re = 0.0;
  double im = 0.0;
  for (size_t i = 0; i < samples.size(); ++i) {
    const double angle = 2.0 * 3.14159265358979323846 * hz * static_cast<double>(i) / rate;
    const double window = 1.0 - std::cos(2.0 * 3.14159265358979323846 * static_cast<double>(i) /
                                         static_cast<double>(samples.size()));
    re += window * static_cast<double>(samples[i]) * std::cos(angle);
    im += window * static_cast<double>(samples[i]) * std::sin(angle);
  }
  const double amplitude = 2.0 * std::hypot(re, im) / static_cast<double>(samples.size());
  return 20.0 * std::log10(amplitude / 0.5 + 1e-12);
}

TEST(Resampler, LeavesNoAliasesOfATone) {
  // 7.9 kHz is inside the new band: what may not appear is anything elsewhere.
  for (const uint32_t rate : std::initializer_list<uint32_t>{44100, 48000}) {
    const std::vector<float> out = resample(test::sine(7900.0, rate, rate), rate, 16000);
    EXPECT_GT(level_db(middle(out), 7900.0, 16000.0), -8.0);
    for (const double hz : {100.0, 1000.0, 3900.0, 5000.0, 7000.0}) {
      EXPECT_LT(level_db(middle(out), hz, 16000.0), -60.0) << hz << " Hz of " << rate;
    }
  }
  for (const double hz : {500.0, 1000.0}) {
    const std::vector<float> out = resample(test::sine(hz, 8000.0, 8000), 8000, 16000);
    EXPECT_LT(level_db(middle(out), 8000.0 - hz, 16000.0), -60.0) << "the image of " << hz << " Hz";
  }
}

TEST(Resampler, TakesRatiosThatDoNotReduce) {
  for (const uint32_t rate : std::initializer_list<uint32_t>{44101, 15999, 47999}) {
    const std::vector<float> out = resample(test::sine(440.0, rate, rate / 8), rate, 16000);
    EXPECT_NEAR(level_db(middle(out), 440.0, 16000.0), 0.0, 0.3) << rate;
  }
}

TEST(Resampler, RefusesRatesOutOfBounds) {
  auto zero = Resampler::create(0, 16000);
  ASSERT_FALSE(zero);
  EXPECT_EQ(zero.error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(Resampler::create(16000, 0));
  EXPECT_FALSE(Resampler::create(768001, 16000));
}

TEST(AverageChannels, TakesTheMean) {
  std::vector<float> out;
  average_channels(std::vector<float>{0.5f, -0.5f, 1.0f, 0.0f}, 2, out);
  average_channels(std::vector<float>{0.25f}, 1, out);
  average_channels(std::vector<float>{3.0f, 1.0f, -1.0f}, 3, out);
  EXPECT_EQ(out, (std::vector<float>{0.0f, 0.5f, 0.25f, 1.0f}));
}

TEST(MonoStream, CancelsPhaseInvertedStereo) {
  auto stream = MonoStream::create(44100, 2);
  ASSERT_TRUE(stream);
  std::vector<float> stereo;
  for (const float s : test::noise(3000)) stereo.insert(stereo.end(), {s, -s});
  std::vector<float> out;
  ASSERT_TRUE(stream->push(stereo, out));
  stream->finish(out);
  EXPECT_FALSE(out.empty());
  for (const float s : out) ASSERT_EQ(s, 0.0f);
}

TEST(MonoStream, NamesTheSampleThatIsNoNumber) {
  auto stream = MonoStream::create(48000, 2);
  ASSERT_TRUE(stream);
  std::vector<float> out;
  std::vector<float> piece(1000, 0.1f);
  ASSERT_TRUE(stream->push(piece, out));
  piece[7] = std::numeric_limits<float>::quiet_NaN();
  auto status = stream->push(piece, out);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidFormat);
  EXPECT_NE(status.error().message.find("sample 1007: got NaN"), std::string::npos)
      << status.error().message;
}

TEST(MonoStream, RefusesPartialFramesAndSenselessFormats) {
  auto stream = MonoStream::create(48000, 2);
  ASSERT_TRUE(stream);
  std::vector<float> out;
  auto status = stream->push(std::vector<float>(3), out);
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().code, ErrorCode::kInvalidArgument);
  EXPECT_FALSE(MonoStream::create(0, 1));
  EXPECT_FALSE(MonoStream::create(16000, 0));
  EXPECT_FALSE(MonoStream::create(16000, 65));
}

TEST(ReadMono, StopsAtTheLimit) {
  auto source = FileSource::open(test::data_path("audio/tone_16k.wav"));
  auto reader = WavReader::open(std::move(*source));
  ASSERT_TRUE(reader);
  auto mono = read_mono(**reader, 16000, 7999);
  ASSERT_FALSE(mono);
  EXPECT_EQ(mono.error().code, ErrorCode::kContextFull);
  EXPECT_NE(mono.error().message.find("7999 samples"), std::string::npos);
}

TEST(LogMelStream, TakesDegenerateLengthsAtEveryRate) {
  for (const uint32_t rate : std::initializer_list<uint32_t>{16000, 8000, 48000}) {
    for (const size_t count : std::initializer_list<size_t>{0, 1, 2, 3, 159, 160, 161, 199, 200,
                                                            201, 399, 400, 401, 511, 512}) {
      const std::vector<float> mono = resample(test::noise(count), rate, 16000);
      auto features = log_mel(mono);
      ASSERT_TRUE(features) << features.error().message;
      EXPECT_EQ(features->rows(), mono.size() / 160 + 1);
      for (size_t i = 0; i < features->rows() * features->cols(); ++i) {
        ASSERT_TRUE(std::isfinite(features->data()[i])) << rate << " Hz, " << count << " samples";
      }
    }
  }
}

}  // namespace
}  // namespace rill::audio
