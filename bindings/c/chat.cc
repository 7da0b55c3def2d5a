// SPDX-License-Identifier: Apache-2.0
// Text requests (chat, completion): what they hold, running them, and their streams.
#include <string_view>

#include "base/str_cat.h"
#include "objects.h"
#include "session/snapshot.h"
#include "tasks/openai_request.h"
#include "tasks/reply_json.h"

using namespace rill;
using namespace rill::c_api;

struct rill_reply_stream {
  rill_session* session = nullptr;
  tasks::ReplyStream replies;
  tasks::ReplyForm shape = tasks::ReplyForm::kChat;
  std::string ignored;
  // What the caller sees of the last event.
  tasks::ReplyEvent event;
  std::vector<std::string> call_ids;
  std::vector<rill_tool_call> calls;
  std::string json;
};

namespace {

std::string join(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += cat(out.empty() ? "" : ", ", name);
  return out;
}

tasks::ReplyForm shape_of(rill_task task) {
  return task == RILL_TASK_CHAT ? tasks::ReplyForm::kChat : tasks::ReplyForm::kCompletion;
}

/// Starts a text request; the engine's turn must be held.
Result<tasks::ReplyStream> start_replies(rill_session& session, const rill_request& request) {
  RILL_ASSIGN_OR_RETURN(tasks::TextModel * model, text_model(*session.model));
  tasks::TextRun run;
  run.cache = session.model->text_cache.get();
  run.cancel = &session.cancel;
  if (request.task == RILL_TASK_CHAT) return tasks::start_chat(*model, request.chat, run);
  return tasks::start_completion(*model, request.complete, run);
}

std::unique_ptr<rill_result> make_reply_result(const tasks::ReplyStream& replies,
                                               tasks::ReplyForm shape) {
  auto result = std::make_unique<rill_result>();
  const tasks::ReplyResult& reply = replies.result();
  result->reply = reply;
  const tasks::TextUsage& usage = reply.usage;
  result->usage.wall_s = usage.prefill_s + usage.decode_s;
  result->usage.prompt_steps = usage.prompt_tokens;
  result->usage.generated_tokens = usage.completion_tokens;
  result->usage.cached_steps = usage.cached_tokens;
  result->usage.seed = usage.seed;
  result->usage.reasoning_tokens = usage.reasoning_tokens;
  result->usage.prefill_s = usage.prefill_s;
  result->usage.decode_s = usage.decode_s;
  for (size_t c = 0; c < reply.choices.size(); ++c) {
    // A stream that is not over was given up.
    tasks::ReplyChoice& choice = result->reply->choices[c];
    if (choice.finish == tasks::FinishReason::kNone)
      choice.finish = tasks::FinishReason::kCancelled;
    std::vector<std::string>& ids = result->call_ids.emplace_back();
    for (size_t i = 0; i < choice.reply.tool_calls.size(); ++i)
      ids.push_back(tasks::tool_call_id(usage.seed, c, i));
  }
  if (!result->reply->choices.empty()) {
    result->text = result->reply->choices[0].reply.content;
    result->stop_reason = std::string(finish_reason_name(result->reply->choices[0].finish));
  }
  result->json = tasks::result_json(*result->reply, shape, replies.model().tokenizer()).dump();
  return result;
}

/// The state after the request, for rill_session_save_state.
void remember(rill_session& session, const tasks::ReplyStream& replies) {
  const session::Sequence* sequence = replies.sequence();
  if (sequence != nullptr && sequence->usable()) session.last_text = sequence->clone();
}

rill_status set_json_value(const char* what, const char* json, size_t size, Json& out,
                           rill_error** error) {
  auto parsed = parse_json(std::string_view(json, size));
  if (!parsed) return fail(std::move(parsed.error()).with_context(what), error);
  out = std::move(parsed).value();
  return RILL_OK;
}

/// The C form of the stream's last event.
void fill_event(rill_reply_stream& stream, bool is_last, rill_reply_event& out) {
  const tasks::ReplyEvent& event = stream.event;
  const uint64_t seed = stream.replies.result().usage.seed;
  stream.calls.clear();
  stream.call_ids.clear();
  for (const text::ToolCallDelta& call : event.delta.tool_calls)
    stream.call_ids.push_back(
        call.name.empty() ? "" : tasks::tool_call_id(seed, event.choice, call.index));
  for (size_t i = 0; i < event.delta.tool_calls.size(); ++i) {
    const text::ToolCallDelta& call = event.delta.tool_calls[i];
    stream.calls.push_back({call.index, stream.call_ids[i].c_str(), call.name.c_str(),
                            call.arguments.c_str(), call.arguments.size(), call.is_last ? 1 : 0});
  }
  const auto& tokenizer = stream.replies.model().tokenizer();
  stream.json = is_last ? "" : tasks::event_json(event, stream.shape, seed, tokenizer).dump();
  out = {event.choice,
         event.delta.content.c_str(),
         event.delta.content.size(),
         event.delta.reasoning.c_str(),
         event.delta.reasoning.size(),
         stream.calls.data(),
         stream.calls.size(),
         tasks::finish_reason_name(event.finish).data(),
         stream.json.c_str(),
         stream.json.size(),
         is_last ? 1 : 0};
}

const tasks::ReplyChoice* find_choice(const rill_result* result, size_t index) {
  if (result == nullptr || !result->reply || index >= result->reply->choices.size()) return nullptr;
  return &result->reply->choices[index];
}

}  // namespace

namespace rill::c_api {

Status set_text_option(rill_request& request, std::string_view key, std::string_view value) {
  if (request.task == RILL_TASK_CHAT)
    return tasks::set_chat_option(key, value, request.chat.options);
  return tasks::set_complete_option(key, value, request.complete.options);
}

Result<std::unique_ptr<rill_result>> run_text(rill_session& session, const rill_request& request) {
  ops::Context context = compute_context(session);
  const std::lock_guard<std::mutex> turn(session.model->engine->compute);
  RILL_ASSIGN_OR_RETURN(auto replies, start_replies(session, request));
  while (true) {
    RILL_ASSIGN_OR_RETURN(const auto event, replies.next(context));
    if (!event) break;
  }
  remember(session, replies);
  return make_reply_result(replies, shape_of(request.task));
}

}  // namespace rill::c_api

extern "C" {

rill_status rill_request_set_messages(rill_request* request, const char* json, size_t size,
                                      rill_error** error) {
  if (request == nullptr || json == nullptr || request->task != RILL_TASK_CHAT) {
    return fail(ErrorCode::kInvalidArgument,
                "set messages: request or json is NULL, or the task is not CHAT", error);
  }
  return set_json_value("set messages", json, size, request->chat.messages, error);
}

rill_status rill_request_set_tools(rill_request* request, const char* json, size_t size,
                                   rill_error** error) {
  if (request == nullptr || json == nullptr || request->task != RILL_TASK_CHAT) {
    return fail(ErrorCode::kInvalidArgument,
                "set tools: request or json is NULL, or the task is not CHAT", error);
  }
  return set_json_value("set tools", json, size, request->chat.tools, error);
}

rill_status rill_request_set_tokens(rill_request* request, const int32_t* tokens, size_t count,
                                    rill_error** error) {
  if (request == nullptr || (tokens == nullptr && count > 0) ||
      request->task != RILL_TASK_COMPLETE) {
    return fail(ErrorCode::kInvalidArgument,
                "set tokens: request or tokens is NULL, or the task is not COMPLETE", error);
  }
  request->complete.tokens = std::vector<int32_t>(tokens, tokens + count);
  return RILL_OK;
}

rill_status rill_request_set_json(rill_request* request, const char* json, size_t size,
                                  rill_error** error) {
  if (request == nullptr || json == nullptr || !is_text_task(request->task)) {
    return fail(ErrorCode::kInvalidArgument,
                "set body: request or json is NULL, or the task is not text", error);
  }
  Json body;
  const rill_status parsed = set_json_value("request", json, size, body, error);
  if (parsed != RILL_OK) return parsed;
  std::vector<std::string> ignored;
  Status read = request->task == RILL_TASK_CHAT
                    ? tasks::read_chat_body(body, request->chat, ignored)
                    : tasks::read_completion_body(body, request->complete, ignored);
  if (!read) return fail(std::move(read).error(), error);
  request->ignored = join(ignored);
  return RILL_OK;
}

const char* rill_request_ignored(const rill_request* request) { return request->ignored.c_str(); }

rill_status rill_reply_stream_start(rill_session* session, const rill_request* request,
                                    rill_reply_stream** stream, rill_error** error) {
  if (session == nullptr || request == nullptr || stream == nullptr) {
    return fail(ErrorCode::kInvalidArgument,
                "start reply stream: session, request or stream is NULL", error);
  }
  if (!is_text_task(request->task)) {
    return fail(ErrorCode::kInvalidArgument, "start reply stream: the task is not text", error);
  }
  if (!take_session(*session))
    return fail(ErrorCode::kBusy, "start reply stream: the session is busy", error);
  auto replies = [&] {
    const std::lock_guard<std::mutex> turn(session->model->engine->compute);
    return start_replies(*session, *request);
  }();
  if (!replies) {
    free_session(*session);
    return fail(std::move(replies).error(), error);
  }
  std::string ignored = join(replies->ignored());
  *stream = new rill_reply_stream{
      session, std::move(replies).value(), shape_of(request->task), std::move(ignored), {}, {}, {},
      {}};
  return RILL_OK;
}

void rill_reply_stream_destroy(rill_reply_stream* stream) {
  if (stream == nullptr) return;
  {
    const std::lock_guard<std::mutex> turn(stream->session->model->engine->compute);
    remember(*stream->session, stream->replies);
  }
  free_session(*stream->session);
  delete stream;
}

rill_status rill_reply_stream_next(rill_reply_stream* stream, rill_reply_event* event,
                                   rill_error** error) {
  if (stream == nullptr || event == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "next reply event: stream or event is NULL", error);
  }
  ops::Context context = compute_context(*stream->session);
  const std::lock_guard<std::mutex> turn(stream->session->model->engine->compute);
  auto next = stream->replies.next(context);
  if (!next) return fail(std::move(next).error(), error);
  const bool is_last = !next->has_value();
  stream->event = is_last ? tasks::ReplyEvent{} : std::move(**next);
  fill_event(*stream, is_last, *event);
  return RILL_OK;
}

rill_status rill_reply_stream_finish(rill_reply_stream* stream, rill_result** result,
                                     rill_error** error) {
  if (stream == nullptr || result == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "finish reply stream: stream or result is NULL",
                error);
  }
  *result = make_reply_result(stream->replies, stream->shape).release();
  return RILL_OK;
}

const char* rill_reply_stream_ignored(const rill_reply_stream* stream) {
  return stream->ignored.c_str();
}

size_t rill_result_num_choices(const rill_result* result) {
  return result->reply ? result->reply->choices.size() : 0;
}

rill_status rill_result_choice(const rill_result* result, size_t index, rill_choice* choice,
                               rill_error** error) {
  const tasks::ReplyChoice* found = find_choice(result, index);
  if (found == nullptr || choice == nullptr) {
    return fail(ErrorCode::kInvalidArgument,
                "result choice: result or choice is NULL, or no such choice", error);
  }
  const text::Reply& reply = found->reply;
  *choice = {reply.content.c_str(),
             reply.content.size(),
             reply.reasoning.c_str(),
             reply.reasoning.size(),
             tasks::finish_reason_name(found->finish).data(),
             reply.tool_calls.size(),
             found->tokens.data(),
             found->tokens.size()};
  return RILL_OK;
}

rill_status rill_result_tool_call(const rill_result* result, size_t choice, size_t index,
                                  rill_tool_call* call, rill_error** error) {
  const tasks::ReplyChoice* found = find_choice(result, choice);
  if (found == nullptr || call == nullptr || index >= found->reply.tool_calls.size()) {
    return fail(ErrorCode::kInvalidArgument,
                "result tool call: result or call is NULL, or no such call", error);
  }
  const text::ToolCall& own = found->reply.tool_calls[index];
  *call = {index,
           result->call_ids[choice][index].c_str(),
           own.name.c_str(),
           own.arguments.c_str(),
           own.arguments.size(),
           own.is_complete ? 1 : 0};
  return RILL_OK;
}

rill_status rill_result_json(const rill_result* result, rill_string** json, rill_error** error) {
  if (result == nullptr || json == nullptr || !result->reply) {
    return fail(ErrorCode::kInvalidArgument,
                "result json: result or json is NULL, or the result is no reply", error);
  }
  *json = new rill_string{result->json};
  return RILL_OK;
}

rill_status rill_model_chat_prompt(rill_model* model, const rill_request* request,
                                   rill_string** prompt, rill_error** error) {
  if (model == nullptr || request == nullptr || prompt == nullptr ||
      request->task != RILL_TASK_CHAT) {
    return fail(ErrorCode::kInvalidArgument,
                "chat prompt: model, request or prompt is NULL, or the task is not CHAT", error);
  }
  const std::lock_guard<std::mutex> turn(model->engine->compute);
  auto text = text_model(*model);
  if (!text) return fail(std::move(text).error(), error);
  auto made = tasks::make_chat_prompt(**text, request->chat);
  if (!made) return fail(std::move(made).error(), error);
  *prompt = new rill_string{std::move(made->text)};
  return RILL_OK;
}

rill_status rill_session_save_state(rill_session* session, const char* path, rill_error** error) {
  if (session == nullptr || path == nullptr)
    return fail(ErrorCode::kInvalidArgument, "save state: session or path is NULL", error);
  if (!take_session(*session))
    return fail(ErrorCode::kBusy, "save state: the session is busy", error);
  Status saved = [&]() -> Status {
    if (!session->last_text)
      return Error{ErrorCode::kInvalidArgument, "save state: no text request has run"};
    const std::lock_guard<std::mutex> turn(session->model->engine->compute);
    return session::save_snapshot_file(path, *session->last_text, nullptr, {});
  }();
  free_session(*session);
  return saved ? RILL_OK : fail(std::move(saved).error(), error);
}

rill_status rill_session_restore_state(rill_session* session, const char* path,
                                       rill_error** error) {
  if (session == nullptr || path == nullptr)
    return fail(ErrorCode::kInvalidArgument, "restore state: session or path is NULL", error);
  if (!take_session(*session))
    return fail(ErrorCode::kBusy, "restore state: the session is busy", error);
  Status restored = [&]() -> Status {
    rill_model& model = *session->model;
    const std::lock_guard<std::mutex> turn(model.engine->compute);
    RILL_ASSIGN_OR_RETURN(tasks::TextModel * text, text_model(model));
    session::SnapshotOptions options;
    options.kv_type = text->kv_type();
    RILL_ASSIGN_OR_RETURN(auto snapshot,
                          session::restore_snapshot_file(text->backbone(), path, options));
    model.text_cache->keep(snapshot.sequence);
    session->last_text = std::move(snapshot.sequence);
    return {};
  }();
  free_session(*session);
  return restored ? RILL_OK : fail(std::move(restored).error(), error);
}

}  // extern "C"
