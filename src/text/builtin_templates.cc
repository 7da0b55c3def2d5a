// SPDX-License-Identifier: Apache-2.0
// The templates are put together from parts that several of them share. Every tag strips the white
// space around it, so only what {{ }} prints reaches the prompt.
#include "text/builtin_templates.h"

#include "base/str_cat.h"

namespace rill::text {
namespace {

constexpr std::string_view kNames[] = {"lfm2",         "lfm2.5-instruct", "lfm2.5",
                                       "lfm2.5-dated", "lfm2.5-v2",       "lfm2.5-2.6b"};

/// tool_items(tools): the tools with commas between, texts as they are, others as JSON.
constexpr std::string_view kToolItems = R"jinja(
{%- macro tool_items(tools) -%}
  {%- for tool in tools -%}
    {{- tool if tool is string else tool | tojson -}}
    {{- ', ' if not loop.last -}}
  {%- endfor -%}
{%- endmacro -%}
)jinja";

// ---- The first two generations: one system turn, contents as text or JSON, no tool calls.

constexpr std::string_view kPlainSystem = R"jinja(
{{- bos_token -}}
{%- set state = namespace(system='', last_assistant=-1) -%}
{%- if messages[0].role == 'system' -%}
  {%- set state.system = messages[0].content -%}
  {%- set messages = messages[1:] -%}
{%- endif -%}
{%- if tools -%}
  {%- if state.system -%}
    {%- set state.system = state.system + '\n' -%}
  {%- endif -%}
  {%- set state.system = state.system + 'List of tools: ' + list_open + '[' + tool_items(tools) + ']' + list_close -%}
{%- endif -%}
{%- if state.system -%}
  {{- '<|im_start|>system\n' ~ state.system ~ '<|im_end|>\n' -}}
{%- endif -%}
)jinja";

constexpr std::string_view kPlainEnd = R"jinja(
{%- if add_generation_prompt -%}
  {{- '<|im_start|>assistant\n' -}}
{%- endif -%}
)jinja";

constexpr std::string_view kLfm2Head = R"jinja(
{%- set list_open = '<|tool_list_start|>' -%}
{%- set list_close = '<|tool_list_end|>' -%}
)jinja";

constexpr std::string_view kLfm2Turns = R"jinja(
{%- for message in messages -%}
  {%- set content = message.content if message.content is string else message.content | tojson -%}
  {%- if message.role == 'tool' -%}
    {%- set content = '<|tool_response_start|>' + content + '<|tool_response_end|>' -%}
  {%- endif -%}
  {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>\n' -}}
{%- endfor -%}
)jinja";

constexpr std::string_view kInstructHead = R"jinja(
{%- set list_open = '' -%}
{%- set list_close = '' -%}
)jinja";

constexpr std::string_view kInstructTurns = R"jinja(
{%- for message in messages -%}
  {%- if message.role == 'assistant' -%}
    {%- set state.last_assistant = loop.index0 -%}
  {%- endif -%}
{%- endfor -%}
{%- for message in messages -%}
  {%- set content = message.content if message.content is string else message.content | tojson -%}
  {%- set is_past = message.role == 'assistant' and loop.index0 != state.last_assistant -%}
  {%- if is_past and not keep_past_thinking and '</think>' in content -%}
    {%- set content = content.split('</think>')[-1] | trim -%}
  {%- endif -%}
  {{- '<|im_start|>' + message.role + '\n' + content + '<|im_end|>\n' -}}
{%- endfor -%}
)jinja";

// ---- From LFM2.5-8B-A1B on: content parts, thinking and tool calls.

/// text_of(content), argument(value) and calls(tool_calls) of all but the last template.
constexpr std::string_view kLfm25Macros = R"jinja(
{%- macro text_of(content) -%}
  {%- if content is string -%}
    {{- content -}}
  {%- elif content -%}
    {%- for part in content -%}
      {%- if part is mapping and part.type == 'text' -%}
        {{- part.text -}}
      {%- elif part is mapping and part.type == 'image' -%}
        {{- '<image>' -}}
      {%- else -%}
        {{- part | tojson -}}
      {%- endif -%}
    {%- endfor -%}
  {%- endif -%}
{%- endmacro -%}
{%- macro argument(value) -%}
  {%- if value is string -%}
    {{- "'" + value + "'" -}}
  {%- elif value is mapping -%}
    {{- value | tojson -}}
  {%- else -%}
    {{- value | string -}}
  {%- endif -%}
{%- endmacro -%}
{%- macro calls(tool_calls) -%}
  {{- '<|tool_call_start|>[' -}}
  {%- for call in tool_calls -%}
    {{- call.function.name + '(' -}}
    {%- for name, value in call.function.arguments.items() -%}
      {{- name + '=' + argument(value) -}}
      {{- ', ' if not loop.last -}}
    {%- endfor -%}
    {{- ')' -}}
    {{- ', ' if not loop.last -}}
  {%- endfor -%}
  {{- ']<|tool_call_end|>' -}}
{%- endmacro -%}
{%- macro thinking_of(message) -%}
  {%- if message.thinking is defined -%}
    {{- '<think>' + message.thinking + '</think>' -}}
  {%- endif -%}
{%- endmacro -%}
)jinja";

/// thinking_of(message) that knows the other names of the field.
constexpr std::string_view kAnyThinking = R"jinja(
{%- macro thinking_of(message) -%}
  {%- set thinking = message.thinking or message.reasoning or message.reasoning_content -%}
  {%- if thinking and thinking is string -%}
    {{- '<think>' + thinking + '</think>' -}}
  {%- endif -%}
{%- endmacro -%}
)jinja";

/// The macros of LFM2.5-2.6B, which escapes strings and takes more forms of calls and contents.
constexpr std::string_view k26bMacros = R"jinja(
{%- macro text_of(content) -%}
  {%- if content is string -%}
    {{- content -}}
  {%- elif content is mapping -%}
    {{- content | tojson -}}
  {%- elif content -%}
    {%- for part in content -%}
      {%- if part is string -%}
        {{- part -}}
      {%- elif part is mapping and part.type == 'text' -%}
        {{- part.text -}}
      {%- elif part is mapping and part.type == 'image' -%}
        {{- '<image>' -}}
      {%- else -%}
        {{- part | tojson -}}
      {%- endif -%}
    {%- endfor -%}
  {%- endif -%}
{%- endmacro -%}
{%- macro argument(value) -%}
  {%- if value is string -%}
    {%- set value = value | replace('\\', '\\\\') | replace("'", "\\'") -%}
    {{- "'" + value | replace('\n', '\\n') | replace('\r', '\\r') + "'" -}}
  {%- elif value is mapping or (value is iterable and value is defined) -%}
    {{- value | tojson -}}
  {%- else -%}
    {{- value | string -}}
  {%- endif -%}
{%- endmacro -%}
{%- macro calls(tool_calls) -%}
  {{- '<|tool_call_start|>[' -}}
  {%- for call in tool_calls -%}
    {%- set call_function = call.function if call.function is defined else call -%}
    {{- call_function.name + '(' -}}
    {%- set arguments = call_function.arguments -%}
    {%- if arguments is string and arguments | trim not in ['', '{}', 'null'] -%}
      {{- raise_exception('tool call arguments must be an object, not text') -}}
    {%- endif -%}
    {%- if arguments is mapping -%}
      {%- for name, value in arguments.items() -%}
        {{- name + '=' + argument(value) -}}
        {{- ', ' if not loop.last -}}
      {%- endfor -%}
    {%- endif -%}
    {{- ')' -}}
    {{- ', ' if not loop.last -}}
  {%- endfor -%}
  {{- ']<|tool_call_end|>' -}}
{%- endmacro -%}
)jinja";

constexpr std::string_view kLfm25System = R"jinja(
{{- bos_token -}}
{%- set state = namespace(system='', last_user=-1) -%}
{%- if messages[0].role == 'system' -%}
  {%- if messages[0].content -%}
    {%- set state.system = text_of(messages[0].content) -%}
  {%- endif -%}
  {%- set messages = messages[1:] -%}
{%- endif -%}
)jinja";

constexpr std::string_view k26bSystem = R"jinja(
{{- bos_token -}}
{%- set state = namespace(system='', last_user=-1) -%}
{%- if messages and messages[0].role == 'system' -%}
  {%- set state.system = text_of(messages[0].content) -%}
  {%- set messages = messages[1:] -%}
{%- endif -%}
)jinja";

constexpr std::string_view kLfm25Tools = R"jinja(
{%- if tools -%}
  {%- if state.system -%}
    {%- set state.system = state.system + '\n' -%}
  {%- endif -%}
  {%- set state.system = state.system + 'List of tools: [' + tool_items(tools) + ']' -%}
{%- endif -%}
)jinja";

constexpr std::string_view kDatedTools = R"jinja(
{%- if tools -%}
  {%- if state.system -%}
    {%- set state.system = state.system + '\n\n' -%}
  {%- endif -%}
  {%- set state.system = state.system + "Today's date: " + strftime_now('%Y-%m-%d') -%}
  {%- set state.system = state.system + '\n\nList of tools: ' + tools | tojson -%}
{%- endif -%}
)jinja";

/// Thinking stays in assistant turns after the last user message. Before a final message's calls
/// the mark of a message that is to be continued moves behind them.
constexpr std::string_view kLfm25Turns = R"jinja(
{%- if state.system -%}
  {{- '<|im_start|>system\n' + state.system + '<|im_end|>\n' -}}
{%- endif -%}
{%- for message in messages -%}
  {%- if message.role == 'user' -%}
    {%- set state.last_user = loop.index0 -%}
  {%- endif -%}
{%- endfor -%}
{%- set mark = 'CONTINUE_FINAL_MESSAGE_TAG ' -%}
{%- for message in messages -%}
  {{- '<|im_start|>' + message.role + '\n' -}}
  {%- set content = text_of(message.content) -%}
  {%- if message.role == 'assistant' -%}
    {%- set is_kept = preserve_thinking or loop.index0 > state.last_user -%}
    {%- if is_kept -%}
      {{- thinking_of(message) -}}
    {%- elif '</think>' in content -%}
      {%- set content = content.split('</think>')[-1] | trim -%}
    {%- endif -%}
    {%- if message.tool_calls is defined and (message.tool_calls or not skip_empty_calls) -%}
      {%- set is_marked = content.endswith(mark) -%}
      {{- content[:-27] if is_marked else content -}}
      {{- calls(message.tool_calls) -}}
      {{- mark if is_marked -}}
    {%- else -%}
      {{- content -}}
    {%- endif -%}
  {%- else -%}
    {{- content -}}
  {%- endif -%}
  {{- '<|im_end|>\n' -}}
{%- endfor -%}
{%- if add_generation_prompt -%}
  {{- '<|im_start|>assistant\n' + reply_head -}}
{%- endif -%}
)jinja";

constexpr std::string_view kLfm25Settings = R"jinja(
{%- set skip_empty_calls = false -%}
{%- set reply_head = '' -%}
)jinja";

constexpr std::string_view k26bSettings = R"jinja(
{%- set skip_empty_calls = true -%}
{%- set reply_head = '<think>' -%}
)jinja";

}  // namespace

std::span<const std::string_view> builtin_template_names() { return kNames; }

std::optional<std::string> builtin_template(std::string_view name) {
  if (name == "lfm2") return cat(kToolItems, kLfm2Head, kPlainSystem, kLfm2Turns, kPlainEnd);
  if (name == "lfm2.5-instruct")
    return cat(kToolItems, kInstructHead, kPlainSystem, kInstructTurns, kPlainEnd);
  if (name == "lfm2.5") {
    return cat(kToolItems, kLfm25Macros, kLfm25Settings, kLfm25System, kLfm25Tools, kLfm25Turns);
  }
  if (name == "lfm2.5-dated") {
    return cat(kToolItems, kLfm25Macros, kLfm25Settings, kLfm25System, kDatedTools, kLfm25Turns);
  }
  if (name == "lfm2.5-v2") {
    return cat(kToolItems, kLfm25Macros, kAnyThinking, kLfm25Settings, kLfm25System, kLfm25Tools,
               kLfm25Turns);
  }
  if (name == "lfm2.5-2.6b") {
    return cat(kToolItems, k26bMacros, kAnyThinking, k26bSettings, k26bSystem, kLfm25Tools,
               kLfm25Turns);
  }
  return std::nullopt;
}

}  // namespace rill::text
