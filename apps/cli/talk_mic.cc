// SPDX-License-Identifier: Apache-2.0
#include "talk_mic.h"

#include <array>
#include <vector>

#include "endpointer.h"
#include "exit_codes.h"
#include "interrupt.h"
#include "microphone.h"
#include "output.h"
#include "speech_request.h"
#include "wav_header.h"

namespace rill::cli {
namespace {

static_assert(kMicrophoneRateHz == Endpointer::kSampleRateHz);
constexpr uint32_t kSpeechRateHz = 24000;

constexpr size_t kPiece = 512;  // 32 ms

using VadStreamHandle = Handle<rill_vad_stream, rill_vad_stream_destroy>;

/// A question as the file that goes into later turns: exactly the samples that were heard.
std::string question_file(const std::vector<int16_t>& samples) {
  const auto header = wav_header(kMicrophoneRateHz, static_cast<uint32_t>(2 * samples.size()));
  std::string file(reinterpret_cast<const char*>(header.data()), header.size());
  for (const int16_t sample : samples) {
    const auto word = static_cast<uint16_t>(sample);
    file += static_cast<char>(word & 0xFF);
    file += static_cast<char>(word >> 8);
  }
  return file;
}

class LiveTalk {
 public:
  LiveTalk(Runtime& runtime, const MicrophoneOptions& options)
      : runtime_(runtime), options_(options), endpointer_({.pause_ms = options.pause_ms}) {}

  int open() {
    if (runtime_.vad == nullptr) {
      return report(
          kExitUsage,
          "--mic needs the speech detector: tools/install_vad.sh fetches it before rill is "
          "built, or --vad-file names its file");
    }
    ErrorSlot error;
    const rill_status status = rill_vad_stream_create(runtime_.vad.get(), Out(vad_), error.out());
    if (status != RILL_OK) return report(status, error);
    const int exit_code = microphone_.open(options_.microphone, kMicrophoneRateHz);
    if (exit_code != kExitOk || !plays()) return exit_code;
    return speaker_.open(options_.speaker, kSpeechRateHz);
  }

  /// Waits for a question and its end; empty at the end of the sound or after a signal.
  int listen(std::vector<int16_t>& question) {
    const HoldSignals hold;
    std::array<int16_t, kPiece> piece{};
    bool ended = false;
    while (!ended && interrupt_exit_code() == 0) {
      size_t count = 0;
      const int exit_code = microphone_.read(piece, &count);
      if (exit_code != kExitOk) return exit_code;
      ErrorSlot error;
      rill_vad_state state = {};
      const rill_status status =
          rill_vad_stream_push_s16(vad_.get(), piece.data(), count, 1,
                                   static_cast<int32_t>(kMicrophoneRateHz), &state, error.out());
      if (status != RILL_OK) return report(status, error);
      ended = endpointer_.push(std::span(piece).first(count), state.is_speaking != 0) ||
              count < piece.size();  // no more comes
    }
    question = endpointer_.take();
    return interrupt_exit_code();
  }

  /// Answers aloud; the text goes to stdout while it is spoken. *too_long receives whether the
  /// conversation did not fit, which is not printed then.
  int reply(const rill_request* request, const std::vector<int16_t>& question, ResultHandle& result,
            bool* too_long) {
    ErrorSlot error;
    StreamHandle stream;
    rill_status status =
        rill_stream_start(runtime_.session.get(), request, Out(stream), error.out());
    if (status == RILL_OK) {
      status = rill_stream_push_audio_s16(stream.get(), question.data(), question.size(), 1,
                                          static_cast<int32_t>(kMicrophoneRateHz), error.out());
    }
    *too_long = status == RILL_ERROR_CONTEXT_FULL;
    if (status != RILL_OK) return *too_long ? kExitFailed : report(status, error);
    int exit_code = pull_events(
        runtime_, stream.get(), [&](const rill_event& event) { return speak(event); }, result);
    if (exit_code == kExitOk) exit_code = write_stdout("\n");
    if (plays()) speaker_.finish();
    microphone_.finish();  // what it heard meanwhile was the reply
    return exit_code;
  }

 private:
  [[nodiscard]] bool plays() const { return options_.speaker != "none"; }

  int speak(const rill_event& event) {
    const int exit_code = write_stdout({event.text, event.text_size});
    if (exit_code != kExitOk || !plays()) return exit_code;
    std::vector<int16_t> samples(event.num_samples);
    rill_samples_to_s16(event.samples, event.num_samples, samples.data());
    return speaker_.write(samples);
  }

  Runtime& runtime_;
  const MicrophoneOptions& options_;
  VadStreamHandle vad_;
  SoundDevice microphone_{SoundDevice::Direction::kCapture};
  SoundDevice speaker_{SoundDevice::Direction::kPlayback};
  Endpointer endpointer_;
};

}  // namespace

int talk_to_microphone(const MicrophoneOptions& options, Runtime& runtime, TalkHistory& history,
                       const std::function<int(RequestHandle&)>& make_request) {
  LiveTalk talk(runtime, options);
  int exit_code = talk.open();
  while (exit_code == kExitOk) {
    std::vector<int16_t> question;
    exit_code = talk.listen(question);
    if (exit_code != kExitOk || question.empty()) return exit_code;
    bool too_long = true;
    ResultHandle result;
    while (too_long) {
      RequestHandle request;
      exit_code = make_request(request);
      if (exit_code == kExitOk) exit_code = history.add_turns(request.get());
      if (exit_code != kExitOk) return exit_code;
      exit_code = talk.reply(request.get(), question, result, &too_long);
      if (!too_long) break;
      if (history.empty()) return report(kExitFailed, "the question is too long");
      history.forget_oldest();
      print_message("the conversation got too long: its oldest turns are left out from now on");
    }
    if (exit_code == kExitOk)
      exit_code = history.append_turn(question_file(question), result.get());
  }
  return exit_code;
}

}  // namespace rill::cli
