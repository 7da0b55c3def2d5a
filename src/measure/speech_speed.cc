// SPDX-License-Identifier: Apache-2.0
#include "measure/speech_speed.h"

#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

#include "audio/log_mel.h"
#include "measure/repeat.h"
#include "model/conformer/config.h"
#include "ops/elementwise.h"
#include "session/sequence.h"
#include "tasks/frame_picker.h"
#include "tasks/speech_writer.h"

namespace rill::measure {
namespace {

using model::lfm2_audio::Model;
using session::Sequence;

constexpr size_t kTextPrompt = 32;        // tokens: a sentence and what stands around it
constexpr double kQuestionSeconds = 5.0;  // of audio

/// Noise that is as loud as speech: silence would be no test.
std::vector<float> make_noise(double seconds) {
  std::vector<float> noise(static_cast<size_t>(seconds * 16000.0));
  uint32_t state = 12345;
  for (float& sample : noise) {
    state = state * 1664525u + 1013904223u;
    sample = (static_cast<float>(state >> 8) / 16777216.0f - 0.5f) * 0.2f;
  }
  return noise;
}

/// A reply that is being spoken.
struct Speaker {
  const Model& package;
  Sequence sequence;
  tasks::FramePicker picker;
  tasks::SpeechWriter writer;
  std::vector<float> row;

  static Result<Speaker> create(const Model& package, Sequence sequence) {
    RILL_ASSIGN_OR_RETURN(auto picker, tasks::FramePicker::create(
                                           *package.speech(), tasks::audio_sampler(0.8f, 64, 1)));
    RILL_ASSIGN_OR_RETURN(auto writer,
                          tasks::SpeechWriter::create(package.speech()->detokenizer(),
                                                      tasks::SpeechWriter::kFramesTogether));
    std::vector<float> row(package.backbone().config().hidden_size);
    return Speaker{package, std::move(sequence), std::move(picker), std::move(writer),
                   std::move(row)};
  }
  /// Sound of a frame, without the backbone's step after it.
  Result<tasks::Frame> speak(ops::Context& context) {
    RILL_ASSIGN_OR_RETURN(auto frame, picker.pick(context, sequence.hidden()));
    if (frame.kind == tasks::FrameKind::kSpoken)
      RILL_RETURN_IF_ERROR(writer.push(context, frame.codes));
    return frame;
  }
  Status step(ops::Context& context) {
    RILL_ASSIGN_OR_RETURN(const auto frame, speak(context));
    RILL_RETURN_IF_ERROR(package.speech()->embed_frame(context, frame.codes, row));
    const auto input = session::StepInput::of_row(row);
    return sequence.append(context, {&input, 1});
  }
};

Result<Sequence> text_prompt(ops::Context& context, const Model& package) {
  RILL_ASSIGN_OR_RETURN(Sequence prompt, Sequence::create(package.backbone(), DType::kF32));
  RILL_RETURN_IF_ERROR(prompt.append_tokens(
      context, make_tokens(kTextPrompt, package.backbone().config().vocab_size)));
  return prompt;
}

/// A reply that goes on and on: what the start of one costs is measured as the time to its first
/// sound.
class LongReply {
 public:
  static Result<LongReply> start(ops::Context& context, const Model& package) {
    LongReply reply(package);
    RILL_RETURN_IF_ERROR(reply.restart(context));
    return reply;
  }
  /// Time per frame of the next `frames`.
  Result<double> frame_ms(ops::Context& context, size_t frames) {
    if (speaker_->sequence.room() < frames) RILL_RETURN_IF_ERROR(restart(context));
    RILL_RETURN_IF_ERROR(speaker_->sequence.reserve(frames));
    const auto start = Clock::now();
    for (size_t f = 0; f < frames; ++f) RILL_RETURN_IF_ERROR(speaker_->step(context));
    return seconds_since(start) * 1000.0 / static_cast<double>(frames);
  }

 private:
  explicit LongReply(const Model& package) : package_(&package) {}
  Status restart(ops::Context& context) {
    RILL_ASSIGN_OR_RETURN(Sequence prompt, text_prompt(context, *package_));
    RILL_ASSIGN_OR_RETURN(Speaker speaker, Speaker::create(*package_, std::move(prompt)));
    speaker_ = std::make_unique<Speaker>(std::move(speaker));
    // Until the detokenizer has run once.
    for (size_t f = 0; f < tasks::SpeechWriter::kFramesTogether; ++f)
      RILL_RETURN_IF_ERROR(speaker_->step(context));
    return {};
  }

  const Model* package_;
  std::unique_ptr<Speaker> speaker_;
};

/// From a text to the first 80 ms of its sound.
Result<double> first_audio_of_text_ms(ops::Context& context, const Model& package) {
  const auto start = Clock::now();
  RILL_ASSIGN_OR_RETURN(Sequence prompt, text_prompt(context, package));
  RILL_ASSIGN_OR_RETURN(Speaker speaker, Speaker::create(package, std::move(prompt)));
  RILL_RETURN_IF_ERROR(speaker.speak(context));
  return seconds_since(start) * 1000.0;
}

/// From the last sample of a spoken question to the first 80 ms of the answer, which follow its
/// first block of text.
Result<double> first_audio_of_answer_ms(ops::Context& context, const Model& package,
                                        std::span<const float> question) {
  const auto start = Clock::now();
  RILL_ASSIGN_OR_RETURN(const Tensor mel, audio::log_mel(question, package.log_mel_config()));
  RILL_ASSIGN_OR_RETURN(Tensor rows, Tensor::create(model::conformer::num_steps(mel.rows()),
                                                    package.backbone().config().hidden_size));
  RILL_RETURN_IF_ERROR(package.embed_speech(context, mel.mat(), rows.mat()));
  RILL_ASSIGN_OR_RETURN(Sequence sequence, text_prompt(context, package));
  std::vector<session::StepInput> steps;
  for (size_t r = 0; r < rows.rows(); ++r)
    steps.push_back(session::StepInput::of_row({rows.mat().row(r), rows.cols()}));
  RILL_RETURN_IF_ERROR(sequence.append(context, steps));
  for (size_t i = 0; i < package.speech()->interleave().num_text; ++i) {
    RILL_ASSIGN_OR_RETURN(const auto logits, sequence.logits(context));
    RILL_RETURN_IF_ERROR(sequence.append_token(context, static_cast<int32_t>(ops::argmax(logits))));
  }
  RILL_ASSIGN_OR_RETURN(Speaker speaker, Speaker::create(package, std::move(sequence)));
  RILL_RETURN_IF_ERROR(speaker.speak(context));
  return seconds_since(start) * 1000.0;
}

}  // namespace

Result<Json> measure_encode(ops::Context& context, const Model& package, double audio_seconds,
                            size_t repeat) {
  const auto samples = make_noise(audio_seconds);
  RILL_ASSIGN_OR_RETURN(const Tensor mel, audio::log_mel(samples, package.log_mel_config()));
  RILL_ASSIGN_OR_RETURN(Tensor rows, Tensor::create(model::conformer::num_steps(mel.rows()),
                                                    package.backbone().config().hidden_size));
  RILL_ASSIGN_OR_RETURN(
      auto encode_s, repeated(repeat, [&]() -> Result<double> {
        const auto start = Clock::now();
        RILL_RETURN_IF_ERROR(package.embed_speech(context, mel.mat(), rows.mat()));
        return seconds_since(start);
      }));
  RILL_ASSIGN_OR_RETURN(auto features_s, repeated(repeat, [&]() -> Result<double> {
                          const auto start = Clock::now();
                          RILL_RETURN_IF_ERROR(audio::log_mel(samples, package.log_mel_config()));
                          return seconds_since(start);
                        }));
  std::vector<double> factors;
  for (size_t i = 0; i < encode_s.size(); ++i)
    factors.push_back((encode_s[i] + features_s[i]) / audio_seconds);
  Json entry = Json::object();
  entry.set("audio_seconds", Json::number(audio_seconds));
  set_statistics(entry, "encode_seconds", std::move(encode_s));
  set_statistics(entry, "features_seconds", std::move(features_s));
  set_statistics(entry, "real_time_factor", std::move(factors));
  return entry;
}

Result<Json> measure_speech(ops::Context& context, const Model& package, size_t frames,
                            size_t repeat) {
  RILL_ASSIGN_OR_RETURN(LongReply reply, LongReply::start(context, package));
  RILL_ASSIGN_OR_RETURN(auto per_frame,
                        repeated(repeat, [&] { return reply.frame_ms(context, frames); }));
  RILL_ASSIGN_OR_RETURN(auto of_text,
                        repeated(repeat, [&] { return first_audio_of_text_ms(context, package); }));
  const auto question = make_noise(kQuestionSeconds);
  RILL_ASSIGN_OR_RETURN(auto of_answer, repeated(repeat, [&] {
                          return first_audio_of_answer_ms(context, package, question);
                        }));
  std::vector<double> factors;
  factors.reserve(per_frame.size());
  for (const double ms : per_frame) factors.push_back(ms / 80.0);
  Json entry = Json::object();
  entry.set("frames", Json::integer(static_cast<int64_t>(frames)));
  entry.set("frame_bytes", Json::integer(static_cast<int64_t>(frame_bytes(package))));
  set_statistics(entry, "frame_ms", std::move(per_frame));
  set_statistics(entry, "real_time_factor", std::move(factors));
  set_statistics(entry, "first_audio_of_text_ms", std::move(of_text));
  set_statistics(entry, "first_audio_of_answer_ms", std::move(of_answer));
  return entry;
}

size_t frame_bytes(const Model& package) {
  const auto& backbone = package.backbone();
  return backbone.weights().step_bytes(backbone.config().num_experts_per_tok) +
         package.speech()->depthformer().frame_bytes();
}

Result<ReadShares> measure_speech_read_shares(ops::Context& context, const Model& package,
                                              size_t turns, ReadBandwidth& bandwidth) {
  constexpr size_t kFrames = tasks::SpeechWriter::kFramesTogether;  // a turn of speaking
  RILL_ASSIGN_OR_RETURN(LongReply reply, LongReply::start(context, package));
  const auto bytes = static_cast<double>(frame_bytes(package));
  return measure_read_shares(bandwidth, turns, [&]() -> Result<double> {
    RILL_ASSIGN_OR_RETURN(const double ms, reply.frame_ms(context, kFrames));
    return 1000.0 * bytes / ms;
  });
}

}  // namespace rill::measure
