// SPDX-License-Identifier: Apache-2.0
#include "demo_speech.h"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstdio>
#include <fstream>
#include <nlohmann/json.hpp>
#include <vector>

#include "exit_codes.h"
#include "interrupt.h"
#include "output.h"
#include "recognizer.h"
#include "speech_request.h"
#include "talk_history.h"
#include "word_errors.h"

namespace rill::cli {
namespace {

struct Sentence {
  std::string text;
  std::string voice;
};

struct Question {
  std::string wav;
  std::string text;
};

/// What it took to speak.
struct Timing {
  double speech_s = 0;
  double wall_s = 0;
  double first_audio_s = 0;  ///< sum over the requests
  size_t requests = 0;
};

double seconds_since(std::chrono::steady_clock::time_point begin) {
  return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin).count();
}

nlohmann::json read_list(const std::string& assets, const char* key) {
  std::ifstream file(assets + "/expected.json");
  const auto root = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!root.is_object() || !root.contains(key) || !root[key].is_array()) return {};
  return root[key];
}

std::string string_at(const nlohmann::json& item, const char* key) {
  const bool has = item.is_object() && item.contains(key) && item[key].is_string();
  return has ? item[key].get<std::string>() : "";
}

std::vector<Sentence> read_sentences(const std::string& assets) {
  std::vector<Sentence> sentences;
  for (const auto& item : read_list(assets, "tts")) {
    if (!string_at(item, "text").empty())
      sentences.push_back({string_at(item, "text"), string_at(item, "voice")});
  }
  if (!sentences.empty()) return sentences;
  return {{"Wake me up at twelve fifteen.", "us_male"},
          {"The dog is black.", "us_female"},
          {"The cat is brown.", "uk_male"},
          {"Today is Monday.", "uk_female"}};
}

std::vector<Question> read_questions(const std::string& assets) {
  std::vector<Question> questions;
  for (const auto& item : read_list(assets, "s2s"))
    questions.push_back({string_at(item, "wav"), string_at(item, "question")});
  return questions;
}

/// Streams the request (S2S: with the question's file) to its end and adds to the timing.
int speak(Runtime& runtime, const rill_request* request, const std::string* question,
          Timing& timing, ResultHandle& result) {
  ErrorSlot error;
  StreamHandle stream;
  const auto begin = std::chrono::steady_clock::now();
  rill_session* session = runtime.session.get();
  const rill_status status =
      question == nullptr
          ? rill_stream_start(session, request, Out(stream), error.out())
          : rill_stream_start_with_audio(session, request, question->data(), question->size(),
                                         Out(stream), error.out());
  if (status != RILL_OK) return report(status, error);
  size_t num_samples = 0;
  const auto count = [&](const rill_event& event) {
    if (num_samples == 0 && event.num_samples > 0) timing.first_audio_s += seconds_since(begin);
    num_samples += event.num_samples;
    return kExitOk;
  };
  const int exit_code = pull_events(runtime, stream.get(), count, result);
  timing.wall_s += seconds_since(begin);
  timing.speech_s += static_cast<double>(num_samples) / 24000;
  timing.requests += 1;
  return exit_code;
}

/// What the model hears in its own speech.
int hear(Runtime& runtime, const rill_result* speech, std::string& heard) {
  RequestHandle request;
  const int exit_code = make_asr_request({}, request);
  if (exit_code != kExitOk) return exit_code;
  size_t num_samples = 0;
  int32_t rate_hz = 0;
  const float* samples = rill_result_audio(speech, &num_samples, &rate_hz);
  // A model may answer with text alone.
  if (num_samples == 0) return kExitOk;
  ErrorSlot error;
  ResultHandle result;
  rill_status status =
      rill_request_set_audio_f32(request.get(), samples, num_samples, 1, rate_hz, error.out());
  if (status == RILL_OK) {
    const CancelOnSignal cancel(runtime.session.get());
    status = rill_session_run(runtime.session.get(), request.get(), Out(result), error.out());
  }
  if (interrupt_exit_code() != 0) return interrupt_exit_code();
  if (status != RILL_OK) return report(status, error);
  heard = rill_result_text(result.get(), nullptr);
  return kExitOk;
}

std::string pad(std::string text, size_t width) {
  text.resize(std::max(text.size() + 2, width), ' ');
  return text;
}

std::string format_timing(const Timing& timing) {
  std::array<char, 200> text{};
  std::snprintf(text.data(), text.size(),
                "real-time factor %.3f (%.1f s of speech in %.2f s), first audio after %.3f s\n",
                timing.wall_s / timing.speech_s, timing.speech_s, timing.wall_s,
                timing.first_audio_s / static_cast<double>(timing.requests));
  return text.data();
}

int speak_sentence(Runtime& runtime, const std::vector<KeyValue>& options, const Sentence& sentence,
                   Timing& timing, WordErrors& total) {
  RequestHandle request;
  int exit_code = make_speech_request(RILL_TASK_TTS, options, request);
  if (exit_code != kExitOk) return exit_code;
  ErrorSlot error;
  rill_status status =
      rill_request_set_text(request.get(), sentence.text.data(), sentence.text.size(), error.out());
  if (status == RILL_OK && !sentence.voice.empty()) {
    status = rill_request_set_voice(request.get(), sentence.voice.c_str(), error.out());
  }
  if (status != RILL_OK) return report(status, error);
  ResultHandle speech;
  std::string heard;
  exit_code = speak(runtime, request.get(), nullptr, timing, speech);
  if (exit_code == kExitOk) exit_code = hear(runtime, speech.get(), heard);
  if (exit_code != kExitOk) return exit_code;
  const WordErrors words = count_word_errors(sentence.text, heard);
  total.errors += words.errors;
  total.num_words += words.num_words;
  return write_stdout(pad(sentence.voice, 16) + pad(sentence.text, 50) + heard + "\n");
}

int speak_sentences(Runtime& runtime, const std::vector<KeyValue>& options,
                    const std::vector<Sentence>& sentences) {
  Timing timing;
  WordErrors words;
  int exit_code = write_stdout("\n" + pad("voice", 16) + pad("speaks", 50) + "hears itself say\n");
  for (const Sentence& sentence : sentences) {
    if (exit_code != kExitOk) return exit_code;
    exit_code = speak_sentence(runtime, options, sentence, timing, words);
  }
  if (exit_code != kExitOk) return exit_code;
  std::array<char, 100> text{};
  std::snprintf(text.data(), text.size(), "\nspoken and heard: WER %.2f%% (%zu of %zu words)\n",
                100.0 * static_cast<double>(words.errors) / static_cast<double>(words.num_words),
                words.errors, words.num_words);
  return write_stdout(text.data() + format_timing(timing));
}

int answer_question(Runtime& runtime, const std::vector<KeyValue>& options,
                    const std::string& assets, const Question& question, Timing& timing) {
  RequestHandle request;
  ResultHandle reply;
  std::string audio;
  std::string heard;
  int exit_code = make_speech_request(RILL_TASK_S2S, options, request);
  if (exit_code == kExitOk) exit_code = read_bytes(assets + "/" + question.wav, audio);
  if (exit_code == kExitOk) exit_code = speak(runtime, request.get(), &audio, timing, reply);
  if (exit_code == kExitOk) exit_code = hear(runtime, reply.get(), heard);
  if (exit_code != kExitOk) return exit_code;
  const std::string text = rill_result_text(reply.get(), nullptr);
  return write_stdout(pad(question.text, 38) + pad(text, 44) + heard + "\n");
}

int answer_questions(Runtime& runtime, const std::vector<KeyValue>& options,
                     const std::string& assets, const std::vector<Question>& questions) {
  Timing timing;
  int exit_code =
      write_stdout("\n" + pad("spoken question", 38) + pad("reply", 44) + "heard in its speech\n");
  for (const Question& question : questions) {
    if (exit_code != kExitOk) return exit_code;
    exit_code = answer_question(runtime, options, assets, question, timing);
  }
  return exit_code == kExitOk ? write_stdout("\nreplies: " + format_timing(timing)) : exit_code;
}

}  // namespace

int demo_speech(Runtime& runtime, const std::string& assets) {
  // The sentences and questions are English.
  if (std::string(rill_model_language(runtime.model.get())) != "en") return kExitOk;
  // The same speech every time, also from a model that samples.
  const std::vector<KeyValue> options = {{"seed", "1"}};
  const int exit_code = speak_sentences(runtime, options, read_sentences(assets));
  const std::vector<Question> questions = read_questions(assets);
  if (exit_code != kExitOk || questions.empty()) return exit_code;
  return answer_questions(runtime, options, assets, questions);
}

}  // namespace rill::cli
