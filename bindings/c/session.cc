// SPDX-License-Identifier: Apache-2.0
// rill_session: runs requests on a model.
#include "objects.h"

using namespace rill;
using namespace rill::c_api;

namespace {

/// Marks the session as running, and as free again at the end.
class RunGuard {
 public:
  explicit RunGuard(rill_session& session)
      : session_(session), owns_(!session.busy.exchange(true)) {}
  ~RunGuard() {
    if (!owns_) return;
    session_.cancel.store(false);
    session_.busy.store(false);
  }
  RunGuard(const RunGuard&) = delete;
  RunGuard& operator=(const RunGuard&) = delete;
  [[nodiscard]] bool owns() const { return owns_; }

 private:
  rill_session& session_;
  bool owns_;
};

Result<tasks::Transcript> run_asr(rill_session& session, const rill_request& request) {
  rill_model& model = *session.model;
  rill_engine& engine = *model.engine;
  tasks::AsrRun run;
  run.logger = &engine.logger;
  run.cancel = &session.cancel;
  run.progress = request.progress;
  run.progress_user = request.progress_user;
  run.max_pass_duration_s = model.max_pass_duration_s;
  ops::Context context{engine.kernels, engine.pool.get(), &session.scratch};
  const std::lock_guard<std::mutex> turn(engine.compute);
  return tasks::transcribe(*model.package, context, request.audio, request.asr, run);
}

}  // namespace

extern "C" {

rill_status rill_session_create(rill_model* model, rill_session** session, rill_error** error) {
  if (model == nullptr || session == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "create session: model or session is NULL", error);
  }
  *session = new rill_session{};
  (*session)->model = model;
  return RILL_OK;
}

void rill_session_destroy(rill_session* session) { delete session; }

rill_status rill_session_run(rill_session* session, const rill_request* request,
                             rill_result** result, rill_error** error) {
  if (session == nullptr || request == nullptr || result == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "run: session, request or result is NULL", error);
  }
  const RunGuard guard(*session);
  if (!guard.owns())
    return fail(ErrorCode::kBusy, "run: the session is running another request", error);
  auto transcript = run_asr(*session, *request);
  if (!transcript) return fail(std::move(transcript).error(), error);
  auto owned = std::make_unique<rill_result>();
  owned->transcript = std::move(transcript).value();
  owned->stop_reason = std::string(tasks::stop_reason_name(owned->transcript.stop_reason));
  *result = owned.release();
  return RILL_OK;
}

void rill_session_cancel(rill_session* session) { session->cancel.store(true); }

}  // extern "C"
