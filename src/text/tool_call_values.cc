// SPDX-License-Identifier: Apache-2.0
// ToolCallParser's values: Python and JSON literals to JSON text. Strings are in
// tool_call_strings.cc.
#include <algorithm>

#include "text/tool_call_parser.h"

namespace rill::text {
namespace {

bool is_quote(char c) { return c == '\'' || c == '"'; }

bool is_prefix_letter(char c) {
  const char lower = static_cast<char>(c | 0x20);
  return lower == 'r' || lower == 'b' || lower == 'u' || lower == 'f';
}

std::string_view trimmed(std::string_view text) {
  const size_t begin = text.find_first_not_of(" \n\r\t");
  if (begin == std::string_view::npos) return {};
  return text.substr(begin, text.find_last_not_of(" \n\r\t") - begin + 1);
}

}  // namespace

bool ToolCallParser::is_muted() const {
  return std::any_of(frames_.begin(), frames_.end(),
                     [](const Frame& frame) { return frame.is_muted; });
}

/// Prints the comma of a list item.
void ToolCallParser::begin_value() {
  Frame& frame = frames_.back();
  if (frame.has_keys || is_muted()) return;
  if (!frame.is_empty) print(",");
  frame.is_empty = false;
}

void ToolCallParser::finish_key(const std::string& key) {
  Frame& frame = frames_.back();
  frame.wants_key = false;
  // JSON has no repeated keys; the first one stands.
  frame.is_muted = std::find(frame.keys.begin(), frame.keys.end(), key) != frame.keys.end();
  if (is_muted()) return;
  frame.keys.push_back(key);
  if (!frame.is_empty) print(",");
  frame.is_empty = false;
  print(json_quoted(key));
  print(":");
}

bool ToolCallParser::step_value() {
  consume(skip_spaces(0));
  if (!has(0)) return false;
  const Frame& frame = frames_.back();
  const bool can_close = frames_.size() > 1 && (!frame.has_keys || frame.wants_key);
  if (can_close && at(0) == frame.closer) {
    consume(1);
    close_frame();
    return true;
  }
  const bool is_key = frame.has_keys && frame.wants_key;
  if (!is_key && (at(0) == '[' || at(0) == '(' || at(0) == '{')) return open_container(at(0));
  // A string may have up to two prefix letters.
  size_t prefix = 0;
  while (prefix < 2 && has(prefix) && is_prefix_letter(at(prefix))) ++prefix;
  if (!has(prefix) && !is_ended_) return false;
  if (has(prefix) && is_quote(at(prefix))) return begin_string(prefix);
  token_.clear();
  bare_depth_ = 0;
  state_ = State::kBare;
  return true;
}

bool ToolCallParser::open_container(char opener) {
  if (frames_.size() >= kMaxDepth) return fail_value();
  begin_value();
  Frame frame;
  frame.has_keys = opener == '{';
  frame.closer = opener == '{' ? '}' : opener == '[' ? ']' : ')';
  if (!is_muted()) print(frame.has_keys ? "{" : "[");
  frames_.back().wants_key = true;
  frames_.push_back(frame);
  consume(1);
  return true;
}

/// Closes the innermost container, or the call.
void ToolCallParser::close_frame() {
  const bool has_keys = frames_.back().has_keys;
  if (!is_muted()) print(has_keys ? "}" : "]");
  frames_.pop_back();
  if (frames_.empty()) {
    end_call();
  } else {
    state_ = State::kAfterValue;
  }
}

/// An unquoted value, up to the comma or bracket behind it.
bool ToolCallParser::step_bare() {
  const Frame& frame = frames_.back();
  const bool is_key = frame.has_keys && frame.wants_key;
  while (has(0)) {
    const char c = at(0);
    if (bare_depth_ == 0) {
      Decision ends = Decision::kNo;
      if (c == frame.closer || (is_key && c == ':')) {
        ends = Decision::kYes;
      } else if (c == ',') {
        const size_t following = skip_spaces(1);
        const bool is_trailing = has(following) && at(following) == frame.closer;
        ends = frames_.size() > 1 || is_trailing ? Decision::kYes : is_next_argument(1);
      }
      if (ends == Decision::kNeedMore) return false;
      if (ends == Decision::kYes) {
        finish_bare();
        return true;
      }
    }
    if (c == '(' || c == '[' || c == '{') ++bare_depth_;
    if ((c == ')' || c == ']' || c == '}') && bare_depth_ > 0) --bare_depth_;
    token_ += c;
    consume(1);
  }
  return false;
}

void ToolCallParser::finish_bare() {
  state_ = State::kAfterValue;
  const std::string_view text = trimmed(token_);
  const ParameterType type = frames_.size() == 1 ? type_ : ParameterType::kUnknown;
  if (frames_.back().has_keys && frames_.back().wants_key) {
    const std::string value = bare_value_json(text, ParameterType::kUnknown);
    finish_key(value[0] == '"' ? std::string(text) : value);
    return;
  }
  begin_value();
  frames_.back().wants_key = true;
  if (!is_muted()) print(bare_value_json(text, type));
}

bool ToolCallParser::step_after_value() {
  const size_t next = skip_spaces(0);
  if (!has(next)) return false;
  Frame& frame = frames_.back();
  const char c = at(next);
  if (frames_.size() > 1 && frame.has_keys && !frame.wants_key) {
    if (c != ':') return fail_value();
    consume(next + 1);
    state_ = State::kValue;
    return true;
  }
  if (c == frame.closer) {
    frame.is_muted = false;
    consume(next + 1);
    close_frame();
    return true;
  }
  if (c != ',') return fail_value();
  if (frames_.size() > 1) {
    frame.is_muted = false;
    consume(next + 1);
    state_ = State::kValue;
    return true;
  }
  const size_t following = skip_spaces(next + 1);
  if (!has(following) && !is_ended_) return false;
  if (has(following) && at(following) == ')') {
    consume(following);
    return true;
  }
  const Decision has_key = is_next_argument(next + 1);
  if (has_key == Decision::kNeedMore) return false;
  if (has_key == Decision::kNo) return fail_value();
  frame.is_muted = false;
  consume(next + 1);
  return step_argument_key();
}

/// The call is damaged: its JSON is closed, what is left becomes content.
bool ToolCallParser::fail_value() {
  close_open_call();
  state_ = State::kContent;
  return true;
}

/// Closes what is open of a call that has no end of its own.
void ToolCallParser::close_open_call() {
  if (state_ == State::kString) {
    close_string();
  } else if (state_ == State::kBare) {
    finish_bare();
  }
  while (!frames_.empty()) {
    Frame& frame = frames_.back();
    const bool lacks_value = frame.has_keys && !frame.wants_key && !frame.is_muted;
    frame.is_muted = false;
    if (!is_muted()) {
      if (lacks_value) print("null");
      print(frame.has_keys ? "}" : "]");
    }
    frames_.pop_back();
  }
  is_call_open_ = false;
}

}  // namespace rill::text
