// SPDX-License-Identifier: Apache-2.0
// rill_session: runs requests on a model.
#include "objects.h"

using namespace rill;
using namespace rill::c_api;

namespace rill::c_api {

bool take_session(rill_session& session) { return !session.busy.exchange(true); }

void free_session(rill_session& session) {
  session.cancel.store(false);
  session.busy.store(false);
}

ops::Context compute_context(rill_session& session) {
  return session.model->engine->context(session.scratch);
}

Result<tasks::AsrOptions> asr_options(const rill_session& session, const rill_request& request) {
  return tasks::apply_options(session.model->defaults.asr, request.options, tasks::set_asr_option);
}

tasks::AsrRun asr_run(rill_session& session) {
  tasks::AsrRun run;
  run.logger = &session.model->engine->logger;
  run.cancel = &session.cancel;
  run.max_pass_duration_s = session.model->max_pass_duration_s;
  run.vad = session.model->vad;
  return run;
}

std::unique_ptr<rill_result> make_transcript_result(tasks::Transcript transcript) {
  auto result = std::make_unique<rill_result>();
  result->text = transcript.text;
  result->language = transcript.language;
  result->stop_reason = std::string(tasks::stop_reason_name(transcript.stop_reason));
  result->usage.audio_s = transcript.audio_s;
  result->usage.wall_s = transcript.wall_s;
  result->usage.prompt_steps = transcript.prompt_steps;
  result->usage.generated_tokens = transcript.generated_tokens;
  result->transcript = std::move(transcript);
  return result;
}

}  // namespace rill::c_api

namespace {

/// Holds the session for a run.
class RunGuard {
 public:
  explicit RunGuard(rill_session& session) : session_(session), owns_(take_session(session)) {}
  ~RunGuard() {
    if (owns_) free_session(session_);
  }
  RunGuard(const RunGuard&) = delete;
  RunGuard& operator=(const RunGuard&) = delete;
  [[nodiscard]] bool owns() const { return owns_; }

 private:
  rill_session& session_;
  bool owns_;
};

Result<std::unique_ptr<rill_result>> run_asr(rill_session& session, const rill_request& request) {
  tasks::AsrRun run = asr_run(session);
  run.progress = request.progress;
  run.progress_user = request.progress_user;
  RILL_ASSIGN_OR_RETURN(const tasks::AsrOptions options, asr_options(session, request));
  ops::Context context = compute_context(session);
  const std::lock_guard<std::mutex> turn(session.model->engine->compute);
  RILL_ASSIGN_OR_RETURN(auto transcript, tasks::transcribe(*session.model->package, context,
                                                           request.audio, options, run));
  return make_transcript_result(std::move(transcript));
}

Result<std::unique_ptr<rill_result>> run_speech(rill_session& session,
                                                const rill_request& request) {
  ops::Context context = compute_context(session);
  const std::lock_guard<std::mutex> turn(session.model->engine->compute);
  RILL_ASSIGN_OR_RETURN(auto speech, start_speech(session, request));
  speech.gather_events();
  if (request.task == RILL_TASK_S2S) {
    RILL_ASSIGN_OR_RETURN(const auto samples, request.audio.read_mono_16k(&session.cancel));
    RILL_RETURN_IF_ERROR(speech.push_audio(samples, 1, tasks::kModelSampleRateHz));
  }
  while (true) {
    RILL_ASSIGN_OR_RETURN(const auto event, speech.next(context));
    if (!event) break;
  }
  return make_result(speech.result(), *session.model);
}

}  // namespace

extern "C" {

rill_status rill_session_create(rill_model* model, rill_session** session, rill_error** error) {
  if (model == nullptr || session == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "create session: model or session is NULL", error);
  }
  *session = new rill_session(model);
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
  if (!is_text_task(request->task)) {
    if (Status speaks = need_package(*session); !speaks)
      return fail(std::move(speaks).error(), error);
  }
  auto made = is_text_task(request->task)      ? run_text(*session, *request)
              : request->task == RILL_TASK_ASR ? run_asr(*session, *request)
                                               : run_speech(*session, *request);
  if (!made) return fail(std::move(made).error(), error);
  *result = std::move(made).value().release();
  return RILL_OK;
}

void rill_session_cancel(rill_session* session) { session->cancel.store(true); }

}  // extern "C"
