// SPDX-License-Identifier: Apache-2.0
// ToolCallParser: the inside of <|tool_call_start|>...<|tool_call_end|>, as it arrives. Two forms:
// Python calls with named arguments, [f(a='x', n=5), g()], whose arguments stream out as JSON, and
// JSON objects with "name" and "arguments", which come out when the block ends. Nothing is an
// error: what is no call becomes content.
//
// Models write strings without escaping them, so a quote ends a string only if what follows can
// follow a value.
#pragma once

#include <cstddef>
#include <string>
#include <string_view>
#include <vector>

#include "text/reply.h"
#include "text/tool_schemas.h"

namespace rill::text {

class ToolCallParser {
 public:
  /// Lifetime: the schemas outlive the parser.
  explicit ToolCallParser(const ToolSchemas& schemas) : schemas_(&schemas) {}

  /// Starts a block; calls are numbered on from the earlier blocks.
  void begin_block();
  void push(std::string_view text, ReplyDelta& out);
  /// Ends the block. With an end marker an unfinished call is closed so that its arguments parse;
  /// without one (the reply was cut off) they stay open. Either way such a call never gets its
  /// is_last.
  void end_block(bool has_end_marker, ReplyDelta& out);

  /// Calls so far.
  [[nodiscard]] size_t num_calls() const { return num_calls_; }

 private:
  enum class State {
    kStart,
    kCallHead,
    kValue,
    kString,
    kBare,
    kAfterValue,
    kAfterCall,
    kAfterList,
    kJson,
    kContent
  };
  enum class Decision { kYes, kNo, kNeedMore };
  static constexpr size_t kMaxDepth = 64;
  static constexpr size_t kMaxLookahead = 256;

  /// An open container. The lowest is the argument list.
  struct Frame {
    char closer = ')';
    bool has_keys = true;
    bool is_empty = true;   // nothing printed yet
    bool wants_key = true;  // with keys: the next scalar is a key
    bool is_muted = false;  // the value belongs to a repeated key and is not printed
    std::vector<std::string> keys;
  };

  // One step of each state; false: more text is needed.
  bool step();
  bool step_start();
  bool step_call_head();
  bool step_value();
  bool step_string();
  bool step_bare();
  bool step_after_value();
  bool step_after_call();
  bool step_after_list();
  bool step_argument_key();

  bool open_container(char opener);
  bool begin_string(size_t prefix);
  bool take_escape();
  bool take_delimiter();
  void print_text(std::string_view text);
  void close_string();
  void finish_bare();
  void close_frame();
  void finish_key(const std::string& key);
  bool fail_value();
  bool fail_head();
  void close_open_call();
  void parse_json_block();

  [[nodiscard]] Decision string_ends(size_t after) const;
  [[nodiscard]] Decision call_continues(size_t after) const;
  [[nodiscard]] Decision is_next_argument(size_t after) const;
  [[nodiscard]] Decision is_next_call(size_t after) const;
  [[nodiscard]] bool is_muted() const;

  // Text access.
  [[nodiscard]] std::string_view rest() const {
    return std::string_view(buffer_).substr(position_);
  }
  [[nodiscard]] char at(size_t offset) const { return buffer_[position_ + offset]; }
  [[nodiscard]] bool has(size_t offset) const { return position_ + offset < buffer_.size(); }
  [[nodiscard]] size_t skip_spaces(size_t offset) const;
  [[nodiscard]] size_t skip_name(size_t offset, bool with_dots) const;
  [[nodiscard]] Decision out_of_text() const {
    return is_ended_ ? Decision::kNo : Decision::kNeedMore;
  }
  void consume(size_t bytes) { position_ += bytes; }

  // Output.
  void begin_call(std::string name);
  void begin_value();
  void print(std::string_view json);
  void end_call();

  const ToolSchemas* schemas_;
  size_t num_calls_ = 0;

  State state_ = State::kStart;
  std::string buffer_;   // text that is not done with
  size_t position_ = 0;  // of which this much is
  bool is_ended_ = false;
  bool has_list_ = false;
  size_t first_call_ = 0;  // num_calls_ when the block began
  std::string name_;       // of the open call
  bool is_call_open_ = false;
  std::vector<Frame> frames_;
  ParameterType type_ = ParameterType::kUnknown;  // of the current argument

  // The scalar that is being read.
  std::string token_;  // a string that is not streamed, or a bare value
  char quote_ = '\'';
  bool is_triple_ = false;
  bool is_raw_ = false;
  bool is_streamed_ = false;
  size_t bare_depth_ = 0;

  ReplyDelta* out_ = nullptr;  // during push and end_block
};

}  // namespace rill::text
