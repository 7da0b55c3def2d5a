// SPDX-License-Identifier: Apache-2.0
// The states of a block and of calls; tool_call_values.cc has the values.
#include "text/tool_call_parser.h"

namespace rill::text {
namespace {

bool is_space(char c) { return c == ' ' || c == '\n' || c == '\r' || c == '\t'; }

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
         c == '-' || static_cast<unsigned char>(c) >= 0x80;
}

}  // namespace

void ToolCallParser::begin_block() {
  state_ = State::kStart;
  buffer_.clear();
  position_ = 0;
  is_ended_ = false;
  has_list_ = false;
  first_call_ = num_calls_;
  is_call_open_ = false;
  frames_.clear();
}

void ToolCallParser::push(std::string_view text, ReplyDelta& out) {
  out_ = &out;
  buffer_ += text;
  while (step()) {
  }
  // The start stays until it is clear that the block holds calls: it may yet have to become
  // content.
  const bool keep =
      num_calls_ == first_call_ && state_ != State::kContent && state_ != State::kAfterList;
  if (!keep) {
    buffer_.erase(0, position_);
    position_ = 0;
  }
  out_ = nullptr;
}

void ToolCallParser::end_block(bool has_end_marker, ReplyDelta& out) {
  is_ended_ = true;
  push({}, out);
  out_ = &out;
  if (state_ == State::kJson) parse_json_block();
  if (is_call_open_ && has_end_marker) close_open_call();
  out_ = nullptr;
}

bool ToolCallParser::step() {
  switch (state_) {
    case State::kStart:
      return step_start();
    case State::kCallHead:
      return step_call_head();
    case State::kValue:
      return step_value();
    case State::kString:
      return step_string();
    case State::kBare:
      return step_bare();
    case State::kAfterValue:
      return step_after_value();
    case State::kAfterCall:
      return step_after_call();
    case State::kAfterList:
      return step_after_list();
    case State::kJson:
      return false;
    case State::kContent:
      break;
  }
  out_->content += rest();
  consume(rest().size());
  return false;
}

size_t ToolCallParser::skip_spaces(size_t offset) const {
  while (has(offset) && is_space(at(offset))) ++offset;
  return offset;
}

size_t ToolCallParser::skip_name(size_t offset, bool with_dots) const {
  while (has(offset) && (is_name_char(at(offset)) || (with_dots && at(offset) == '.'))) ++offset;
  return offset;
}

/// What is no call becomes content: all of the block if no call came of it yet, else what is left.
bool ToolCallParser::fail_head() {
  if (num_calls_ == first_call_) position_ = 0;
  state_ = State::kContent;
  return true;
}

bool ToolCallParser::step_start() {
  consume(skip_spaces(0));
  if (!has(0)) return false;
  if (at(0) == '{') {
    state_ = State::kJson;
    return false;
  }
  if (at(0) == '[') {
    const size_t next = skip_spaces(1);
    if (!has(next) && !is_ended_) return false;
    if (has(next) && at(next) == '{') {
      state_ = State::kJson;
      return false;
    }
    has_list_ = true;
    consume(1);
  }
  state_ = State::kCallHead;
  return true;
}

/// name(key= or name()
bool ToolCallParser::step_call_head() {
  const size_t begin = skip_spaces(0);
  if (!has(begin)) return false;
  if (has_list_ && at(begin) == ']') {
    consume(begin + 1);
    state_ = State::kAfterList;
    return true;
  }
  const size_t name_end = skip_name(begin, true);
  const size_t open = skip_spaces(name_end);
  const bool is_long = open - begin > kMaxLookahead;
  if (!has(open) && !is_ended_ && !is_long) return false;
  if (!has(open) || at(open) != '(' || name_end == begin || is_long) return fail_head();
  const size_t first = skip_spaces(open + 1);
  if (!has(first) && !is_ended_ && first - open < kMaxLookahead) return false;
  const bool is_empty = has(first) && at(first) == ')';
  if (!is_empty) {
    const Decision has_key = is_next_argument(open + 1);
    if (has_key == Decision::kNeedMore) return false;
    if (has_key == Decision::kNo) return fail_head();
  }
  begin_call(std::string(rest().substr(begin, name_end - begin)));
  consume(open + 1);
  print("{");
  state_ = State::kAfterValue;
  return is_empty ? true : step_argument_key();
}

/// At "key=", which is known to stand there.
bool ToolCallParser::step_argument_key() {
  const size_t begin = skip_spaces(0);
  const size_t end = skip_name(begin, false);
  const std::string key(rest().substr(begin, end - begin));
  consume(skip_spaces(end) + 1);
  finish_key(key);
  type_ = schemas_->type(name_, key);
  state_ = State::kValue;
  return true;
}

/// Whether "key=" stands at an offset.
ToolCallParser::Decision ToolCallParser::is_next_argument(size_t after) const {
  const size_t begin = skip_spaces(after);
  const size_t name_end = skip_name(begin, false);
  const size_t equals = skip_spaces(name_end);
  if (equals - after > kMaxLookahead) return Decision::kNo;
  if (!has(equals)) return out_of_text();
  if (name_end == begin || at(equals) != '=') return Decision::kNo;
  if (!has(equals + 1)) return is_ended_ ? Decision::kYes : Decision::kNeedMore;
  return at(equals + 1) == '=' ? Decision::kNo : Decision::kYes;
}

/// Whether "name(" or the end of the list stands at an offset.
ToolCallParser::Decision ToolCallParser::is_next_call(size_t after) const {
  const size_t begin = skip_spaces(after);
  if (has(begin) && at(begin) == ']') return Decision::kYes;
  const size_t name_end = skip_name(begin, true);
  const size_t open = skip_spaces(name_end);
  if (open - after > kMaxLookahead) return Decision::kNo;
  if (!has(open)) return out_of_text();
  return name_end > begin && at(open) == '(' ? Decision::kYes : Decision::kNo;
}

/// Whether what stands after a call's ")" can follow a call.
ToolCallParser::Decision ToolCallParser::call_continues(size_t after) const {
  const size_t next = skip_spaces(after);
  if (next - after > kMaxLookahead) return Decision::kNo;
  if (!has(next)) return is_ended_ ? Decision::kYes : Decision::kNeedMore;
  if (at(next) == ']') return Decision::kYes;
  if (at(next) == ',') return is_next_call(next + 1);
  // Calls on lines of their own.
  const bool has_newline = rest().substr(after, next - after).find('\n') != std::string_view::npos;
  return has_newline ? is_next_call(after) : Decision::kNo;
}

bool ToolCallParser::step_after_call() {
  const size_t next = skip_spaces(0);
  if (!has(next)) return false;
  consume(next);
  if (at(0) == ']' && has_list_) {
    consume(1);
    state_ = State::kAfterList;
    return true;
  }
  if (at(0) == ',') consume(1);
  state_ = State::kCallHead;
  return true;
}

/// After the list only white space is expected; other text is content.
bool ToolCallParser::step_after_list() {
  consume(skip_spaces(0));
  if (!has(0)) return false;
  state_ = State::kContent;
  return true;
}

void ToolCallParser::begin_call(std::string name) {
  name_ = std::move(name);
  out_->tool_calls.push_back({num_calls_++, name_, "", false});
  is_call_open_ = true;
  frames_.assign(1, Frame{});
}

void ToolCallParser::end_call() {
  print("");
  out_->tool_calls.back().is_last = true;
  is_call_open_ = false;
  state_ = State::kAfterCall;
}

/// Appends to the arguments of the open call.
void ToolCallParser::print(std::string_view json) {
  const size_t index = num_calls_ - 1;
  if (out_->tool_calls.empty() || out_->tool_calls.back().index != index) {
    out_->tool_calls.push_back({index, "", "", false});
  }
  out_->tool_calls.back().arguments += json;
}

namespace {

/// One call in JSON: {"name": ..., "arguments": {...}}, also inside "function", "parameters" for
/// "arguments".
bool read_json_call(const Json& item, ToolCallDelta& call) {
  const Json* wrapped = item.find("function");
  const Json& function = wrapped != nullptr && wrapped->is_object() ? *wrapped : item;
  const Json* name = function.find("name");
  if (name == nullptr || !name->is_string()) return false;
  const Json* arguments = function.find("arguments");
  if (arguments == nullptr) arguments = function.find("parameters");
  call.name = name->as_string();
  call.is_last = true;
  if (arguments == nullptr || arguments->is_null()) {
    call.arguments = "{}";
    return true;
  }
  if (arguments->is_object()) {
    call.arguments = arguments->dump();
    return true;
  }
  if (!arguments->is_string()) return false;
  const Result<Json> parsed = parse_json(arguments->as_string());
  if (!parsed || !parsed->is_object()) return false;
  call.arguments = parsed->dump();
  return true;
}

}  // namespace

void ToolCallParser::parse_json_block() {
  std::string_view text = buffer_;
  const size_t last = text.find_last_not_of(" \n\r\t");
  const Result<Json> parsed = parse_json(text.substr(0, last + 1));
  std::vector<ToolCallDelta> calls;
  bool is_good = parsed.has_value();
  if (is_good) {
    const Json::Array items = parsed->is_array() ? parsed->items() : Json::Array{*parsed};
    for (const Json& item : items) {
      ToolCallDelta call;
      is_good = is_good && read_json_call(item, call);
      call.index = num_calls_ + calls.size();
      calls.push_back(std::move(call));
    }
  }
  if (!is_good) {
    out_->content += buffer_;
    return;
  }
  num_calls_ += calls.size();
  out_->tool_calls.insert(out_->tool_calls.end(), calls.begin(), calls.end());
}

}  // namespace rill::text
