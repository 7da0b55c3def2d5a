// SPDX-License-Identifier: Apache-2.0
#include "text/reply_parser.h"

#include <algorithm>
#include <iterator>

namespace rill::text {
namespace {

enum Tag : size_t { kThink, kEndThink, kCallStart, kCallEnd, kTurnEnd };
constexpr std::string_view kTags[] = {"<think>", "</think>", "<|tool_call_start|>",
                                      "<|tool_call_end|>", "<|im_end|>"};

bool is_blank(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

}  // namespace

ReplyParser::ReplyParser(const ReplyOptions& options, const Json& tools)
    : options_(options), schemas_(tools), calls_(schemas_) {
  if (options_.starts_in_reasoning && options_.split_reasoning) part_ = Part::kReasoning;
}

ReplyDelta ReplyParser::push(std::string_view text) {
  ReplyDelta out;
  held_ += text;
  process(out, false);
  return out;
}

ReplyDelta ReplyParser::finish() {
  ReplyDelta out;
  process(out, true);
  if (part_ == Part::kToolCalls) end_tool_calls(false, out);
  // Blanks at the end of content belong to it, those between a call and the end do not.
  if (!is_after_tag_) out.content += content_blanks_;
  content_blanks_.clear();
  part_ = Part::kEnded;
  return out;
}

/// Inside a block only its end (and the reply's) counts.
bool ReplyParser::is_tag_active(size_t tag) const {
  if (tag == kTurnEnd) return true;
  if (part_ == Part::kToolCalls) return tag == kCallEnd;
  if (tag == kThink || tag == kEndThink) return options_.split_reasoning;
  return true;
}

/// Passes on what is no tag, takes the tags, holds back what may become one.
void ReplyParser::process(ReplyDelta& out, bool is_end) {
  size_t begin = 0;  // of the text that is not passed on
  size_t at = 0;
  while (part_ != Part::kEnded && (at = held_.find('<', at)) != std::string::npos) {
    const std::string_view rest = std::string_view(held_).substr(at);
    bool may_become_tag = false;
    size_t found = std::size(kTags);
    for (size_t tag = 0; tag < std::size(kTags); ++tag) {
      if (!is_tag_active(tag)) continue;
      const size_t common = std::min(rest.size(), kTags[tag].size());
      if (rest.substr(0, common) != kTags[tag].substr(0, common)) continue;
      if (common == kTags[tag].size()) found = tag;
      may_become_tag = may_become_tag || common < kTags[tag].size();
    }
    if (found < std::size(kTags)) {
      add_text(std::string_view(held_).substr(begin, at - begin), out);
      take_tag(found, out);
      at += kTags[found].size();
      begin = at;
    } else if (may_become_tag && !is_end) {
      break;
    } else {
      ++at;
    }
  }
  const size_t end = std::min(at, held_.size());
  add_text(std::string_view(held_).substr(begin, end - begin), out);
  held_.erase(0, part_ == Part::kEnded ? held_.size() : end);
}

void ReplyParser::take_tag(size_t tag, ReplyDelta& out) {
  switch (tag) {
    case kThink:
      // Blanks before reasoning are dropped.
      if (part_ == Part::kContent && !options_.keep_white_space) content_blanks_.clear();
      part_ = Part::kReasoning;
      break;
    case kEndThink:
      if (part_ != Part::kReasoning) break;
      part_ = Part::kContent;
      reasoning_blanks_.clear();
      is_after_tag_ = true;
      break;
    case kCallStart:
      begin_tool_calls();
      break;
    case kCallEnd:
      if (part_ == Part::kToolCalls) end_tool_calls(true, out);
      break;
    default:
      if (part_ == Part::kToolCalls) end_tool_calls(false, out);
      part_ = Part::kEnded;
      break;
  }
}

void ReplyParser::begin_tool_calls() {
  if (!options_.parse_tool_calls) return;
  if (!options_.keep_white_space) {
    content_blanks_.clear();
    reasoning_blanks_.clear();
  }
  part_before_calls_ = part_;
  part_ = Part::kToolCalls;
  calls_.begin_block();
}

void ReplyParser::end_tool_calls(bool has_end_marker, ReplyDelta& out) {
  const size_t content_before = out.content.size();
  calls_.end_block(has_end_marker, out);
  if (out.content.size() > content_before) is_content_started_ = true;
  part_ = part_before_calls_;
  is_after_tag_ = true;
}

namespace {

/// Appends text to `out`, holding back the blanks at its end; at the start of a part its first
/// blanks go.
void append_without_end_blanks(std::string_view text, bool is_start, std::string& blanks,
                               std::string& out) {
  size_t end = text.size();
  while (end > 0 && is_blank(text[end - 1])) --end;
  if (end > 0) {
    size_t begin = 0;
    if (is_start) {
      while (is_blank(text[begin])) ++begin;
    } else {
      out += blanks;
    }
    out += text.substr(begin, end - begin);
    blanks.clear();
  }
  blanks += text.substr(end);
}

}  // namespace

void ReplyParser::add_text(std::string_view text, ReplyDelta& out) {
  if (text.empty() || part_ == Part::kEnded) return;
  const bool is_reasoning = part_ == Part::kReasoning;
  const size_t content_before = out.content.size();
  const size_t reasoning_before = out.reasoning.size();
  if (part_ == Part::kToolCalls) {
    calls_.push(text, out);
  } else if (options_.keep_white_space) {
    (is_reasoning ? out.reasoning : out.content) += text;
  } else if (is_reasoning) {
    append_without_end_blanks(text, !is_reasoning_started_, reasoning_blanks_, out.reasoning);
  } else {
    append_without_end_blanks(text, is_after_tag_ && !is_content_started_, content_blanks_,
                              out.content);
  }
  if (out.reasoning.size() > reasoning_before) is_reasoning_started_ = true;
  if (out.content.size() > content_before) {
    is_content_started_ = true;
    is_after_tag_ = part_ == Part::kToolCalls;
  }
}

Reply parse_reply(std::string_view text, const ReplyOptions& options, const Json& tools) {
  ReplyParser parser(options, tools);
  Reply reply;
  reply.append(parser.push(text));
  reply.append(parser.finish());
  return reply;
}

}  // namespace rill::text
