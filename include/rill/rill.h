/* SPDX-License-Identifier: Apache-2.0
 *
 * rill: speech and text models of the LFM2 family on the CPU. The C interface.
 *
 *   rill_engine* engine = NULL;
 *   rill_model* model = NULL;
 *   rill_session* session = NULL;
 *   rill_request* request = NULL;
 *   rill_result* result = NULL;
 *   if (rill_engine_create(NULL, &engine, NULL) == RILL_OK &&
 *       rill_model_open(engine, "LFM2.5-Audio-1.5B-GGUF", NULL, &model, NULL) == RILL_OK &&
 *       rill_session_create(model, &session, NULL) == RILL_OK &&
 *       rill_request_create(RILL_TASK_ASR, &request, NULL) == RILL_OK &&
 *       rill_request_set_audio_file(request, "speech.wav", NULL) == RILL_OK &&
 *       rill_session_run(session, request, &result, NULL) == RILL_OK) {
 *     puts(rill_result_text(result, NULL));
 *   }
 *   rill_result_destroy(result);
 *   rill_request_destroy(request);
 *   rill_session_destroy(session);
 *   rill_model_destroy(model);
 *   rill_engine_destroy(engine);
 *
 * Ownership: what a _create, _open or _run call returns belongs to the caller, who passes it to the matching _destroy
 * call; each accepts NULL. Objects must be destroyed before what they were made from (session before model before
 * engine); requests and results depend on nothing. Pointers that a getter returns live as long as the object.
 * Strings are UTF-8; those that are passed in end with a zero byte unless a size is passed as well.
 * Errors: a call that can fail returns rill_status; its last parameter, which may be NULL, receives a rill_error with a
 * one-line message. Out-parameters are only written on success.
 * Threads: see each object. The library prints nothing and never exits; messages go to the engine's log sink.
 * One header, although it is long: it is all that a program needs, and all that other languages bind to.
 * Structs with a struct_size field may grow: set it to sizeof(the struct) and leave unknown fields zero.
 */
#ifndef RILL_RILL_H_
#define RILL_RILL_H_

#include <stddef.h>
#include <stdint.h>

#if defined(RILL_STATIC)
#define RILL_API
#elif defined(_WIN32)
#define RILL_API __declspec(dllimport)
#else
#define RILL_API __attribute__((visibility("default")))
#endif

#ifdef __cplusplus
extern "C" {
#endif

#define RILL_VERSION_MAJOR 0
#define RILL_VERSION_MINOR 1
#define RILL_VERSION_PATCH 0

/* ---- Status and errors -------------------------------------------------------------------------------------------- */

/* What happened; docs/errors.md has the table with exit codes and HTTP status codes. */
typedef enum rill_status {
  RILL_OK = 0,
  RILL_ERROR_INVALID_ARGUMENT = 1, /* the request makes no sense */
  RILL_ERROR_INVALID_FORMAT = 2,   /* a file contradicts its format */
  RILL_ERROR_UNSUPPORTED = 3,      /* well formed, but this build does not know it */
  RILL_ERROR_NOT_FOUND = 4,        /* a named file, tensor or model does not exist */
  RILL_ERROR_IO = 5,               /* the operating system failed to read or write */
  RILL_ERROR_OUT_OF_MEMORY = 6,
  RILL_ERROR_CONTEXT_FULL = 7, /* a prompt that cannot fit, or audio past the pass limit */
  RILL_ERROR_CANCELLED = 8,    /* cancelled before anything was produced */
  RILL_ERROR_BUSY = 9,         /* the object is in use by another call */
  RILL_ERROR_INTERNAL = 10     /* a fault of rill itself */
} rill_status;

/* "invalid_argument", ...; "unknown" for other values. */
RILL_API const char* rill_status_name(rill_status status);
/* The exit code of a program that ends with this status: 0 ok, 1 failed, 2 usage, 3 unreadable file, 4 out of memory. */
RILL_API int rill_status_exit_code(rill_status status);
/* The HTTP status of a server's answer. */
RILL_API int rill_status_http(rill_status status);

typedef struct rill_error rill_error;
/* One line, no trailing period; "" for NULL. */
RILL_API const char* rill_error_message(const rill_error* error);
RILL_API rill_status rill_error_status(const rill_error* error);
RILL_API void rill_error_destroy(rill_error* error);

/* Text that a call hands over. */
typedef struct rill_string rill_string;
RILL_API const char* rill_string_data(const rill_string* text); /* ends with a zero byte */
RILL_API size_t rill_string_size(const rill_string* text);
RILL_API void rill_string_destroy(rill_string* text);

/* "0.1.0". */
RILL_API const char* rill_version(void);

/* ---- Engine: kernels, threads, log -------------------------------------------------------------------------------- */

typedef enum rill_log_level { RILL_LOG_DEBUG = 0, RILL_LOG_INFO = 1, RILL_LOG_WARNING = 2, RILL_LOG_ERROR = 3 } rill_log_level;

/* Receives messages; may be called from any thread that runs a rill call. */
typedef void (*rill_log_fn)(void* user, rill_log_level level, const char* message, size_t size);

typedef struct rill_engine_options {
  size_t struct_size;
  int32_t threads;       /* 0: physical cores that the process may use; at most 256 */
  const char* isa;       /* kernel tier by name (scalar, avx2, avx512, avx512vnni, neon); NULL: RILL_ISA, else the best */
  rill_log_fn log;       /* NULL: no messages */
  void* log_user;
  rill_log_level log_min_level;
  int32_t threads_batch; /* for prompts and audio, where many rows are computed at once; 0: threads */
} rill_engine_options;

/* An engine owns the threads. It may be shared by models; calls that compute take turns on it.
 * Errors: INVALID_ARGUMENT (threads, threads_batch, isa), UNSUPPORTED (the processor lacks the tier). options may be NULL. */
typedef struct rill_engine rill_engine;
RILL_API rill_status rill_engine_create(const rill_engine_options* options, rill_engine** engine, rill_error** error);
RILL_API void rill_engine_destroy(rill_engine* engine);
RILL_API const char* rill_engine_isa(const rill_engine* engine);
RILL_API int32_t rill_engine_threads(const rill_engine* engine);

/* ---- Speech detector ---------------------------------------------------------------------------------------------- */

/* Silero VAD: finds where somebody speaks. Its weights are third-party data, which tools/install_vad.sh fetches. Models
 * use it to cut long audio at pauses. Threads: it never changes, so any number of models and streams may use it.
 * path: the file silero_vad_16k.safetensors, or its directory. Errors: NOT_FOUND, IO, INVALID_FORMAT, UNSUPPORTED. */
typedef struct rill_vad rill_vad;
RILL_API rill_status rill_vad_open(rill_engine* engine, const char* path, rill_vad** vad, rill_error** error);
/* The same from memory, which is copied. */
RILL_API rill_status rill_vad_open_memory(rill_engine* engine, const void* data, size_t size, rill_vad** vad,
                                          rill_error** error);
RILL_API void rill_vad_destroy(rill_vad* vad);

/* Listens to live audio, for example to tell when a question ends. Threads: one at a time; it does not use the engine's
 * threads, so it never waits for a computation. Destroy it before its detector. */
typedef struct rill_vad_stream rill_vad_stream;

typedef struct rill_vad_state {
  double heard_s;        /* audio so far */
  int32_t is_speaking;   /* 1: speech (more than 0.25 s of it), and no pause of 0.1 s since */
  size_t num_segments;   /* stretches of speech so far; 0: nobody has spoken, and the next two are 0 */
  double speech_begin_s; /* of the latest one */
  double speech_end_s;   /* of the latest one; how far it reaches if it has not ended */
} rill_vad_state;

RILL_API rill_status rill_vad_stream_create(const rill_vad* vad, rill_vad_stream** stream, rill_error** error);
RILL_API void rill_vad_stream_destroy(rill_vad_stream* stream);
/* Takes a piece of the audio, interleaved; all pieces have one format. state (may be NULL) receives where it stands.
 * Errors: INVALID_ARGUMENT (another format), INVALID_FORMAT (a non-finite sample), OUT_OF_MEMORY. */
RILL_API rill_status rill_vad_stream_push_f32(rill_vad_stream* stream, const float* samples, size_t frames,
                                              int32_t channels, int32_t sample_rate_hz, rill_vad_state* state,
                                              rill_error** error);
RILL_API rill_status rill_vad_stream_push_s16(rill_vad_stream* stream, const int16_t* samples, size_t frames,
                                              int32_t channels, int32_t sample_rate_hz, rill_vad_state* state,
                                              rill_error** error);

/* ---- Model -------------------------------------------------------------------------------------------------------- */

typedef struct rill_option {
  const char* key;
  const char* value;
} rill_option;

typedef struct rill_model_options {
  size_t struct_size;
  /* lfm2_audio.model_gguf, .mmproj_gguf, .vocoder_gguf, .detokenizer_gguf (file names inside the directory),
   * lfm2_audio.max_pass_duration_sec (120), lfm2_audio.cpu_repack (true), lfm2_audio.conversation_cache_slots (4),
   * lfm2_audio.vad_model_path (the speech detector's file or its directory). Unknown keys are refused. */
  const rill_option* options;
  size_t num_options;
  int32_t for_speech; /* 1: also load what speaks (TTS, S2S); 0: transcription needs only backbone and mmproj */
  const rill_vad* vad; /* cuts long audio at pauses; must outlive the model; NULL: the one of an option, or none */
  int32_t for_text;    /* 1: of a package's directory only the language model, for the text tasks */
} rill_model_options;

/* A file in memory; name decides its role, as a file name does in a package directory. */
typedef struct rill_memory_file {
  const char* name;
  const void* data;
  size_t size;
} rill_memory_file;

/* A loaded package, or a text model. Threads: any number of sessions may use it.
 * path: the directory with the package's GGUF files; a text model's GGUF file, or its Transformers directory (config.json,
 * safetensors, tokenizer.json). What it is is decided by its content; a package does the text tasks too.
 * Options of text: text.chat_template (a built-in one or a file), text.context_length, text.kv_type (f16, f32),
 * text.cache_prompts (4), text.cache_dir (where prompts' states stay between runs).
 * Errors: NOT_FOUND, IO, INVALID_FORMAT, UNSUPPORTED, INVALID_ARGUMENT (options), OUT_OF_MEMORY. options may be NULL. */
typedef struct rill_model rill_model;
RILL_API rill_status rill_model_open(rill_engine* engine, const char* path, const rill_model_options* options,
                                     rill_model** model, rill_error** error);
/* The same from memory, which must stay valid until rill_model_destroy. */
RILL_API rill_status rill_model_open_memory(rill_engine* engine, const rill_memory_file* files, size_t num_files,
                                            const rill_model_options* options, rill_model** model, rill_error** error);
RILL_API void rill_model_destroy(rill_model* model);
/* "en" or "ja". */
RILL_API const char* rill_model_language(const rill_model* model);
/* general.name of the backbone file; "" if it has none. */
RILL_API const char* rill_model_name(const rill_model* model);

/* ---- Request ------------------------------------------------------------------------------------------------------ */

typedef enum rill_task {
  RILL_TASK_ASR = 1, /* audio in, text out */
  RILL_TASK_TTS = 2, /* text in, speech out */
  RILL_TASK_S2S = 3, /* a spoken question in, a reply of text and speech out; the text, if set, is the system prompt */
  RILL_TASK_CHAT = 4,    /* messages in, a reply out */
  RILL_TASK_COMPLETE = 5 /* text or token ids in, what the model goes on with out */
} rill_task;

/* What is asked. Threads: one at a time; may be run many times. */
typedef struct rill_request rill_request;
RILL_API rill_status rill_request_create(rill_task task, rill_request** request, rill_error** error);
RILL_API void rill_request_destroy(rill_request* request);
/* The audio, replacing any earlier one. A path of "-" reads standard input. The content decides the format: WAV, and
 * where the build has the codecs FLAC, Ogg Vorbis, Opus, MP3. Files are read when the request runs. */
RILL_API rill_status rill_request_set_audio_file(rill_request* request, const char* path, rill_error** error);
/* A whole audio file in memory; copied. */
RILL_API rill_status rill_request_set_audio_bytes(rill_request* request, const void* data, size_t size, rill_error** error);
/* Interleaved samples, `frames` per channel; copied. Errors: INVALID_ARGUMENT (rate, channels, a non-finite sample). */
RILL_API rill_status rill_request_set_audio_f32(rill_request* request, const float* samples, size_t frames, int32_t channels,
                                                int32_t sample_rate_hz, rill_error** error);
RILL_API rill_status rill_request_set_audio_s16(rill_request* request, const int16_t* samples, size_t frames, int32_t channels,
                                                int32_t sample_rate_hz, rill_error** error);
/* The text to speak (TTS), the system prompt of a spoken conversation (S2S), the prompt (COMPLETE); copied. For CHAT it is
 * one more message of the user. */
RILL_API rill_status rill_request_set_text(rill_request* request, const char* text, size_t size, rill_error** error);
/* The voice of TTS: us_male (default), us_female, uk_male, uk_female. */
RILL_API rill_status rill_request_set_voice(rill_request* request, const char* voice, rill_error** error);
/* Adds an earlier turn's question or reply to an S2S request; copied. *index (may be NULL) receives its place. */
RILL_API rill_status rill_request_add_artifact(rill_request* request, const char* id, const char* kind, const void* payload,
                                               size_t size, size_t* index, rill_error** error);
RILL_API rill_status rill_request_set_artifact_meta(rill_request* request, size_t index, const char* key, const char* value,
                                                    rill_error** error);
/* Sets a request option; docs/c-api.md lists those of each task with defaults and ranges.
 * Errors: INVALID_ARGUMENT (an option that the task does not take, or a bad value). */
RILL_API rill_status rill_request_set_option(rill_request* request, const char* key, const char* value, rill_error** error);
/* Called during a run with the part done, 0 to 1. */
typedef void (*rill_progress_fn)(void* user, double done);
RILL_API void rill_request_set_progress(rill_request* request, rill_progress_fn progress, void* user);

/* ---- Session ------------------------------------------------------------------------------------------------------ */

/* Runs requests on a model, one at a time; a second call at the same time gets BUSY. */
typedef struct rill_session rill_session;
typedef struct rill_result rill_result;
RILL_API rill_status rill_session_create(rill_model* model, rill_session** session, rill_error** error);
RILL_API void rill_session_destroy(rill_session* session);
RILL_API rill_status rill_session_run(rill_session* session, const rill_request* request, rill_result** result,
                                      rill_error** error);
/* Ends the running request soon: from any thread, also from a signal handler. What was finished by then is returned with
 * stop reason "cancelled", or CANCELLED if nothing was. Without a running request it cancels the next one. */
RILL_API void rill_session_cancel(rill_session* session);

/* ---- Stream ------------------------------------------------------------------------------------------------------- */

/* Speech that is handed over while it is made (TTS, S2S). The session is busy until the stream is destroyed. For S2S the
 * request needs no audio: push the question, then ask for events. All events together are the bytes of the offline run.
 * Threads: one at a time; rill_session_cancel ends it from any thread. */
typedef struct rill_stream rill_stream;

typedef struct rill_event {
  const char* text; /* what was written since the last event, in whole characters; speaks before the samples */
  size_t text_size;
  const float* samples; /* mono at rill_result_audio's rate, not clipped */
  size_t num_samples;
  int32_t is_last; /* 1: the stream is over, the event is empty */
} rill_event;

RILL_API rill_status rill_stream_start(rill_session* session, const rill_request* request, rill_stream** stream,
                                       rill_error** error);
/* The same for S2S with the whole question at once: the bytes of an audio file. */
RILL_API rill_status rill_stream_start_with_audio(rill_session* session, const rill_request* request, const void* data,
                                                  size_t size, rill_stream** stream, rill_error** error);
RILL_API void rill_stream_destroy(rill_stream* stream);
/* Adds a piece of the question; all pieces have one format. Errors: INVALID_ARGUMENT (after the first event, another
 * format), CONTEXT_FULL as soon as the question is too long. */
RILL_API rill_status rill_stream_push_audio_f32(rill_stream* stream, const float* samples, size_t frames, int32_t channels,
                                                int32_t sample_rate_hz, rill_error** error);
RILL_API rill_status rill_stream_push_audio_s16(rill_stream* stream, const int16_t* samples, size_t frames,
                                                int32_t channels, int32_t sample_rate_hz, rill_error** error);
/* Computes the next event, which is valid until the next call. */
RILL_API rill_status rill_stream_next_event(rill_stream* stream, rill_event* event, rill_error** error);
/* What the events so far add up to; a stream that is not over gives a result with stop reason "cancelled". */
RILL_API rill_status rill_stream_finish(rill_stream* stream, rill_result** result, rill_error** error);

/* ---- Live transcription ------------------------------------------------------------------------------------------- */

/* A piece of a transcript; times in seconds of the input. */
typedef struct rill_segment {
  double start_s;
  double end_s;
  const char* text;
  size_t text_size;
  const int32_t* tokens; /* ids as generated, the end-of-turn token not included */
  size_t num_tokens;
  int32_t truncated; /* 1: max_tokens ended it */
} rill_segment;

typedef enum rill_transcript_event_kind {
  RILL_TRANSCRIPT_NEEDS_AUDIO = 0, /* nothing until more audio is pushed, or its end */
  RILL_TRANSCRIPT_PARTIAL = 1,     /* the text so far of what is being spoken; it may still change */
  RILL_TRANSCRIPT_FINAL = 2,       /* the next segment */
  RILL_TRANSCRIPT_END = 3          /* the stream is over */
} rill_transcript_event_kind;

typedef struct rill_transcript_event {
  rill_transcript_event_kind kind;
  rill_segment segment; /* of PARTIAL and FINAL; its pointers live until the next call on the stream */
  double backlog_s;     /* audio that was pushed and not looked at yet: grows where the machine is too slow */
} rill_transcript_event;

/* Speech to text while the audio comes in. Segments end at pauses of about a second, or after audio_chunk_duration_sec;
 * they are those that rill_session_run gives for the same audio with audio_chunk_mode=vad. The session is busy until the
 * stream is destroyed. Threads: one at a time; rill_session_cancel ends it from any thread.
 * partial_interval_s: a partial result at most every so many seconds of audio, 0: none.
 * Errors: INVALID_ARGUMENT (not ASR; audio_chunk_mode=none), NOT_FOUND (no speech detector), BUSY, CONTEXT_FULL. */
typedef struct rill_transcript_stream rill_transcript_stream;
RILL_API rill_status rill_transcript_stream_start(rill_session* session, const rill_request* request,
                                                  double partial_interval_s, rill_transcript_stream** stream,
                                                  rill_error** error);
RILL_API void rill_transcript_stream_destroy(rill_transcript_stream* stream);
/* Takes a piece of the audio; all pieces have one format. Cheap: the work is done in next. */
RILL_API rill_status rill_transcript_stream_push_f32(rill_transcript_stream* stream, const float* samples, size_t frames,
                                                     int32_t channels, int32_t sample_rate_hz, rill_error** error);
RILL_API rill_status rill_transcript_stream_push_s16(rill_transcript_stream* stream, const int16_t* samples, size_t frames,
                                                     int32_t channels, int32_t sample_rate_hz, rill_error** error);
/* No more audio is pushed. */
RILL_API void rill_transcript_stream_end_audio(rill_transcript_stream* stream);
/* Gives bytes, at least one; 0: the end. */
typedef size_t (*rill_read_fn)(void* user, void* data, size_t size);
/* Instead of pushing: next reads an audio file, whose bytes come from `read` as they are needed. */
RILL_API rill_status rill_transcript_stream_read_file(rill_transcript_stream* stream, rill_read_fn read, void* user,
                                                      rill_error** error);
/* Computes the next event. */
RILL_API rill_status rill_transcript_stream_next(rill_transcript_stream* stream, rill_transcript_event* event,
                                                 rill_error** error);
/* The transcript of the final segments so far; a stream that is not over gives stop reason "cancelled". */
RILL_API rill_status rill_transcript_stream_finish(rill_transcript_stream* stream, rill_result** result,
                                                   rill_error** error);

/* The 16-bit form of samples: clamped to [-1, 1], times 32767, rounded. out has room for `count`. */
RILL_API void rill_samples_to_s16(const float* samples, size_t count, int16_t* out);

/* ---- Result ------------------------------------------------------------------------------------------------------- */

typedef struct rill_usage {
  size_t struct_size;
  double audio_s;   /* length of the input */
  double wall_s;    /* time of the run, reading the audio included */
  size_t prompt_steps;
  size_t generated_tokens; /* frames of speech count as one each */
  size_t cached_steps;     /* prompt steps that the session's cache saved */
  double output_audio_s;   /* length of the speech */
  uint64_t seed;           /* that was used; repeats the speech or the reply */
  size_t reasoning_tokens; /* text: of the generated tokens */
  double prefill_s;        /* text: time for the prompt */
  double decode_s;         /* text: time for the replies */
} rill_usage;

/* Data that goes with a result: for S2S with return_codes=true artifact 0 is the reply. */
typedef struct rill_artifact {
  const char* id;
  const char* kind;
  const void* payload;
  size_t size;
  size_t num_meta;
} rill_artifact;

RILL_API void rill_result_destroy(rill_result* result);
/* The whole text; size (may be NULL) receives its bytes without the final zero. */
RILL_API const char* rill_result_text(const rill_result* result, size_t* size);
RILL_API const char* rill_result_language(const rill_result* result);
/* "eos", "max_tokens", "cancelled", "no_speech" (nothing to transcribe); of text "stop", "length", "tool_calls",
 * "cancelled". */
RILL_API const char* rill_result_stop_reason(const rill_result* result);
RILL_API size_t rill_result_num_segments(const rill_result* result);
RILL_API rill_status rill_result_segment(const rill_result* result, size_t index, rill_segment* segment, rill_error** error);
/* Fills the fields that usage->struct_size covers. */
RILL_API rill_status rill_result_usage(const rill_result* result, rill_usage* usage, rill_error** error);
/* The speech: mono samples at *sample_rate_hz; *num_samples is 0 for ASR. */
RILL_API const float* rill_result_audio(const rill_result* result, size_t* num_samples, int32_t* sample_rate_hz);
/* The speech as a sound file: "wav", "flac" (both 16-bit), "opus" or "ogg" (Vorbis; both in Ogg). Errors:
 * INVALID_ARGUMENT (another format), UNSUPPORTED (one that is not in this build). */
RILL_API rill_status rill_result_audio_file(const rill_result* result, const char* format, rill_string** file,
                                            rill_error** error);
/* The same as rill_result_audio_file with "wav". */
RILL_API rill_status rill_result_wav(const rill_result* result, rill_string** wav, rill_error** error);
RILL_API size_t rill_result_num_artifacts(const rill_result* result);
RILL_API rill_status rill_result_artifact(const rill_result* result, size_t index, rill_artifact* artifact,
                                          rill_error** error);
RILL_API rill_status rill_result_artifact_meta(const rill_result* result, size_t artifact_index, size_t meta_index,
                                               const char** key, const char** value, rill_error** error);
/* A transcript as text, json, verbose_json (OpenAI's fields), srt or vtt. */
RILL_API rill_status rill_result_format(const rill_result* result, const char* format, rill_string** text, rill_error** error);

/* ---- Text --------------------------------------------------------------------------------------------------------- */

/* The messages of a CHAT request: a JSON array in OpenAI's form, replacing any earlier ones; and its tools. Copied.
 * Errors: INVALID_FORMAT (no JSON). Faults inside are found, with their path, when the request runs. */
RILL_API rill_status rill_request_set_messages(rill_request* request, const char* json, size_t size, rill_error** error);
RILL_API rill_status rill_request_set_tools(rill_request* request, const char* json, size_t size, rill_error** error);
/* The prompt of a COMPLETE request as token ids, which are taken as they are; copied. */
RILL_API rill_status rill_request_set_tokens(rill_request* request, const int32_t* tokens, size_t count,
                                             rill_error** error);
/* The body of OpenAI's /v1/chat/completions (CHAT) or /v1/completions (COMPLETE): messages or prompt, tools, options.
 * Errors: INVALID_FORMAT, INVALID_ARGUMENT (an unknown field, a bad value), UNSUPPORTED; the field is named. */
RILL_API rill_status rill_request_set_json(rill_request* request, const char* json, size_t size, rill_error** error);
/* Fields of that body that have no effect, with commas between; "" if there are none. */
RILL_API const char* rill_request_ignored(const rill_request* request);

typedef struct rill_tool_call {
  size_t index;          /* number of the call in its reply */
  const char* id;        /* "call_..."; "" in the later pieces of a call */
  const char* name;      /* likewise */
  const char* arguments; /* JSON text, or in an event its next piece */
  size_t arguments_size;
  int32_t is_complete; /* 1: the arguments are whole */
} rill_tool_call;

/* What one step adds to a reply. */
typedef struct rill_reply_event {
  size_t choice; /* number of the reply, for requests with n above 1 */
  const char* content; /* in whole characters */
  size_t content_size;
  const char* reasoning; /* likewise */
  size_t reasoning_size;
  const rill_tool_call* tool_calls;
  size_t num_tool_calls;
  const char* finish_reason; /* with a reply's last event: "stop", "length", "tool_calls", "cancelled"; else "" */
  const char* json; /* the same as an element of "choices" of an OpenAI chunk, logprobs included */
  size_t json_size;
  int32_t is_last; /* 1: the stream is over, the event is empty */
} rill_reply_event;

/* Replies while they are made (CHAT, COMPLETE). All events together are the result of rill_session_run with the same
 * seed. The session is busy until the stream is destroyed. Threads: one at a time; rill_session_cancel ends it from any
 * thread, and what was written so far stays.
 * Errors: INVALID_ARGUMENT and UNSUPPORTED (the request), CONTEXT_FULL (the prompt; with the numbers), BUSY. */
typedef struct rill_reply_stream rill_reply_stream;
RILL_API rill_status rill_reply_stream_start(rill_session* session, const rill_request* request,
                                             rill_reply_stream** stream, rill_error** error);
RILL_API void rill_reply_stream_destroy(rill_reply_stream* stream);
/* Computes the next event, which is valid until the next call. */
RILL_API rill_status rill_reply_stream_next(rill_reply_stream* stream, rill_reply_event* event, rill_error** error);
/* What the events so far add up to. */
RILL_API rill_status rill_reply_stream_finish(rill_reply_stream* stream, rill_result** result, rill_error** error);
/* Switches of the request that the model's chat template does not know, with commas between. */
RILL_API const char* rill_reply_stream_ignored(const rill_reply_stream* stream);

/* One of the replies of a result; rill_result_text is the content of the first. */
typedef struct rill_choice {
  const char* content;
  size_t content_size;
  const char* reasoning;
  size_t reasoning_size;
  const char* finish_reason;
  size_t num_tool_calls;
  const int32_t* tokens; /* as generated */
  size_t num_tokens;
} rill_choice;

RILL_API size_t rill_result_num_choices(const rill_result* result);
RILL_API rill_status rill_result_choice(const rill_result* result, size_t index, rill_choice* choice, rill_error** error);
RILL_API rill_status rill_result_tool_call(const rill_result* result, size_t choice, size_t index, rill_tool_call* call,
                                           rill_error** error);
/* {"choices": [...], "usage": {...}} in OpenAI's form, logprobs included. */
RILL_API rill_status rill_result_json(const rill_result* result, rill_string** json, rill_error** error);

/* The prompt that a CHAT request becomes. */
RILL_API rill_status rill_model_chat_prompt(rill_model* model, const rill_request* request, rill_string** prompt,
                                            rill_error** error);
/* Most steps of prompt and reply; 0 for a model that is not for text. */
RILL_API size_t rill_model_context_length(const rill_model* model);

/* A tokenizer: of a GGUF file, a package, a directory with tokenizer.json, or such a file. Threads: any number. */
typedef struct rill_tokenizer rill_tokenizer;
RILL_API rill_status rill_tokenizer_open(const char* path, rill_tokenizer** tokenizer, rill_error** error);
RILL_API void rill_tokenizer_destroy(rill_tokenizer* tokenizer);
/* The tokenizer of a model, which it belongs to. */
RILL_API const rill_tokenizer* rill_model_tokenizer(rill_model* model);

typedef struct rill_tokens rill_tokens;
RILL_API const int32_t* rill_tokens_data(const rill_tokens* tokens);
RILL_API size_t rill_tokens_size(const rill_tokens* tokens);
RILL_API void rill_tokens_destroy(rill_tokens* tokens);

/* Ids of a text; ill-formed UTF-8 counts as U+FFFD. add_bos: 1: the beginning-of-text token in front, if the tokenizer's
 * file asks for it. parse_special: 1: the text of special tokens stands for them. */
RILL_API rill_status rill_tokenize(const rill_tokenizer* tokenizer, const char* text, size_t size, int32_t add_bos,
                                   int32_t parse_special, rill_tokens** tokens, rill_error** error);
/* Text of ids: special tokens printed, unless skip_special is 1. Errors: INVALID_ARGUMENT (an unknown id). */
RILL_API rill_status rill_detokenize(const rill_tokenizer* tokenizer, const int32_t* tokens, size_t count,
                                     int32_t skip_special, rill_string** text, rill_error** error);
/* The bytes of one token, often not whole characters; NULL for an id that the vocabulary does not have. */
RILL_API const char* rill_token_bytes(const rill_tokenizer* tokenizer, int32_t token, size_t* size);

/* Saves the state after the session's last text request (prompt and reply), and takes it up again: a request whose prompt
 * starts the same computes only the rest. The file is bound to model and tokenizer. Errors: INVALID_ARGUMENT (nothing to
 * save; another model), INVALID_FORMAT, UNSUPPORTED, IO, NOT_FOUND, BUSY. */
RILL_API rill_status rill_session_save_state(rill_session* session, const char* path, rill_error** error);
RILL_API rill_status rill_session_restore_state(rill_session* session, const char* path, rill_error** error);

/* A text session's state at rest, after its last text request (prompt and reply). A value: it stays as it is whatever its
 * session does. Lifetime: the model outlives it. Threads: any number, each call for itself. */
typedef struct rill_state rill_state;
/* Errors: INVALID_ARGUMENT (no text request has run), BUSY. */
RILL_API rill_status rill_state_create(rill_session* session, rill_state** state, rill_error** error);
RILL_API void rill_state_destroy(rill_state* state);
/* Keys and values are shared until one of the two goes on. */
RILL_API rill_status rill_state_clone(const rill_state* state, rill_state** copy, rill_error** error);
/* Steps (tokens) that it holds. */
RILL_API size_t rill_state_steps(const rill_state* state);
/* To a file, and back from one of the same model. Errors: as rill_session_save_state and rill_session_restore_state. */
RILL_API rill_status rill_state_save(const rill_state* state, const char* path, rill_error** error);
RILL_API rill_status rill_state_restore(rill_model* model, const char* path, rill_state** state, rill_error** error);
/* The session's requests whose prompts start like the state compute only the rest. Errors: INVALID_ARGUMENT (a state of
 * another model), BUSY. */
RILL_API rill_status rill_session_set_state(rill_session* session, const rill_state* state, rill_error** error);

/* ---- Tools -------------------------------------------------------------------------------------------------------- */

/* Describes a GGUF file, a package directory or, for "cpu", the processor. detail: what to show of {"summary",
 * "metadata", "tensors", "json"}; NULL: all but json. */
RILL_API rill_status rill_inspect(rill_engine* engine, const char* path, const char* detail, rill_string** text,
                                  rill_error** error);

/* Memory and work of a model without loading it: `plan` is "ctx=N", with ",batch=M" and ",kv=f16" or ",kv=f32" if they
 * should differ from 1 and the model's default. The text is for people, or a JSON object (docs/cli.md). */
RILL_API rill_status rill_plan(rill_engine* engine, const char* path, const char* plan, int32_t as_json,
                               rill_string** text, rill_error** error);

/* One line of a verification report. */
typedef struct rill_verify_row {
  const char* subject; /* for example "encoder" or "dense_a.f32" */
  const char* stage;   /* for example "clip_hello.layer.1", or "" */
  double worst_error;  /* in the measure that `measure` names */
  double tolerance;
  const char* measure; /* "relative RMS", "mismatches", ... */
  const char* verdict; /* "pass", "miss", "not built" */
  const char* note;    /* "" or what went wrong */
} rill_verify_row;

typedef struct rill_verify_options {
  size_t struct_size;
  const char* set;   /* directory of the conformance set */
  const char* only;  /* comma-separated subjects, or NULL for all */
  const char* model; /* package or model to run instead of the set's own, or NULL */
  const rill_vad* vad; /* the speech detector to check, or NULL */
} rill_verify_options;

/* Runs a conformance set (docs/conformance.md) and reports each stage. *misses receives the number of misses, which are
 * not an error of the call. Errors: the set cannot be read, or names an unknown subject. */
RILL_API rill_status rill_verify(rill_engine* engine, const rill_verify_options* options,
                                 void (*row)(void* user, const rill_verify_row* row), void* user, size_t* misses,
                                 rill_error** error);

typedef struct rill_bench_options {
  size_t struct_size;
  const char* model; /* a GGUF with a text model, or a package directory */
  const size_t* prefill;
  size_t num_prefill; /* 0: no prompts */
  const size_t* depths;
  size_t num_depths; /* 0: no decoding */
  size_t decode;     /* tokens at each depth */
  size_t repeat;
  double audio_seconds; /* 0: no encoding */
  size_t frames;        /* 0: no speech */
  int32_t kv_f32;       /* 1: keys and values in F32 instead of F16 */
  int32_t no_repack;    /* 1: weights stay in the file's order */
  int32_t no_check;     /* 1: do not compare with the scalar tier first */
  size_t prompt_lookup; /* tokens guessed at once when prompt lookup is measured; 0: it is not */
} rill_bench_options;

/* Measures speed; the report is a JSON object (docs/performance.md). Errors: those of opening a model;
 * INVALID_ARGUMENT; INTERNAL if the kernels do not give the scalar tier's result. */
RILL_API rill_status rill_bench(rill_engine* engine, const rill_bench_options* options, rill_string** json,
                                rill_error** error);

/* ---- Convert ------------------------------------------------------------------------------------------------------ */

/* Told the part done, 0 to 1, on the calling thread; returns 0 to stop (the call then returns CANCELLED) and 1 to go on. */
typedef int32_t (*rill_convert_progress_fn)(void* user, double done);

typedef struct rill_convert_options {
  size_t struct_size;
  const char* input;           /* directory with config.json, safetensors and tokenizer: text or liquid-audio model */
  const char* output;          /* text: the GGUF file; speech: the directory of the package's four files, made if need be */
  const char* type;            /* "F32", "F16", "BF16"; NULL: the type of the checkpoint's matrices */
  const char* name;            /* general.name, and the base of a package's file names; NULL: the input's name */
  const char* language;        /* speech: "en" or "ja"; NULL: "en" */
  const char* tokenizer;       /* directory with the tokenizer's files; NULL: the input */
  const char* source_repo;     /* recorded in the file as rill.source.repo; NULL: nothing */
  const char* source_revision; /* likewise */
  int32_t lean;                /* 1, speech: leave out tensors that no engine reads */
  int32_t overwrite;           /* 1: replace files that exist */
  rill_convert_progress_fn progress; /* may be NULL */
  void* progress_user;
  const rill_option* defaults; /* the model's own defaults for request options: key TASK.OPTION, as tts.temperature */
  size_t num_defaults;
} rill_convert_options;

/* Writes a checkpoint as GGUF; the report says what each tensor became. Files appear when they are complete.
 * Errors: INVALID_ARGUMENT (options, an output that exists, values too large for the type), NOT_FOUND, INVALID_FORMAT,
 * UNSUPPORTED (another kind of model, an unknown tensor or setting), IO, OUT_OF_MEMORY, CANCELLED. */
RILL_API rill_status rill_convert(rill_engine* engine, const rill_convert_options* options, rill_string** report,
                                  rill_error** error);

typedef struct rill_quantize_options {
  size_t struct_size;
  const char* input;        /* a GGUF file, or a directory with a speech package */
  const char* output;       /* the file; for a package the directory, made if need be */
  const char* type;         /* F32, F16, BF16, Q8_0, Q6_K, Q5_K_M, Q4_K_M, Q4_0 */
  int32_t allow_requantize; /* 1: also from tensors that are quantized already */
  int32_t overwrite;        /* 1: replace files that exist */
  rill_convert_progress_fn progress; /* may be NULL */
  void* progress_user;
} rill_quantize_options;

/* Writes a GGUF file again with other types; metadata is kept. The report says what stays F32 or gets another type, and
 * why. Errors: those of rill_convert; INVALID_ARGUMENT names a tensor that is quantized already. */
RILL_API rill_status rill_quantize(rill_engine* engine, const rill_quantize_options* options, rill_string** report,
                                   rill_error** error);

/* ---- Perplexity --------------------------------------------------------------------------------------------------- */

typedef struct rill_perplexity_options {
  size_t struct_size;
  const char* model;       /* a GGUF, a checkpoint directory, or a speech package's directory */
  const char* reference;   /* another model with the same vocabulary to compare with, or NULL */
  const char* text;        /* UTF-8, or with text_is_ids token ids apart by spaces */
  size_t text_size;
  int32_t text_is_ids;
  size_t window;           /* tokens of a window; 0: 512 */
  size_t stride;           /* between the beginnings of windows; 0: as window */
  size_t max_windows;      /* 0: all */
  int32_t kv_f16;          /* 1: keys and values in F16 instead of F32 */
  const char* logits_path; /* also write the scored logits there: F32, a row per prediction; or NULL */
  rill_convert_progress_fn progress; /* may be NULL */
  void* progress_user;
} rill_perplexity_options;

/* How well a model predicts a text, and how far it is from a reference; a JSON object (docs/cli.md). Errors: those of
 * opening a model; INVALID_ARGUMENT (options, a text that is too short, vocabularies that differ); IO, CANCELLED. */
RILL_API rill_status rill_perplexity(rill_engine* engine, const rill_perplexity_options* options, rill_string** json,
                                     rill_error** error);

/* ---- Files -------------------------------------------------------------------------------------------------------- */

/* The SHA-256 of a file's bytes in hex. progress may be NULL. Errors: NOT_FOUND, IO, CANCELLED. Threads: any. */
RILL_API rill_status rill_sha256_file(const char* path, rill_convert_progress_fn progress, void* progress_user,
                                      rill_string** hex, rill_error** error);

#ifdef __cplusplus
}
#endif

#endif /* RILL_RILL_H_ */
