/* SPDX-License-Identifier: Apache-2.0
 * The C interface from C11: the table of statuses, NULL where it is allowed and where it is not, a
 * whole run, and that a session survives failures and cancellation. Prints what failed and ends
 * with 1. Argument: the folder assets/demo. */
#include <math.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include "rill/rill.h"

static int g_failures = 0;

#define EXPECT(condition)                                             \
  do {                                                                \
    if (!(condition)) {                                               \
      fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
      ++g_failures;                                                   \
    }                                                                 \
  } while (0)

typedef struct status_row {
  rill_status status;
  const char* name;
  int exit_code;
  int http;
} status_row;

/* The table of docs/errors.md. */
static const status_row kStatusRows[] = {
    {RILL_OK, "ok", 0, 200},
    {RILL_ERROR_INVALID_ARGUMENT, "invalid_argument", 2, 400},
    {RILL_ERROR_INVALID_FORMAT, "invalid_format", 3, 400},
    {RILL_ERROR_UNSUPPORTED, "unsupported", 3, 400},
    {RILL_ERROR_NOT_FOUND, "not_found", 3, 404},
    {RILL_ERROR_IO, "io", 3, 500},
    {RILL_ERROR_OUT_OF_MEMORY, "out_of_memory", 4, 503},
    {RILL_ERROR_CONTEXT_FULL, "context_full", 1, 400},
    {RILL_ERROR_CANCELLED, "cancelled", 130, 499},
    {RILL_ERROR_BUSY, "busy", 1, 503},
    {RILL_ERROR_INTERNAL, "internal", 1, 500},
};

static void test_status_table(void) {
  const size_t count = sizeof(kStatusRows) / sizeof(kStatusRows[0]);
  for (size_t i = 0; i < count; ++i) {
    EXPECT((size_t)kStatusRows[i].status == i);
    EXPECT(strcmp(rill_status_name(kStatusRows[i].status), kStatusRows[i].name) == 0);
    EXPECT(rill_status_exit_code(kStatusRows[i].status) == kStatusRows[i].exit_code);
    EXPECT(rill_status_http(kStatusRows[i].status) == kStatusRows[i].http);
  }
  EXPECT(strcmp(rill_status_name((rill_status)count), "unknown") == 0);
}

static void test_null_destroy(void) {
  rill_error_destroy(NULL);
  rill_string_destroy(NULL);
  rill_engine_destroy(NULL);
  rill_model_destroy(NULL);
  rill_request_destroy(NULL);
  rill_session_destroy(NULL);
  rill_result_destroy(NULL);
  rill_vad_destroy(NULL);
  rill_vad_stream_destroy(NULL);
  rill_transcript_stream_destroy(NULL);
  EXPECT(strcmp(rill_error_message(NULL), "") == 0);
}

static void test_null_arguments(void) {
  rill_error* error = NULL;
  EXPECT(rill_request_create(RILL_TASK_ASR, NULL, &error) == RILL_ERROR_INVALID_ARGUMENT);
  EXPECT(strlen(rill_error_message(error)) > 0);
  EXPECT(rill_error_status(error) == RILL_ERROR_INVALID_ARGUMENT);
  rill_error_destroy(error);
  EXPECT(rill_engine_create(NULL, NULL, NULL) == RILL_ERROR_INVALID_ARGUMENT);
  EXPECT(rill_model_open(NULL, NULL, NULL, NULL, NULL) == RILL_ERROR_INVALID_ARGUMENT);
  EXPECT(rill_session_create(NULL, NULL, NULL) == RILL_ERROR_INVALID_ARGUMENT);
  EXPECT(rill_session_run(NULL, NULL, NULL, NULL) == RILL_ERROR_INVALID_ARGUMENT);
  EXPECT(rill_result_format(NULL, NULL, NULL, NULL) == RILL_ERROR_INVALID_ARGUMENT);
  EXPECT(rill_vad_open(NULL, NULL, NULL, NULL) == RILL_ERROR_INVALID_ARGUMENT);
  EXPECT(rill_vad_stream_create(NULL, NULL, NULL) == RILL_ERROR_INVALID_ARGUMENT);
  EXPECT(rill_transcript_stream_start(NULL, NULL, 0, NULL, NULL) == RILL_ERROR_INVALID_ARGUMENT);
  EXPECT(rill_transcript_stream_next(NULL, NULL, NULL) == RILL_ERROR_INVALID_ARGUMENT);
}

static void test_version(void) {
  char expected[32];
  snprintf(expected, sizeof(expected), "%d.%d.%d", RILL_VERSION_MAJOR, RILL_VERSION_MINOR,
           RILL_VERSION_PATCH);
  EXPECT(strcmp(rill_version(), expected) == 0);
}

static void test_engine_options(void) {
  rill_engine* engine = NULL;
  rill_engine_options options = {.struct_size = sizeof(options), .threads = 3, .isa = "scalar"};
  EXPECT(rill_engine_create(&options, &engine, NULL) == RILL_OK);
  EXPECT(rill_engine_threads(engine) == 3);
  EXPECT(strcmp(rill_engine_isa(engine), "scalar") == 0);
  rill_engine_destroy(engine);

  engine = NULL;
  options.isa = "nosuch";
  rill_error* error = NULL;
  EXPECT(rill_engine_create(&options, &engine, &error) == RILL_ERROR_INVALID_ARGUMENT);
  EXPECT(engine == NULL);
  EXPECT(strstr(rill_error_message(error), "nosuch") != NULL);
  rill_error_destroy(error);

  options.isa = NULL;
  options.threads = -1;
  EXPECT(rill_engine_create(&options, &engine, NULL) == RILL_ERROR_INVALID_ARGUMENT);
}

static void test_request_options(void) {
  rill_request* request = NULL;
  EXPECT(rill_request_create(RILL_TASK_ASR, &request, NULL) == RILL_OK);
  EXPECT(rill_request_set_option(request, "max_tokens", "12", NULL) == RILL_OK);
  EXPECT(rill_request_set_option(request, "max_tokens", "0", NULL) == RILL_ERROR_INVALID_ARGUMENT);
  EXPECT(rill_request_set_option(request, "max_tokens", "12x", NULL) ==
         RILL_ERROR_INVALID_ARGUMENT);
  EXPECT(rill_request_set_option(request, "audio_chunk_mode", "fixed", NULL) == RILL_OK);
  rill_error* error = NULL;
  EXPECT(rill_request_set_option(request, "temperature", "1", &error) ==
         RILL_ERROR_INVALID_ARGUMENT);
  EXPECT(strstr(rill_error_message(error), "temperature") != NULL);
  rill_error_destroy(error);
  const float nan_sample = NAN;
  EXPECT(rill_request_set_audio_f32(request, &nan_sample, 1, 1, 16000, NULL) ==
         RILL_ERROR_INVALID_ARGUMENT);
  const int16_t sample = 0;
  EXPECT(rill_request_set_audio_s16(request, &sample, 1, 1, 0, NULL) ==
         RILL_ERROR_INVALID_ARGUMENT);
  EXPECT(rill_request_set_audio_s16(request, &sample, 1, 0, 16000, NULL) ==
         RILL_ERROR_INVALID_ARGUMENT);
  rill_request_destroy(request);
}

static void remember_progress(void* user, double done) { *(double*)user = done; }

static void expect_transcript(rill_session* session, rill_request* request, const char* expected) {
  rill_result* result = NULL;
  rill_error* error = NULL;
  const rill_status status = rill_session_run(session, request, &result, &error);
  EXPECT(status == RILL_OK);
  if (status != RILL_OK) {
    fprintf(stderr, "%s\n", rill_error_message(error));
  } else {
    size_t size = 0;
    const char* text = rill_result_text(result, &size);
    EXPECT(strcmp(text, expected) == 0);
    EXPECT(size == strlen(expected));
    EXPECT(strcmp(rill_result_stop_reason(result), "eos") == 0);
    EXPECT(strcmp(rill_result_language(result), "en") == 0);
    EXPECT(rill_result_num_segments(result) == 1);
    rill_segment segment;
    EXPECT(rill_result_segment(result, 0, &segment, NULL) == RILL_OK);
    EXPECT(segment.start_s == 0.0 && segment.end_s > 0.5 && segment.num_tokens > 0 &&
           segment.truncated == 0);
    EXPECT(rill_result_segment(result, 1, &segment, NULL) == RILL_ERROR_INVALID_ARGUMENT);
    rill_usage usage = {.struct_size = sizeof(usage)};
    EXPECT(rill_result_usage(result, &usage, NULL) == RILL_OK);
    EXPECT(usage.audio_s == segment.end_s && usage.wall_s > 0 &&
           usage.generated_tokens == segment.num_tokens);
    rill_string* formatted = NULL;
    EXPECT(rill_result_format(result, "nosuch", &formatted, NULL) == RILL_ERROR_INVALID_ARGUMENT);
    EXPECT(rill_result_format(result, "vtt", &formatted, NULL) == RILL_OK);
    EXPECT(strncmp(rill_string_data(formatted), "WEBVTT", 6) == 0);
    EXPECT(rill_string_size(formatted) == strlen(rill_string_data(formatted)));
    rill_string_destroy(formatted);
  }
  rill_result_destroy(result);
  rill_error_destroy(error);
}

/* The bytes of a file, a few at a time. */
static size_t read_little(void* user, void* data, size_t size) {
  return fread(data, 1, size < 1000 ? size : 1000, (FILE*)user);
}

/* Fixed chunks need no speech detector. */
static void test_transcript_stream(rill_session* session, const char* wav, const char* expected) {
  rill_request* request = NULL;
  rill_transcript_stream* stream = NULL;
  rill_transcript_event event;
  rill_result* result = NULL;
  FILE* file = fopen(wav, "rb");
  EXPECT(file != NULL);
  if (file == NULL) return;
  EXPECT(rill_request_create(RILL_TASK_ASR, &request, NULL) == RILL_OK);
  EXPECT(rill_request_set_option(request, "audio_chunk_mode", "fixed", NULL) == RILL_OK);
  EXPECT(rill_transcript_stream_start(session, request, 0, &stream, NULL) == RILL_OK);
  EXPECT(rill_session_run(session, request, &result, NULL) == RILL_ERROR_BUSY);
  EXPECT(rill_transcript_stream_read_file(stream, read_little, file, NULL) == RILL_OK);
  EXPECT(rill_transcript_stream_next(stream, &event, NULL) == RILL_OK);
  EXPECT(event.kind == RILL_TRANSCRIPT_FINAL);
  EXPECT(event.segment.text != NULL && strcmp(event.segment.text, expected) == 0);
  EXPECT(rill_transcript_stream_next(stream, &event, NULL) == RILL_OK);
  EXPECT(event.kind == RILL_TRANSCRIPT_END);
  EXPECT(rill_transcript_stream_finish(stream, &result, NULL) == RILL_OK);
  EXPECT(strcmp(rill_result_text(result, NULL), expected) == 0);
  EXPECT(strcmp(rill_result_stop_reason(result), "eos") == 0);
  rill_result_destroy(result);
  rill_transcript_stream_destroy(stream);
  rill_request_destroy(request);
  fclose(file);
}

static void test_run(const char* assets) {
  char clip[1024];
  snprintf(clip, sizeof(clip), "%s/wav/asr_10.wav", assets);
  rill_engine* engine = NULL;
  rill_model* model = NULL;
  rill_session* session = NULL;
  rill_request* request = NULL;
  rill_result* result = NULL;
  rill_engine_options options = {.struct_size = sizeof(options), .threads = 4};
  EXPECT(rill_engine_create(&options, &engine, NULL) == RILL_OK);
  EXPECT(rill_model_open(engine, "nosuch", NULL, &model, NULL) == RILL_ERROR_NOT_FOUND);
  if (rill_model_open(engine, assets, NULL, &model, NULL) != RILL_OK) {
    EXPECT(!"the demo model opens");
    rill_engine_destroy(engine);
    return;
  }
  EXPECT(strcmp(rill_model_language(model), "en") == 0);
  EXPECT(rill_session_create(model, &session, NULL) == RILL_OK);
  EXPECT(rill_request_create(RILL_TASK_ASR, &request, NULL) == RILL_OK);
  EXPECT(rill_session_run(session, request, &result, NULL) ==
         RILL_ERROR_INVALID_ARGUMENT); /* no audio */
  EXPECT(rill_request_set_audio_file(request, "nosuch.wav", NULL) == RILL_OK);
  EXPECT(rill_session_run(session, request, &result, NULL) == RILL_ERROR_NOT_FOUND);
  EXPECT(rill_request_set_audio_file(request, clip, NULL) == RILL_OK);
  rill_session_cancel(session); /* cancels the next run */
  EXPECT(rill_session_run(session, request, &result, NULL) == RILL_ERROR_CANCELLED);
  double done = 0;
  rill_request_set_progress(request, remember_progress, &done);
  expect_transcript(session, request, "It is five thirty.");
  EXPECT(done == 1.0);
  test_transcript_stream(session, clip, "It is five thirty.");
  rill_request_destroy(request);
  rill_session_destroy(session);
  rill_model_destroy(model);
  rill_engine_destroy(engine);
}

int main(int argc, char** argv) {
  test_status_table();
  test_null_destroy();
  test_null_arguments();
  test_version();
  test_engine_options();
  test_request_options();
  if (argc == 2) test_run(argv[1]);
  if (g_failures != 0) fprintf(stderr, "%d expectations failed\n", g_failures);
  return g_failures == 0 ? 0 : 1;
}
