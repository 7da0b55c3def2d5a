// SPDX-License-Identifier: Apache-2.0
#include "tasks/audio_input.h"

#include <gtest/gtest.h>

#include <cmath>
#include <limits>

namespace rill::tasks {
namespace {

const std::string kClip = std::string(RILL_SOURCE_DIR) + "/assets/demo/wav/asr_00.wav";

TEST(AudioInput, FileBytesAndPathGiveTheSameSamples) {
  const auto from_path = AudioInput::from_path(kClip).read_mono_16k();
  ASSERT_TRUE(from_path.has_value());
  FILE* file = std::fopen(kClip.c_str(), "rb");
  ASSERT_NE(file, nullptr);
  std::vector<std::byte> bytes(1 << 20);
  bytes.resize(std::fread(bytes.data(), 1, bytes.size(), file));
  std::fclose(file);
  const auto from_bytes = AudioInput::from_file_bytes(bytes).read_mono_16k();
  ASSERT_TRUE(from_bytes.has_value());
  EXPECT_EQ(*from_path, *from_bytes);
}

TEST(AudioInput, SixteenBitSamplesAreScaledAndChannelsAveraged) {
  const int16_t samples[] = {16384, -16384, 32767, 32767};
  const auto input = AudioInput::from_samples(samples, 2, 2, 16000);
  ASSERT_TRUE(input.has_value());
  const auto mono = input->read_mono_16k();
  ASSERT_TRUE(mono.has_value());
  EXPECT_EQ(*mono, (std::vector<float>{0.0f, 32767.0f / 32768.0f}));
}

TEST(AudioInput, RefusesImpossibleFormatsByName) {
  const float sample[2] = {0, 0};
  for (const int32_t channels : {-1, 0, 65}) {
    const auto input = AudioInput::from_samples(sample, 1, channels, 16000);
    ASSERT_FALSE(input.has_value());
    EXPECT_NE(input.error().message.find("channels"), std::string::npos);
  }
  for (const int32_t rate : {-8000, 0, 999, 768001}) {
    const auto input = AudioInput::from_samples(sample, 1, 1, rate);
    ASSERT_FALSE(input.has_value());
    EXPECT_NE(input.error().message.find("sample rate"), std::string::npos);
  }
}

TEST(AudioInput, RefusesSamplesThatAreNotFinite) {
  for (const float bad : {std::numeric_limits<float>::infinity(), std::nanf("")}) {
    const float samples[] = {0.0f, bad};
    const auto input = AudioInput::from_samples(samples, 2, 1, 16000);
    ASSERT_FALSE(input.has_value());
    EXPECT_EQ(input.error().code, ErrorCode::kInvalidArgument);
  }
}

TEST(AudioInput, NoAudioIsAnError) {
  const auto mono = AudioInput().read_mono_16k();
  ASSERT_FALSE(mono.has_value());
  EXPECT_EQ(mono.error().code, ErrorCode::kInvalidArgument);
}

}  // namespace
}  // namespace rill::tasks
