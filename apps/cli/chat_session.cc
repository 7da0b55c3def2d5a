// SPDX-License-Identifier: Apache-2.0
#include "chat_session.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <system_error>

#include "chat_render.h"
#include "exit_codes.h"
#include "interrupt.h"
#include "output.h"
#include "text_flags.h"

namespace rill::cli {
namespace {

bool exists(const std::string& path) {
  std::error_code ignored;
  return std::filesystem::exists(path, ignored);
}

}  // namespace

int ChatSession::restore() {
  const std::string& path = settings_.state_file;
  return path.empty() || !exists(path) ? kExitOk : conversation_.load(path);
}

int ChatSession::keep() {
  const std::string& path = settings_.state_file;
  return path.empty() ? kExitOk : conversation_.save(path);
}

int ChatSession::make_request(RequestHandle& request) {
  ErrorSlot error;
  rill_status status = rill_request_create(RILL_TASK_CHAT, Out(request), error.out());
  const std::string messages = conversation_.dump();
  if (status == RILL_OK) {
    status =
        rill_request_set_messages(request.get(), messages.data(), messages.size(), error.out());
  }
  if (status == RILL_OK && !settings_.tools.empty()) {
    status = rill_request_set_tools(request.get(), settings_.tools.data(), settings_.tools.size(),
                                    error.out());
  }
  if (status != RILL_OK) return report(status, error);
  std::vector<KeyValue> options = settings_.options;
  if (!settings_.thinking.empty()) options.emplace_back("thinking", settings_.thinking);
  return set_options(request.get(), options);
}

int ChatSession::pull(rill_reply_stream* stream, ResultHandle& result) {
  ErrorSlot error;
  ReplyRenderer renderer(settings_.show_thinking);
  rill_reply_event event = {};
  do {
    const rill_status status = rill_reply_stream_next(stream, &event, error.out());
    if (status == RILL_ERROR_CANCELLED && interrupt_exit_code() != 0) return interrupt_exit_code();
    if (status != RILL_OK) return report(status, error);
    // Of several replies the first is shown.
    if (settings_.print_json || event.choice > 0) continue;
    const int exit_code = renderer.show(event);
    if (exit_code != kExitOk) return exit_code;
    if (stdout_closed()) break;
  } while (event.is_last == 0);
  const rill_status status = rill_reply_stream_finish(stream, Out(result), error.out());
  if (status != RILL_OK) return report(status, error);
  if (!settings_.print_json) return renderer.finish(result.get());
  StringHandle json;
  if (rill_result_json(result.get(), Out(json), error.out()) != RILL_OK)
    return report(kExitFailed, rill_error_message(error.get()));
  return write_stdout(std::string(rill_string_data(json.get())) + "\n");
}

int ChatSession::reply() {
  RequestHandle request;
  int exit_code = make_request(request);
  if (exit_code != kExitOk) return exit_code;
  ResultHandle result;
  {
    const CancelOnSignal cancel(runtime_.session.get());
    ErrorSlot error;
    ReplyStreamHandle stream;
    const rill_status status =
        rill_reply_stream_start(runtime_.session.get(), request.get(), Out(stream), error.out());
    if (status != RILL_OK) return report(status, error);
    const std::string ignored = rill_reply_stream_ignored(stream.get());
    if (!ignored.empty()) print_message("the chat template does not know " + ignored);
    exit_code = pull(stream.get(), result);
  }
  if (exit_code != kExitOk) return exit_code;
  conversation_.add_reply(result.get());
  measure(result.get());
  return interrupt_exit_code();
}

void ChatSession::measure(const rill_result* result) {
  rill_usage usage = {};
  usage.struct_size = sizeof usage;
  if (rill_result_usage(result, &usage, nullptr) != RILL_OK) return;
  const auto rate = [](size_t count, double seconds) {
    return seconds > 0 ? static_cast<double>(count) / seconds : 0.0;
  };
  std::array<char, 200> text{};
  std::snprintf(text.data(), text.size(),
                "prompt %zu tokens (%zu cached, %.1f/s), reply %zu tokens (%.1f/s), %s",
                usage.prompt_steps, usage.cached_steps,
                rate(usage.prompt_steps - usage.cached_steps, usage.prefill_s),
                usage.generated_tokens, rate(usage.generated_tokens, usage.decode_s),
                rill_result_stop_reason(result));
  statistics_ = text.data();
}

}  // namespace rill::cli
