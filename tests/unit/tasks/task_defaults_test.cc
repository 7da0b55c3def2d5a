// SPDX-License-Identifier: Apache-2.0
// What a model file states as its own defaults for request options.
#include "tasks/task_defaults.h"

#include <gtest/gtest.h>

namespace rill::tasks {
namespace {

using format::Metadata;

std::string refusal(const std::string& name, format::MetadataValue value, ErrorCode code) {
  Metadata metadata("model.gguf");
  metadata.add("rill.generation." + name, std::move(value));
  const auto defaults = read_task_defaults(metadata);
  if (defaults) return "";
  EXPECT_EQ(defaults.error().code, code) << defaults.error().message;
  EXPECT_NE(defaults.error().message.find("model.gguf: rill.generation." + name), std::string::npos)
      << defaults.error().message;
  return defaults.error().message;
}

TEST(TaskDefaults, FilesWithoutThemGetTheDocumentedOnes) {
  Metadata metadata("model.gguf");
  metadata.add("general.name", format::metadata_string("x"));
  const auto defaults = read_task_defaults(metadata);
  ASSERT_TRUE(defaults.has_value());
  EXPECT_EQ(defaults->tts.temperature, 0.8f);
  EXPECT_EQ(defaults->tts.top_k, 64u);
  EXPECT_EQ(defaults->s2s.temperature, 1.0f);
  EXPECT_EQ(defaults->s2s.top_k, 4u);
  EXPECT_EQ(defaults->asr.max_tokens, 512u);
}

TEST(TaskDefaults, EveryTypeOfValueIsRead) {
  Metadata metadata("model.gguf");
  metadata.add("rill.generation.tts.temperature", format::metadata_f32(0.3f));
  metadata.add("rill.generation.tts.text_chunk_mode", format::metadata_string("endline"));
  metadata.add("rill.generation.s2s.top_k", format::metadata_u32(9));
  metadata.add("rill.generation.s2s.temperature", format::metadata_string("0"));
  metadata.add("rill.generation.asr.max_tokens", format::metadata_u32(77));
  metadata.add("rill.generation.chat.min_p", format::metadata_f32(0.1f));
  const auto defaults = read_task_defaults(metadata);
  ASSERT_TRUE(defaults.has_value()) << defaults.error().message;
  EXPECT_EQ(defaults->tts.temperature, 0.3f);
  EXPECT_EQ(defaults->tts.text_chunk_mode, TextChunkMode::kEndline);
  EXPECT_EQ(defaults->tts.top_k, 64u);
  EXPECT_EQ(defaults->s2s.top_k, 9u);
  EXPECT_EQ(defaults->s2s.temperature, 0.0f);
  EXPECT_EQ(defaults->asr.max_tokens, 77u);
}

TEST(TaskDefaults, WhatCannotBeUsedIsRefusedByKey) {
  const auto one = format::metadata_u32(1);
  EXPECT_NE(refusal("sing.temperature", one, ErrorCode::kUnsupported).find("unknown task sing"),
            std::string::npos);
  EXPECT_NE(refusal("tts", one, ErrorCode::kInvalidFormat), "");
  EXPECT_NE(refusal("tts.top_p", one, ErrorCode::kInvalidFormat).find("does not take"),
            std::string::npos);
  EXPECT_NE(refusal("tts.temperature", format::metadata_f32(-1), ErrorCode::kInvalidFormat)
                .find("got '-1', expected a number, 0 or more"),
            std::string::npos);
  EXPECT_NE(refusal("s2s.max_tokens", format::metadata_u32(0), ErrorCode::kInvalidFormat), "");
  EXPECT_NE(refusal("s2s.top_k", format::metadata_bool(true), ErrorCode::kInvalidFormat)
                .find("got bool, expected f32, u32 or string"),
            std::string::npos);
  for (const char* option : {"tts.seed", "tts.language", "s2s.return_codes"}) {
    EXPECT_NE(refusal(option, one, ErrorCode::kUnsupported).find("a model has no default for"),
              std::string::npos);
  }
}

TEST(TaskDefaults, ARequestsValueWins) {
  TtsOptions defaults;
  defaults.temperature = 0.0f;
  defaults.top_k = 5;
  const std::vector<OptionValue> given = {{"temperature", "0.5"}, {"temperature", "0.25"}};
  const auto options = apply_options<TtsOptions>(defaults, given, set_tts_option);
  ASSERT_TRUE(options.has_value());
  EXPECT_EQ(options->temperature, 0.25f);
  EXPECT_EQ(options->top_k, 5u);
}

}  // namespace
}  // namespace rill::tasks
