// SPDX-License-Identifier: Apache-2.0
#include "tasks/tts.h"

#include <algorithm>
#include <utility>

#include "base/str_cat.h"
#include "ops/elementwise.h"
#include "tasks/speech_checks.h"

namespace rill::tasks {
namespace {

using model::lfm2_audio::Language;
using model::lfm2_audio::Model;
using model::lfm2_audio::Voice;

// Speech normally starts with the very first token.
constexpr size_t kMaxTextTokens = 16;
// Room that is made before a chunk starts; a longer one grows block by block.
constexpr size_t kReservedFrames = 512;

Result<Voice> choose_voice(const Model& model, const std::string& name) {
  if (model.language() == Language::kJapanese) {
    if (name.empty()) return Voice::kUsMale;
    return Error{
        ErrorCode::kInvalidArgument,
        cat("the Japanese LFM2-Audio checkpoint has one voice; leave the voice unset, not ",
            printable(name))};
  }
  if (name.empty()) return Voice::kUsMale;
  if (const auto voice = model::lfm2_audio::voice_by_name(name)) return *voice;
  return Error{ErrorCode::kInvalidArgument,
               cat("unknown LFM2-Audio voice ", printable(name),
                   "; the voices are us_male, us_female, uk_male, uk_female")};
}

}  // namespace

Result<TtsStream> TtsStream::start(const Model& model, const TtsRequest& request,
                                   const SpeechRun& run) {
  RILL_RETURN_IF_ERROR(check_can_speak(model));
  RILL_RETURN_IF_ERROR(check_speech_language(model, request.options.language));
  TtsStream stream(model);
  stream.run_ = run;
  stream.options_ = request.options;
  RILL_ASSIGN_OR_RETURN(stream.voice_, choose_voice(model, request.voice));
  const bool japanese = model.language() == Language::kJapanese;
  const TextChunkMode mode = request.options.text_chunk_mode.value_or(
      japanese ? TextChunkMode::kJapanese : TextChunkMode::kDefault);
  RILL_ASSIGN_OR_RETURN(stream.chunks_,
                        split_text(request.text, mode, request.options.text_chunk_size));
  if (stream.chunks_.empty())
    return Error{ErrorCode::kInvalidArgument, "LFM2-Audio TTS requires text_input"};
  stream.seed_ = request.options.seed ? *request.options.seed : random_seed();
  return stream;
}

Status TtsStream::write_text(ops::Context& context, session::Sequence& sequence) const {
  for (size_t i = 0; i <= kMaxTextTokens; ++i) {
    RILL_ASSIGN_OR_RETURN(const auto logits, sequence.logits(context));
    const auto token = static_cast<int32_t>(ops::argmax(logits));
    if (token == model_->special_ids().im_end) {
      return Error{ErrorCode::kInternal, "LFM2-Audio ended the turn without speech"};
    }
    RILL_RETURN_IF_ERROR(sequence.append_token(context, token));
    if (token == model_->special_ids().audio_start) return {};
  }
  return Error{ErrorCode::kInternal, "LFM2-Audio wrote text instead of starting speech"};
}

Status TtsStream::begin_turn(ops::Context& context) {
  const auto& speech = *model_->speech();
  RILL_ASSIGN_OR_RETURN(const auto prompt,
                        model::lfm2_audio::tts_prompt(model_->tokenizer(), model_->language(),
                                                      voice_, chunks_[next_chunk_]));
  RILL_ASSIGN_OR_RETURN(auto sequence, session::Sequence::create(model_->backbone(), DType::kF32));
  const size_t wanted =
      prompt.size() + kMaxTextTokens + std::min(options_.max_tokens, kReservedFrames);
  RILL_RETURN_IF_ERROR(sequence.reserve(std::min(wanted, sequence.room())));
  RILL_RETURN_IF_ERROR(sequence.append_tokens(context, prompt, run_.cancel));
  prompt_steps_ += prompt.size();
  RILL_RETURN_IF_ERROR(write_text(context, sequence));
  RILL_ASSIGN_OR_RETURN(
      auto picker, FramePicker::create(speech, audio_sampler(options_.temperature, options_.top_k,
                                                             seed_ + next_chunk_)));
  RILL_ASSIGN_OR_RETURN(
      auto writer, SpeechWriter::create(speech.detokenizer(), options_.stream_frames_per_event));
  turn_.emplace(Turn{std::move(sequence), std::move(picker), std::move(writer)});
  ++next_chunk_;
  return {};
}

Status TtsStream::end_turn(ops::Context& context, bool cut_off) {
  RILL_RETURN_IF_ERROR(turn_->writer.finish(context));
  if (turn_->writer.num_frames() == 0) {
    return Error{
        ErrorCode::kInternal,
        cut_off ? "LFM2-Audio reached max_tokens before any speech for the text; raise max_tokens"
                : "LFM2-Audio produced no speech for the text"};
  }
  if (!cut_off) return {};
  truncated_ = true;
  if (run_.logger != nullptr) {
    const std::string what =
        chunks_.size() == 1 ? "the speech"
                            : cat("the speech of text chunk ", next_chunk_, " of ", chunks_.size());
    run_.logger->log(
        LogLevel::kWarning, "[lfm2_audio] ", what, " reached max_tokens=", options_.max_tokens,
        " and is cut off there; raise max_tokens or lower text_chunk_size for the rest");
  }
  return {};
}

Status TtsStream::step(ops::Context& context, bool& event_ready) {
  RILL_ASSIGN_OR_RETURN(const Frame frame, turn_->picker.pick(context, turn_->sequence.hidden()));
  if (frame.kind == FrameKind::kEnd) {
    turn_->ended = true;
    return {};
  }
  ++frames_;
  ++turn_->counted_frames;
  if (frame.kind == FrameKind::kSpoken) {
    RILL_ASSIGN_OR_RETURN(event_ready, turn_->writer.push(context, frame.codes));
  }
  if (turn_->counted_frames == options_.max_tokens) {
    turn_->ended = true;  // without looking whether the next frame would have been the end
    return {};
  }
  std::vector<float> row(model_->backbone().config().hidden_size);
  RILL_RETURN_IF_ERROR(model_->speech()->embed_frame(context, frame.codes, row));
  const session::StepInput input = session::StepInput::of_row(row);
  return turn_->sequence.append(context, {&input, 1}, run_.cancel);
}

Result<std::optional<SpeechEvent>> TtsStream::next(ops::Context& context) {
  while (true) {
    if (run_.cancel != nullptr && run_.cancel->load())
      return Error{ErrorCode::kCancelled, "speak: cancelled"};
    if (!turn_) {
      if (next_chunk_ == chunks_.size()) return std::optional<SpeechEvent>();
      RILL_RETURN_IF_ERROR(begin_turn(context));
    }
    if (turn_->ended) {
      RILL_RETURN_IF_ERROR(end_turn(context, turn_->counted_frames == options_.max_tokens));
      RILL_ASSIGN_OR_RETURN(std::vector<float> tail, turn_->writer.take_pcm(context));
      turn_.reset();
      return std::optional<SpeechEvent>(SpeechEvent{{}, std::move(tail)});
    }
    bool event_ready = false;
    RILL_RETURN_IF_ERROR(step(context, event_ready));
    // What is left of an unfinished event goes out before the chunk's last 20 ms.
    if (event_ready || (turn_->ended && turn_->writer.has_pcm())) {
      RILL_ASSIGN_OR_RETURN(std::vector<float> pcm, turn_->writer.take_pcm(context));
      return std::optional<SpeechEvent>(SpeechEvent{{}, std::move(pcm)});
    }
  }
}

}  // namespace rill::tasks
