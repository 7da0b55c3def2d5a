// SPDX-License-Identifier: Apache-2.0
#include "tasks/s2s.h"

#include <algorithm>
#include <memory>
#include <utility>

#include "audio/log_mel.h"
#include "base/str_cat.h"
#include "model/conformer/config.h"
#include "tasks/asr.h"
#include "tasks/speech_checks.h"

namespace rill::tasks {
namespace {

using model::lfm2_audio::Model;
using session::Sequence;
using session::StepInput;

// Room that is made before the reply starts; a longer one grows block by block.
constexpr size_t kReservedSteps = 512;

/// The rows of a prompt's audio steps and replayed frames, in order, and the steps that use them.
struct PromptSteps {
  std::vector<std::shared_ptr<const Tensor>> questions;  // the new one last
  Tensor frames;                                         // [replayed frames, D]
  std::vector<StepInput> steps;
};

/// Replayed frames as backbone inputs.
Result<Tensor> embed_replayed(const Model& model, ops::Context& context,
                              const std::vector<ConversationTurn>& history) {
  size_t count = 0;
  for (const ConversationTurn& turn : history) {
    for (const ReplyStep& step : turn.reply) count += step.is_frame() ? 1 : 0;
  }
  const size_t width = model.backbone().config().hidden_size;
  RILL_ASSIGN_OR_RETURN(Tensor rows, Tensor::create(count, width));
  size_t row = 0;
  for (const ConversationTurn& turn : history) {
    for (const ReplyStep& step : turn.reply) {
      if (!step.is_frame()) continue;
      RILL_RETURN_IF_ERROR(
          model.speech()->embed_frame(context, step.codes, {rows.mat().row(row++), width}));
    }
  }
  return rows;
}

/// Puts ids and rows together.
void bind_steps(std::span<const int32_t> ids, PromptSteps& prompt) {
  size_t question = 0;
  size_t question_row = 0;
  size_t frame = 0;
  for (const int32_t id : ids) {
    if (id == model::lfm2_audio::kAudioStep) {
      while (question_row == prompt.questions[question]->rows()) {
        ++question;
        question_row = 0;
      }
      const ConstMat rows = prompt.questions[question]->mat();
      prompt.steps.push_back(StepInput::of_row({rows.row(question_row++), rows.cols}));
    } else if (id == model::lfm2_audio::kFrameStep) {
      const ConstMat rows = std::as_const(prompt.frames).mat();
      prompt.steps.push_back(StepInput::of_row({rows.row(frame++), rows.cols}));
    } else {
      prompt.steps.push_back(StepInput::of_token(id));
    }
  }
}

}  // namespace

Result<S2sStream> S2sStream::start(const Model& model, S2sRequest request, const SpeechRun& run,
                                   double max_pass_duration_s, ConversationCache* cache) {
  RILL_RETURN_IF_ERROR(check_can_speak(model));
  RILL_RETURN_IF_ERROR(check_speech_language(model, request.options.language));
  S2sStream stream(model);
  stream.run_ = run;
  stream.max_pass_duration_s_ = max_pass_duration_s;
  stream.cache_ = cache;
  RILL_ASSIGN_OR_RETURN(stream.history_, read_history(request.artifacts, reply_shape(model)));
  stream.request_ = std::move(request);
  stream.request_.artifacts.clear();  // read; the WAVs need not be held twice
  stream.seed_ = stream.request_.options.seed ? *stream.request_.options.seed : random_seed();
  for (const ConversationTurn& turn : stream.history_) {
    RILL_RETURN_IF_ERROR(check_pass_limit(turn.question.size(), max_pass_duration_s,
                                          "an earlier question", "leave out its turn"));
  }
  if (!stream.history_.empty()) {
    RILL_ASSIGN_OR_RETURN(const auto ids,
                          conversation_prompt(model, stream.system(), stream.history_, 0));
    RILL_RETURN_IF_ERROR(
        check_conversation_limit(ids.size(), stream.request_.options.max_tokens, /*exact=*/false));
  }
  return stream;
}

std::string_view S2sStream::system() const {
  return request_.system.empty() ? model::lfm2_audio::kDefaultChatSystem
                                 : std::string_view(request_.system);
}

bool S2sStream::keeps() const {
  return cache_ != nullptr && (!history_.empty() || request_.options.return_codes);
}

Status S2sStream::check_question_limit() const {
  return check_pass_limit(question_.size(), max_pass_duration_s_, "the question",
                          "ask a shorter one");
}

Status S2sStream::push_audio(std::span<const float> interleaved, uint32_t channels,
                             uint32_t sample_rate_hz) {
  if (reply_) return Error{ErrorCode::kInvalidArgument, "push audio: the reply has started"};
  if (!mono_) {
    RILL_ASSIGN_OR_RETURN(mono_, audio::MonoStream::create(sample_rate_hz, channels));
    channels_ = channels;
    sample_rate_hz_ = sample_rate_hz;
  }
  if (channels != channels_ || sample_rate_hz != sample_rate_hz_) {
    return Error{
        ErrorCode::kInvalidArgument,
        cat("push audio: got ", channels, " channels at ", sample_rate_hz, " Hz, expected ",
            channels_, " at ", sample_rate_hz_, " Hz as in the pieces before")};
  }
  RILL_RETURN_IF_ERROR(mono_->push(interleaved, question_));
  return check_question_limit();
}

Status S2sStream::push_mono(std::span<const float> samples) {
  return push_audio(samples, 1, kModelSampleRateHz);
}

Result<Tensor> S2sStream::encode_question(ops::Context& context,
                                          std::span<const float> samples) const {
  RILL_ASSIGN_OR_RETURN(const Tensor mel, audio::log_mel(samples, model_->log_mel_config()));
  RILL_ASSIGN_OR_RETURN(Tensor rows, Tensor::create(model::conformer::num_steps(mel.rows()),
                                                    model_->backbone().config().hidden_size));
  RILL_RETURN_IF_ERROR(model_->embed_speech(context, mel.mat(), rows.mat()));
  return rows;
}

Result<Sequence> S2sStream::prefill(ops::Context& context) {
  PromptSteps prompt;
  std::vector<KeptQuestion> questions;
  for (size_t i = 0; i <= history_.size(); ++i) {
    const bool is_new = i == history_.size();
    const std::vector<float>& samples = is_new ? question_ : history_[i].question;
    KeptQuestion question{hash_samples(samples), nullptr};
    if (!is_new && cache_ != nullptr) question.rows = cache_->questions.find(question.hash);
    if (question.rows == nullptr) {
      RILL_ASSIGN_OR_RETURN(Tensor rows, encode_question(context, samples));
      question.rows = std::make_shared<const Tensor>(std::move(rows));
    }
    prompt.questions.push_back(question.rows);
    questions.push_back(std::move(question));
  }
  RILL_ASSIGN_OR_RETURN(prompt.frames, embed_replayed(*model_, context, history_));
  RILL_ASSIGN_OR_RETURN(const auto ids, conversation_prompt(*model_, system(), history_,
                                                            prompt.questions.back()->rows()));
  prompt_steps_ = ids.size();
  if (!history_.empty()) {
    RILL_RETURN_IF_ERROR(
        check_conversation_limit(ids.size(), request_.options.max_tokens, /*exact=*/true));
  }
  bind_steps(ids, prompt);
  if (keeps()) cache_->questions.keep(std::move(questions));
  if (cache_ != nullptr && !history_.empty()) {
    RILL_ASSIGN_OR_RETURN(auto sequence,
                          cache_->blocks.prefill(context, model_->backbone(), DType::kF32,
                                                 prompt.steps, run_.cancel));
    cached_steps_ = cache_->blocks.cached_steps();
    log_kept();
    return sequence;
  }
  RILL_ASSIGN_OR_RETURN(auto sequence, Sequence::create(model_->backbone(), DType::kF32));
  RILL_RETURN_IF_ERROR(sequence.append(context, prompt.steps, run_.cancel));
  return sequence;
}

void S2sStream::log_kept() const {
  if (run_.logger == nullptr) return;
  constexpr size_t kMiB = size_t{1} << 20;
  run_.logger->log(LogLevel::kInfo,
                   "lfm2_audio.prefill.kept_prompts=", cache_->blocks.num_prompts(),
                   " lfm2_audio.prefill.kept_mib=", cache_->blocks.memory_bytes() / kMiB,
                   " cached_steps=", cached_steps_, " prompt_steps=", prompt_steps_);
}

Status S2sStream::begin_reply(ops::Context& context) {
  if (mono_) mono_->finish(question_);
  RILL_RETURN_IF_ERROR(check_question_limit());
  if (question_.size() < kMinAudioSamples) {
    return Error{mono_ ? ErrorCode::kInvalidFormat : ErrorCode::kInvalidArgument,
                 cat("LFM2-Audio s2s requires audio: got ", question_.size(),
                     " samples at 16000 Hz, expected at least ", kMinAudioSamples)};
  }
  const auto& speech = *model_->speech();
  const S2sOptions& options = request_.options;
  RILL_ASSIGN_OR_RETURN(Sequence sequence, prefill(context));
  const size_t wanted = std::min(options.max_tokens, kReservedSteps);
  RILL_RETURN_IF_ERROR(sequence.reserve(std::min(wanted, sequence.room())));
  RILL_ASSIGN_OR_RETURN(
      auto picker,
      FramePicker::create(speech, audio_sampler(options.temperature, options.top_k, seed_)));
  RILL_ASSIGN_OR_RETURN(
      auto writer, SpeechWriter::create(speech.detokenizer(), options.stream_frames_per_event));
  reply_.emplace(
      Reply{std::move(sequence),
            std::move(picker),
            session::Sampler(text_sampler(options.text_temperature, options.text_top_k, seed_)),
            std::move(writer),
            InterleaveSchedule(speech.interleave()),
            text::IncrementalDecoder(model_->tokenizer(), /*skip_special=*/true),
            {}});
  generating_ = true;
  return {};
}

Status S2sStream::text_step(ops::Context& context) {
  RILL_ASSIGN_OR_RETURN(const auto logits, reply_->sequence.logits(context));
  RILL_ASSIGN_OR_RETURN(const int32_t token, reply_->text.pick(logits));
  if (token == model_->special_ids().im_end) {
    ended_ = true;
    generating_ = false;
    return {};
  }
  steps_.push_back({token, {}});
  reply_->pending_text += reply_->decoder.push(token);
  reply_->schedule.after_text(token == model_->special_ids().text_end);
  if (steps_.size() == request_.options.max_tokens)
    return {};  // the last step of the budget is not fed back
  return reply_->sequence.append_token(context, token);
}

Status S2sStream::frame_step(ops::Context& context, bool& event_ready) {
  RILL_ASSIGN_OR_RETURN(Frame frame, reply_->picker.pick(context, reply_->sequence.hidden()));
  reply_->schedule.after_frame(frame.kind == FrameKind::kEnd);
  if (frame.kind == FrameKind::kSpoken) {
    RILL_ASSIGN_OR_RETURN(event_ready, reply_->writer.push(context, frame.codes));
  }
  steps_.push_back({-1, frame.codes});
  if (steps_.size() == request_.options.max_tokens) return {};
  std::vector<float> row(model_->backbone().config().hidden_size);
  RILL_RETURN_IF_ERROR(model_->speech()->embed_frame(context, frame.codes, row));
  const StepInput input = StepInput::of_row(row);
  return reply_->sequence.append(context, {&input, 1}, run_.cancel);
}

Status S2sStream::step(ops::Context& context, bool& event_ready) {
  reply_->schedule.begin_step();
  if (reply_->schedule.is_text()) {
    RILL_RETURN_IF_ERROR(text_step(context));
  } else {
    RILL_RETURN_IF_ERROR(frame_step(context, event_ready));
  }
  // The step that would pick <|im_end|> needs a place in the budget too.
  if (steps_.size() == request_.options.max_tokens) generating_ = false;
  return {};
}

Status S2sStream::end_reply(ops::Context& context) {
  if (reply_->writer.num_frames() == 0) {
    return Error{ErrorCode::kInternal,
                 ended_ ? "LFM2-Audio replied without speech"
                        : "LFM2-Audio reached max_tokens before the reply spoke; raise max_tokens"};
  }
  RILL_RETURN_IF_ERROR(reply_->writer.finish(context));
  if (!ended_ && run_.logger != nullptr) {
    run_.logger->log(LogLevel::kWarning,
                     "[lfm2_audio] the reply reached max_tokens=", request_.options.max_tokens,
                     " and is cut off there; raise max_tokens for the rest");
  }
  return {};
}

Result<std::optional<SpeechEvent>> S2sStream::next(ops::Context& context) {
  if (finished_) return std::optional<SpeechEvent>();
  if (!reply_) RILL_RETURN_IF_ERROR(begin_reply(context));
  while (generating_) {
    if (run_.cancel != nullptr && run_.cancel->load())
      return Error{ErrorCode::kCancelled, "reply: cancelled"};
    bool event_ready = false;
    RILL_RETURN_IF_ERROR(step(context, event_ready));
    // What is left of an unfinished event goes out before the last 20 ms.
    if (event_ready || (!generating_ && reply_->writer.has_pcm())) {
      return take_event(context);
    }
  }
  RILL_RETURN_IF_ERROR(end_reply(context));
  finished_ = true;
  return take_event(context);
}

Result<std::optional<SpeechEvent>> S2sStream::take_event(ops::Context& context) {
  RILL_ASSIGN_OR_RETURN(std::vector<float> pcm, reply_->writer.take_pcm(context));
  return std::optional<SpeechEvent>(
      SpeechEvent{std::exchange(reply_->pending_text, {}), std::move(pcm)});
}

}  // namespace rill::tasks
