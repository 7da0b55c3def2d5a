// SPDX-License-Identifier: Apache-2.0
#include "tasks/transcript.h"

#include <gtest/gtest.h>

#include "base/json.h"

namespace rill::tasks {
namespace {

std::string join(std::initializer_list<const char*> texts) {
  std::vector<TranscriptSegment> segments;
  for (const char* text : texts) {
    segments.emplace_back();
    segments.back().text = text;
  }
  return join_transcripts(segments);
}

Transcript two_segments() {
  Transcript transcript;
  transcript.language = "en";
  transcript.audio_s = 3661.5;
  transcript.segments = {{0, 1.5, "Hello <you> & me.", {5, 6}, false},
                         {3600.25, 3661.5, "Line one\nline two.", {7}, true}};
  transcript.text = join_transcripts(transcript.segments);
  return transcript;
}

std::string formatted(const Transcript& transcript, const char* format) {
  auto text = format_transcript(transcript, format);
  EXPECT_TRUE(text.has_value());
  return text.has_value() ? *text : "";
}

TEST(JoinTranscripts, PutsSpacesOnlyBetweenAsciiAndAsciiWords) {
  EXPECT_EQ(join({"one.", "Two."}), "one. Two.");
  EXPECT_EQ(join({"  one ", "", " \n", "two"}), "one two");
  EXPECT_EQ(join({"\u3053\u3093\u306b\u3061\u306f\u3002", "\u4e16\u754c\u3002"}),
            "\u3053\u3093\u306b\u3061\u306f\u3002\u4e16\u754c\u3002");
  EXPECT_EQ(join({"abc", "\u4e16\u754c"}), "abc\u4e16\u754c");
  EXPECT_EQ(join({"\u4e16\u754c", "abc"}), "\u4e16\u754cabc");
  EXPECT_EQ(join({"one", "(two)"}), "one(two)");
  EXPECT_EQ(join({}), "");
}

TEST(FormatTranscript, SrtNumbersCuesAndKeepsThemOnOneLine) {
  EXPECT_EQ(formatted(two_segments(), "srt"),
            "1\n00:00:00,000 --> 00:00:01,500\nHello <you> & me.\n\n"
            "2\n01:00:00,250 --> 01:01:01,500\nLine one line two.\n\n");
}

TEST(FormatTranscript, VttEscapesMarkup) {
  EXPECT_EQ(formatted(two_segments(), "vtt"),
            "WEBVTT\n\n00:00:00.000 --> 00:00:01.500\nHello &lt;you&gt; &amp; me.\n\n"
            "01:00:00.250 --> 01:01:01.500\nLine one line two.\n\n");
}

TEST(FormatTranscript, SubtitlesLeaveOutEmptySegments) {
  Transcript transcript = two_segments();
  transcript.segments[0].text.clear();
  EXPECT_EQ(formatted(transcript, "srt").substr(0, 31), "1\n01:00:00,250 --> 01:01:01,500");
}

TEST(FormatTranscript, VerboseJsonHasOpenAisFieldsAndInventsNone) {
  const auto json = parse_json(formatted(two_segments(), "verbose_json"));
  ASSERT_TRUE(json.has_value());
  EXPECT_EQ(json->find("task")->as_string(), "transcribe");
  EXPECT_EQ(json->find("language")->as_string(), "english");
  EXPECT_EQ(json->find("duration")->as_double(), 3661.5);
  const Json& segment = json->find("segments")->items()[1];
  EXPECT_EQ(segment.find("id")->as_int(), 1);
  EXPECT_EQ(segment.find("start")->as_double(), 3600.25);
  EXPECT_EQ(segment.find("tokens")->items().size(), 1u);
  EXPECT_EQ(segment.find("words"), nullptr);
  EXPECT_EQ(segment.find("avg_logprob"), nullptr);
}

TEST(FormatTranscript, JsonIsTheTextAlone) {
  EXPECT_EQ(formatted(two_segments(), "json"),
            "{\"text\":\"Hello <you> & me. Line one\\nline two.\"}\n");
}

TEST(FormatTranscript, RefusesOtherFormatsByName) {
  const auto text = format_transcript(two_segments(), "docx");
  ASSERT_FALSE(text.has_value());
  EXPECT_EQ(text.error().message,
            "output format: got 'docx', expected text, json, verbose_json, srt or vtt");
}

}  // namespace
}  // namespace rill::tasks
