// SPDX-License-Identifier: Apache-2.0
#include "recognizer.h"

#include <optional>
#include <string>

#include "exit_codes.h"
#include "interrupt.h"
#include "output.h"
#include "progress.h"

namespace rill::cli {
namespace {

/// What a run does on the side: the bar, and when a signal cancels instead of ending the program.
struct RunMonitor {
  ProgressBar bar;
  rill_session* session;
  std::optional<CancelOnSignal> cancel;

  static void on_progress(void* user, double done) {
    auto* monitor = static_cast<RunMonitor*>(user);
    if (!monitor->cancel) monitor->cancel.emplace(monitor->session);
    monitor->bar.update(done);
  }
};

/// Prints the error of a run; the file's name comes first where the library, which may not know it,
/// left it out.
int report_run(rill_status status, const ErrorSlot& error, const std::string& path) {
  const std::string message = rill_error_message(error.get());
  const bool names_file = path == "-" || message.find(path) != std::string::npos;
  return report(rill_status_exit_code(status), names_file ? message : path + ": " + message);
}

}  // namespace

int make_asr_request(const std::vector<KeyValue>& options, RequestHandle& request) {
  ErrorSlot error;
  rill_status status = rill_request_create(RILL_TASK_ASR, Out(request), error.out());
  if (status != RILL_OK) return report(status, error);
  for (const auto& [key, value] : options) {
    status = rill_request_set_option(request.get(), key.c_str(), value.c_str(), error.out());
    if (status != RILL_OK) {
      report(status, error);
      // Also for an option that this build does not have yet: the command line asked for it.
      return kExitUsage;
    }
  }
  return kExitOk;
}

int recognize_file(Runtime& runtime, rill_request* request, const std::string& path,
                   ResultHandle& result) {
  ErrorSlot error;
  rill_status status = rill_request_set_audio_file(request, path.c_str(), error.out());
  if (status != RILL_OK) return report(status, error);

  RunMonitor monitor{ProgressBar(path), runtime.session.get(), std::nullopt};
  // Reading standard input may wait for ever, where a cancelled session would not notice: until the
  // work has begun, there is nothing to lose by ending the program.
  if (path != "-") monitor.cancel.emplace(runtime.session.get());
  rill_request_set_progress(request, RunMonitor::on_progress, &monitor);
  status = rill_session_run(runtime.session.get(), request, Out(result), error.out());
  rill_request_set_progress(request, nullptr, nullptr);
  monitor.cancel.reset();

  if (interrupt_exit_code() != 0) return interrupt_exit_code();
  return status == RILL_OK ? kExitOk : report_run(status, error, path);
}

int format_result(const rill_result* result, const std::string& format, std::string& text) {
  ErrorSlot error;
  StringHandle formatted;
  const rill_status status =
      rill_result_format(result, format.c_str(), Out(formatted), error.out());
  if (status != RILL_OK) return report(status, error);
  text = with_final_newline(
      std::string(rill_string_data(formatted.get()), rill_string_size(formatted.get())));
  return kExitOk;
}

}  // namespace rill::cli
