// SPDX-License-Identifier: Apache-2.0
#include "run_speech.h"

#include <nlohmann/json.hpp>

#include "exit_codes.h"
#include "interrupt.h"
#include "output.h"
#include "speech_output.h"
#include "speech_request.h"
#include "talk_history.h"

namespace rill::cli {
namespace {

int add_artifact(rill_request* request, const SequenceArtifact& artifact) {
  std::string payload;
  const int exit_code = read_bytes(artifact.path, payload);
  if (exit_code != kExitOk) return exit_code;
  ErrorSlot error;
  size_t index = 0;
  rill_status status =
      rill_request_add_artifact(request, artifact.id.c_str(), artifact.kind.c_str(), payload.data(),
                                payload.size(), &index, error.out());
  for (const auto& [key, value] : artifact.meta) {
    if (status != RILL_OK) break;
    status =
        rill_request_set_artifact_meta(request, index, key.c_str(), value.c_str(), error.out());
  }
  return status == RILL_OK ? kExitOk : report(status, error);
}

/// Prints the error of a run, with the file's name where the question was one.
int report_run(rill_status status, const ErrorSlot& error, const std::string& audio) {
  if (audio.empty() || audio == "-") return report(status, error);
  return report(rill_status_exit_code(status), audio + ": " + rill_error_message(error.get()));
}

int write_speech(const rill_result* result, const std::string& out) {
  SpeechOutput output;
  size_t num_samples = 0;
  const float* samples = rill_result_audio(result, &num_samples, nullptr);
  int exit_code = output.open(out);
  if (exit_code == kExitOk) exit_code = output.write(samples, num_samples);
  return exit_code == kExitOk ? output.finish(result) : exit_code;
}

int run_offline(Runtime& runtime, rill_request* request, const std::string& audio,
                const std::string& question, const std::string& out, ResultHandle& result) {
  ErrorSlot error;
  rill_status status = RILL_OK;
  if (!audio.empty()) {
    status = rill_request_set_audio_bytes(request, question.data(), question.size(), error.out());
  }
  if (status == RILL_OK) {
    const CancelOnSignal cancel(runtime.session.get());
    status = rill_session_run(runtime.session.get(), request, Out(result), error.out());
  }
  if (status != RILL_OK && interrupt_exit_code() == 0) return report_run(status, error, audio);
  const int write_code =
      result != nullptr && !out.empty() ? write_speech(result.get(), out) : kExitOk;
  return interrupt_exit_code() != 0 ? interrupt_exit_code() : write_code;
}

/// Starts the stream with its whole question, or with raw samples as standard input gives them.
int start_stream(Runtime& runtime, rill_request* request, const SpeechInput& input,
                 StreamHandle& stream) {
  ErrorSlot error;
  rill_session* session = runtime.session.get();
  std::string question;
  const bool live = input.audio == "-" && !starts_audio_file(question);
  if (input.audio.empty() || live) {
    const rill_status status = rill_stream_start(session, request, Out(stream), error.out());
    if (status != RILL_OK) return report(status, error);
    return live ? push_live_pcm(stream.get(), input.pcm, question) : kExitOk;
  }
  const int exit_code =
      input.audio == "-" ? read_rest(question) : read_bytes(input.audio, question);
  if (exit_code != kExitOk) return exit_code;
  const rill_status status = rill_stream_start_with_audio(
      session, request, question.data(), question.size(), Out(stream), error.out());
  return status == RILL_OK ? kExitOk : report_run(status, error, input.audio);
}

int run_streaming(Runtime& runtime, rill_request* request, const SpeechInput& input,
                  const std::string& out, ResultHandle& result) {
  StreamHandle stream;
  int exit_code = start_stream(runtime, request, input, stream);
  if (exit_code != kExitOk) return exit_code;
  SpeechOutput output;
  if (!out.empty()) exit_code = output.open(out);
  if (exit_code != kExitOk) return exit_code;
  const auto write = [&](const rill_event& event) {
    return out.empty() ? kExitOk : output.write(event.samples, event.num_samples);
  };
  exit_code = pull_events(runtime, stream.get(), write, result);
  const int finish_code = out.empty() ? kExitOk : output.finish(result.get());
  return exit_code != kExitOk ? exit_code : finish_code;
}

std::string to_hex(const void* data, size_t size) {
  constexpr const char* kDigits = "0123456789abcdef";
  const auto* bytes = static_cast<const unsigned char*>(data);
  std::string hex;
  hex.reserve(2 * size);
  for (size_t i = 0; i < size; ++i) {
    hex += kDigits[bytes[i] >> 4];
    hex += kDigits[bytes[i] & 0xF];
  }
  return hex;
}

}  // namespace

int make_run_speech_request(rill_task task, const std::vector<KeyValue>& options,
                            const SequenceRequest& item, RequestHandle& request) {
  int exit_code = make_speech_request(task, options, request);
  if (exit_code != kExitOk) return exit_code;
  ErrorSlot error;
  rill_status status = RILL_OK;
  if (!item.text.empty()) {
    status = rill_request_set_text(request.get(), item.text.data(), item.text.size(), error.out());
  }
  if (status == RILL_OK && !item.voice.empty()) {
    status = rill_request_set_voice(request.get(), item.voice.c_str(), error.out());
  }
  if (status != RILL_OK) return report(status, error);
  for (const SequenceArtifact& artifact : item.artifacts) {
    exit_code = add_artifact(request.get(), artifact);
    if (exit_code != kExitOk) return exit_code;
  }
  return kExitOk;
}

int run_speech(Runtime& runtime, rill_request* request, const SpeechInput& input,
               const std::string& out, ResultHandle& result) {
  if (input.streaming) return run_streaming(runtime, request, input, out, result);
  std::string question;
  if (!input.audio.empty()) {
    const int exit_code = read_bytes(input.audio, question);
    if (exit_code != kExitOk) return exit_code;
  }
  return run_offline(runtime, request, input.audio, question, out, result);
}

int print_artifacts(const rill_result* result) {
  for (size_t i = 0; i < rill_result_num_artifacts(result); ++i) {
    ErrorSlot error;
    rill_artifact artifact = {};
    rill_status status = rill_result_artifact(result, i, &artifact, error.out());
    nlohmann::ordered_json line = {{"id", status == RILL_OK ? artifact.id : ""},
                                   {"kind", status == RILL_OK ? artifact.kind : ""},
                                   {"payload_hex", to_hex(artifact.payload, artifact.size)},
                                   {"meta", nlohmann::ordered_json::object()}};
    for (size_t m = 0; status == RILL_OK && m < artifact.num_meta; ++m) {
      const char* key = nullptr;
      const char* value = nullptr;
      status = rill_result_artifact_meta(result, i, m, &key, &value, error.out());
      if (status == RILL_OK) line["meta"][key] = value;
    }
    if (status != RILL_OK) return report(status, error);
    const int exit_code = write_stdout("artifact=" + line.dump() + "\n");
    if (exit_code != kExitOk) return exit_code;
  }
  return kExitOk;
}

}  // namespace rill::cli
