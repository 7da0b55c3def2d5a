// SPDX-License-Identifier: Apache-2.0
// rill_state: a text session's state at rest: clone, save, restore, take up again.
#include "objects.h"
#include "session/snapshot.h"

using namespace rill;
using namespace rill::c_api;

struct rill_state {
  rill_model* model;
  session::Sequence sequence;
};

namespace {

/// Runs `work` while the session and the engine's turn are held.
template <typename Work>
Status with_session(const char* action, rill_session& session, Work work) {
  if (!take_session(session)) {
    return Error{ErrorCode::kBusy, cat(action, ": the session is running another request")};
  }
  Status done = [&]() -> Status {
    const std::lock_guard<std::mutex> turn(session.model->engine->compute);
    return work();
  }();
  free_session(session);
  return done;
}

rill_status finish(Status status, rill_error** error) {
  return status ? RILL_OK : fail(std::move(status).error(), error);
}

}  // namespace

extern "C" {

rill_status rill_state_create(rill_session* session, rill_state** state, rill_error** error) {
  if (session == nullptr || state == nullptr)
    return fail(ErrorCode::kInvalidArgument, "take state: session or state is NULL", error);
  return finish(with_session("take state", *session,
                             [&]() -> Status {
                               if (!session->last_text) {
                                 return Error{ErrorCode::kInvalidArgument,
                                              "take state: got a session that has run no text "
                                              "request, expected one that has"};
                               }
                               *state = new rill_state{session->model, session->last_text->clone()};
                               return {};
                             }),
                error);
}

void rill_state_destroy(rill_state* state) {
  if (state == nullptr) return;
  // Its blocks may be those of the prefix cache.
  const std::lock_guard<std::mutex> turn(state->model->engine->compute);
  delete state;
}

rill_status rill_state_clone(const rill_state* state, rill_state** copy, rill_error** error) {
  if (state == nullptr || copy == nullptr)
    return fail(ErrorCode::kInvalidArgument, "clone state: state or copy is NULL", error);
  const std::lock_guard<std::mutex> turn(state->model->engine->compute);
  *copy = new rill_state{state->model, state->sequence.clone()};
  return RILL_OK;
}

size_t rill_state_steps(const rill_state* state) {
  return state == nullptr ? 0 : state->sequence.position();
}

rill_status rill_state_save(const rill_state* state, const char* path, rill_error** error) {
  if (state == nullptr || path == nullptr)
    return fail(ErrorCode::kInvalidArgument, "save state: state or path is NULL", error);
  session::SnapshotOptions options;
  options.tokenizer = state->model->text->tokenizer().content_hash();
  return finish(session::save_snapshot_file(path, state->sequence, nullptr, options), error);
}

rill_status rill_state_restore(rill_model* model, const char* path, rill_state** state,
                               rill_error** error) {
  if (model == nullptr || path == nullptr || state == nullptr)
    return fail(ErrorCode::kInvalidArgument, "restore state: model, path or state is NULL", error);
  return finish(
      [&]() -> Status {
        const std::lock_guard<std::mutex> turn(model->engine->compute);
        RILL_ASSIGN_OR_RETURN(tasks::TextModel * text, text_model(*model));
        session::SnapshotOptions options;
        options.tokenizer = text->tokenizer().content_hash();
        options.kv_type = text->kv_type();
        RILL_ASSIGN_OR_RETURN(auto snapshot,
                              session::restore_snapshot_file(text->backbone(), path, options));
        *state = new rill_state{model, std::move(snapshot.sequence)};
        return {};
      }(),
      error);
}

rill_status rill_session_set_state(rill_session* session, const rill_state* state,
                                   rill_error** error) {
  if (session == nullptr || state == nullptr)
    return fail(ErrorCode::kInvalidArgument, "set state: session or state is NULL", error);
  if (session->model != state->model) {
    return fail(ErrorCode::kInvalidArgument,
                "set state: got a state of another model, expected one of the session's", error);
  }
  return finish(with_session("set state", *session,
                             [&]() -> Status {
                               // There is a cache, since there is a state.
                               session->model->text_cache->keep(state->sequence);
                               session->last_text = state->sequence.clone();
                               return {};
                             }),
                error);
}

}  // extern "C"
