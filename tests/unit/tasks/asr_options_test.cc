// SPDX-License-Identifier: Apache-2.0
#include "tasks/asr_options.h"

#include <gtest/gtest.h>

#include <utility>

namespace rill::tasks {
namespace {

Error error_of(std::string_view key, std::string_view value) {
  AsrOptions options;
  Status status = set_asr_option(key, value, options);
  EXPECT_FALSE(status.has_value()) << key << "=" << value << " was accepted";
  return status.has_value() ? Error{} : status.error();
}

TEST(SetAsrOption, SetsEveryDocumentedOption) {
  AsrOptions options;
  ASSERT_TRUE(set_asr_option("language", "ja", options));
  ASSERT_TRUE(set_asr_option("max_tokens", "17", options));
  ASSERT_TRUE(set_asr_option("audio_chunk_mode", "fixed", options));
  ASSERT_TRUE(set_asr_option("audio_chunk_duration_sec", "12.5", options));
  ASSERT_TRUE(set_asr_option("prompt_lookup", "8", options));
  EXPECT_EQ(options.prompt_lookup, 8u);
  EXPECT_EQ(options.language, "ja");
  EXPECT_EQ(options.max_tokens, 17u);
  EXPECT_EQ(options.audio_chunk_mode, AudioChunkMode::kFixed);
  EXPECT_EQ(options.audio_chunk_duration_s, 12.5);
}

TEST(SetAsrOption, TakesEveryChunkMode) {
  const std::pair<const char*, AudioChunkMode> modes[] = {{"auto", AudioChunkMode::kAuto},
                                                          {"vad", AudioChunkMode::kVad},
                                                          {"fixed", AudioChunkMode::kFixed},
                                                          {"none", AudioChunkMode::kNone}};
  for (const auto& [name, mode] : modes) {
    AsrOptions options;
    ASSERT_TRUE(set_asr_option("audio_chunk_mode", name, options)) << name;
    EXPECT_EQ(options.audio_chunk_mode, mode) << name;
  }
}

TEST(SetAsrOption, TakesTheOlderNamesOfTheChunkDuration) {
  for (const char* key :
       {"audio_chunk_seconds", "audio_chunk_duration_seconds", "audio_chunk_duration"}) {
    AsrOptions options;
    ASSERT_TRUE(set_asr_option(key, "1", options)) << key;
    EXPECT_EQ(options.audio_chunk_duration_s, 1.0);
  }
}

TEST(SetAsrOption, RefusesOptionsOfOtherTasksByName) {
  for (const char* key :
       {"temperature", "top_k", "seed", "return_codes", "text_chunk_size", "voice", ""}) {
    const Error error = error_of(key, "1");
    EXPECT_EQ(error.code, ErrorCode::kInvalidArgument);
    EXPECT_EQ(error.message, std::string("LFM2-Audio ASR does not take request option ") + key);
  }
}

TEST(SetAsrOption, RefusesValuesThatDoNotParseWhole) {
  for (const char* value : {"0", "-1", "1.5", "12x", "", " 1", "99999999999999999999"}) {
    EXPECT_EQ(error_of("max_tokens", value).code, ErrorCode::kInvalidArgument) << value;
  }
  for (const char* value : {"0.99", "nan", "inf", "-3", "", "1s"}) {
    EXPECT_EQ(error_of("audio_chunk_duration_sec", value).code, ErrorCode::kInvalidArgument)
        << value;
  }
  EXPECT_NE(error_of("audio_chunk_mode", "always").message.find("auto, vad, fixed or none"),
            std::string::npos);
}

}  // namespace
}  // namespace rill::tasks
