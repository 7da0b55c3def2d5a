// SPDX-License-Identifier: Apache-2.0
// What the opaque handles of rill.h hold, and how results become statuses.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/log.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/kernel_table.h"
#include "model/lfm2_audio/package.h"
#include "model/silero_vad/silero_vad.h"
#include "ops/context.h"
#include "rill/rill.h"
#include "session/prefix_cache.h"
#include "tasks/asr.h"
#include "tasks/asr_options.h"
#include "tasks/audio_input.h"
#include "tasks/chat.h"
#include "tasks/complete.h"
#include "tasks/reply_stream.h"
#include "tasks/s2s.h"
#include "tasks/speech_stream.h"
#include "tasks/task_defaults.h"
#include "tasks/text_model.h"
#include "tasks/transcript.h"
#include "tasks/tts.h"

struct rill_error {
  rill_status status;
  std::string message;
};

struct rill_string {
  std::string text;
};

struct rill_engine {
  rill_log_fn log_fn = nullptr;
  void* log_user = nullptr;
  rill::Logger logger;
  std::unique_ptr<rill::ThreadPool> pool;
  std::unique_ptr<rill::ThreadPool> batch_pool;  // null: pool
  const rill::kernels::KernelTable* kernels = nullptr;
  std::string isa_name;
  std::mutex compute;  // computing calls take turns on the pools

  /// For a call that computes with this scratch memory.
  [[nodiscard]] rill::ops::Context context(rill::Arena& scratch) const {
    return {kernels, pool.get(), &scratch, batch_pool.get()};
  }
};

struct rill_vad {
  rill_engine* engine = nullptr;
  rill::model::silero_vad::SileroVad network;
};

struct rill_tokenizer {
  std::unique_ptr<rill::text::Tokenizer> owned;
  const rill::text::Tokenizer* tokenizer = nullptr;
};

/// What the text.* options of a model say.
struct TextSettings {
  rill::tasks::TextModelOptions model;
  rill::session::PrefixCacheOptions cache;
};

struct rill_model {
  rill_engine* engine = nullptr;
  std::unique_ptr<rill::model::lfm2_audio::Model> package;
  double max_pass_duration_s = 0;
  size_t conversation_cache_slots = 0;
  std::string language;
  rill::tasks::TaskDefaults defaults;
  std::unique_ptr<rill::model::silero_vad::SileroVad> own_vad;  // that an option named
  const rill::model::silero_vad::SileroVad* vad = nullptr;      // own_vad or the caller's

  // Text: the model itself, or a view of the package that is made when it is first asked for. With
  // the cache they change under the engine's turn.
  TextSettings text_settings = {};
  std::string text_path = {};  // where a text model came from
  std::unique_ptr<rill::tasks::TextModel> text = nullptr;
  std::unique_ptr<rill_tokenizer> tokenizer = nullptr;
  std::unique_ptr<rill::session::PrefixCache> text_cache = nullptr;
};

struct rill_request {
  rill_task task = RILL_TASK_ASR;
  rill::tasks::AudioInput audio;
  rill::tasks::AsrOptions asr;
  rill::tasks::TtsRequest tts;
  rill::tasks::S2sRequest s2s;
  rill::tasks::ChatRequest chat;
  rill::tasks::CompleteRequest complete;
  std::string ignored;                            // fields of a body, with commas between
  std::vector<rill::tasks::OptionValue> options;  // as given; they win over a model's defaults
  rill_progress_fn progress = nullptr;
  void* progress_user = nullptr;
};

struct rill_session {
  explicit rill_session(rill_model* m) : model(m), conversations(m->conversation_cache_slots) {}

  rill_model* model;
  rill::Arena scratch;
  rill::tasks::ConversationCache conversations;
  std::optional<rill::session::Sequence> last_text;  // after the last text request
  std::atomic<bool> busy{false};
  std::atomic<bool> cancel{false};
};

struct rill_stream {
  rill_session* session = nullptr;
  rill::tasks::SpeechStream speech;
  rill::tasks::SpeechEvent event;  // that the caller sees
};

/// A transcript or speech; what a task does not have is empty.
struct rill_result {
  std::string text;
  std::string language;
  std::string stop_reason;
  rill_usage usage = {};
  std::optional<rill::tasks::Transcript> transcript;
  std::vector<float> pcm;
  std::vector<rill::tasks::Artifact> artifacts;
  std::optional<rill::tasks::ReplyResult> reply;
  std::vector<std::vector<std::string>> call_ids;  // [choice][call]
  std::string json;                                // of the reply
};

namespace rill::c_api {

rill_status to_status(ErrorCode code);
/// Hands the error to the caller, who may not want it.
rill_status fail(Error error, rill_error** out);
rill_status fail(ErrorCode code, const char* message, rill_error** out);

/// Takes the session for a run or a stream; false if it is taken.
bool take_session(rill_session& session);
void free_session(rill_session& session);
/// What a computing call of the session needs; the engine's turn must be held.
ops::Context compute_context(rill_session& session);

/// Starts a TTS or S2S request on a session that is taken.
Result<tasks::SpeechStream> start_speech(rill_session& session, const rill_request& request);
std::unique_ptr<rill_result> make_result(tasks::SpeechResult speech, const rill_model& model);

/// What an ASR request says, over the model's defaults.
Result<tasks::AsrOptions> asr_options(const rill_session& session, const rill_request& request);
/// What a transcription on the session is embedded in.
tasks::AsrRun asr_run(rill_session& session);
std::unique_ptr<rill_result> make_transcript_result(tasks::Transcript transcript);

// ---- Text.

/// Whether a path is a text model's, or of a package only the text is wanted.
bool opens_as_text(const char* path, const rill_model_options* options);
rill_status open_text_model(rill_engine* engine, const char* path,
                            const rill_model_options* options, rill_model** model,
                            rill_error** error);
/// Takes an option of text, whose key begins with "text.".
Status set_text_model_option(std::string_view key, std::string_view value, TextSettings& settings);
/// The text model, made from the package if need be; the engine's turn must be held.
Result<tasks::TextModel*> text_model(rill_model& model);
/// Refuses a model that is no speech package.
Status need_package(const rill_session& session);
[[nodiscard]] inline bool is_text_task(rill_task task) {
  return task == RILL_TASK_CHAT || task == RILL_TASK_COMPLETE;
}
Status set_text_option(rill_request& request, std::string_view key, std::string_view value);
/// Runs a text request on a session that is taken.
Result<std::unique_ptr<rill_result>> run_text(rill_session& session, const rill_request& request);

/// The arguments of a call that pushes audio. Rates and channel counts have bounds far below what
/// wraps.
Status check_push(const void* stream, const void* samples, size_t frames, int32_t channels);
/// 16-bit samples as floats in [-1, 1).
std::vector<float> scaled_samples(const int16_t* samples, size_t count);

}  // namespace rill::c_api
