// SPDX-License-Identifier: Apache-2.0
// ReplyStream: the replies to a prompt, event by event: reasoning, content and tool calls as they
// arrive. Chat and raw completion are prompts and settings for it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "session/token_constraint.h"
#include "tasks/reasoning_gate.h"
#include "tasks/text_generation.h"
#include "tasks/text_model.h"
#include "tasks/text_options.h"
#include "tasks/token_text.h"
#include "text/reply.h"
#include "text/reply_parser.h"

namespace rill::tasks {

/// Why a reply ended, in the words of OpenAI's API.
enum class FinishReason {
  kNone,       ///< it has not
  kStop,       ///< the model ended it, or a stop text did
  kLength,     ///< max_tokens, or the context is full
  kToolCalls,  ///< the model ended it after calling tools
  kCancelled,
};

/// "", "stop", "length", "tool_calls", "cancelled".
[[nodiscard]] std::string_view finish_reason_name(FinishReason reason);

/// What one step adds to a reply.
struct ReplyEvent {
  size_t choice = 0;      ///< number of the reply
  bool is_first = false;  ///< of its reply
  text::ReplyDelta delta;
  std::vector<TokenLogprob> logprobs;  ///< if they were asked for
  FinishReason finish = FinishReason::kNone;
};

/// A whole reply.
struct ReplyChoice {
  text::Reply reply;
  std::vector<TokenLogprob> logprobs;
  std::vector<int32_t> tokens;  ///< as generated, the end id not included
  FinishReason finish = FinishReason::kNone;
};

struct ReplyResult {
  std::vector<ReplyChoice> choices;
  TextUsage usage;
};

/// Makes the rule of one reply. Errors: kUnsupported, kInvalidArgument, naming the fault's path.
class ReplyRuleFactory {
 public:
  virtual ~ReplyRuleFactory() = default;
  virtual Result<std::unique_ptr<session::TokenConstraint>> make() const = 0;
};

/// How the tokens of a reply are read.
struct ReplySetup {
  bool is_chat = false;  ///< split reasoning, parse tool calls; false: all text is content
  text::ReplyOptions parse;
  Json tools;                                    ///< for the types of arguments
  std::shared_ptr<const ReplyRuleFactory> rule;  ///< null: none
  std::optional<size_t> reasoning_budget;
  /// Comes before the content of every reply, with its log-probabilities.
  std::string echo;
  bool echo_logprobs = false;
};

/// Threading: one thread. Lifetime: model and cache outlive it.
class ReplyStream {
 public:
  /// Errors: those of TextGeneration::start, and the rule's.
  static Result<ReplyStream> start(const TextModel& model, std::vector<int32_t> prompt,
                                   ReplySetup setup, const TextOptions& options,
                                   const TextRun& run);

  /// Computes until there is something to tell; nothing after the last event of the last reply.
  /// Errors: those of TextGeneration; kCancelled before the first token.
  Result<std::optional<ReplyEvent>> next(ops::Context& context);

  /// What the events so far add up to.
  [[nodiscard]] const ReplyResult& result() const { return result_; }
  [[nodiscard]] const TextModel& model() const { return *model_; }
  /// Of the current reply, or of the last one; null before the first.
  [[nodiscard]] const session::Sequence* sequence() const { return generation_->sequence(); }
  /// Fields of the request that had no effect.
  [[nodiscard]] const std::vector<std::string>& ignored() const { return ignored_; }
  void set_ignored(std::vector<std::string> ignored) { ignored_ = std::move(ignored); }

 private:
  ReplyStream() = default;
  Status begin_reply(ops::Context& context, ReplyEvent& event);
  void take(TokenText::Piece piece, ReplyEvent& event);
  Status step(ops::Context& context, ReplyEvent& event);
  void end_reply(ReplyEvent& event);
  void record(ReplyEvent& event);

  const TextModel* model_ = nullptr;
  ReplySetup setup_;
  TextOptions options_;
  TextRun run_;
  std::vector<std::string> ignored_;
  std::unique_ptr<TextGeneration> generation_;
  ReplyResult result_;

  // Of the current reply.
  size_t choice_ = 0;
  bool is_open_ = false;
  bool has_told_ = false;
  std::unique_ptr<session::TokenConstraint> rule_;
  std::unique_ptr<ReasoningGate> gate_;
  std::unique_ptr<TokenText> text_;
  std::unique_ptr<text::ReplyParser> parser_;
};

/// The id of a reply's tool call: the same whenever the request is repeated with its seed.
[[nodiscard]] std::string tool_call_id(uint64_t seed, size_t choice, size_t call);

}  // namespace rill::tasks
