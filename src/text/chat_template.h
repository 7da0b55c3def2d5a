// SPDX-License-Identifier: Apache-2.0
// ChatTemplate: turns messages into the prompt text that a model was trained on, with the Jinja
// template that ships with the model or with one of our own (builtin_templates.h). Sandboxed: a
// template computes text and nothing else, in bounded steps.
#pragma once

#include <memory>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "text/jinja/interpreter.h"

namespace rill::text {

/// What a template sees besides messages and tools.
struct RenderOptions {
  bool add_generation_prompt = true;  ///< end with the head of the assistant's turn
  bool continue_final_message =
      false;  ///< leave the last message open; excludes add_generation_prompt
  std::string bos_token = "<|startoftext|>";
  std::string eos_token = "<|im_end|>";
  jinja::DateTime now = {};  ///< for strftime_now()
  std::vector<std::pair<std::string, Json>> kwargs =
      {};  ///< the template's switches, such as preserve_thinking
  jinja::Limits limits = {};
};

/// A compiled template. Immutable. Threading: any number of threads at once.
class ChatTemplate {
 public:
  /// Errors: kInvalidFormat (syntax), kUnsupported (a construct that the interpreter lacks), with
  /// line and name.
  static Result<ChatTemplate> compile(std::string_view source);
  /// One of builtin_template_names(). Errors: kNotFound, which lists them.
  static Result<ChatTemplate> builtin(std::string_view name);

  /// The prompt. messages: an array; tools: an array or null. What normalize_messages() makes
  /// renders with every template of the family; raw messages behave as in the reference, errors
  /// included. Errors: kInvalidArgument, with the template's line.
  Result<std::string> render(const Json& messages, const Json& tools,
                             const RenderOptions& options) const;

  /// Whether the template mentions a name: a switch that it does not mention has no effect.
  [[nodiscard]] bool mentions(std::string_view name) const;

 private:
  ChatTemplate() = default;

  std::vector<jinja::Statement> statements_;
  std::vector<std::string> names_;  // sorted
};

}  // namespace rill::text
