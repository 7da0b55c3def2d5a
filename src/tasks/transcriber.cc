// SPDX-License-Identifier: Apache-2.0
#include "tasks/transcriber.h"

#include <algorithm>
#include <cstdio>
#include <utility>

#include "audio/log_mel.h"
#include "base/str_cat.h"
#include "session/generator.h"
#include "session/sequence.h"

namespace rill::tasks {
namespace {

using model::lfm2_audio::Model;

// Room for a reply that is made before decoding starts; a longer one grows block by block.
constexpr size_t kReservedReplySteps = 512;
// Latest tokens of the text so far that prompt lookup searches, about ten minutes of speech: a
// longer search would cost more than a rare guess saves.
constexpr size_t kLookupTokens = 2048;
// About where the time of a chunk goes: encoder and prefill, then decoding.
constexpr double kPrefilledPart = 0.6;

double seconds_of(int64_t samples) { return static_cast<double>(samples) / kModelSampleRateHz; }

Status check_language(const Model& model, const std::string& language) {
  const std::string_view own = model::lfm2_audio::language_code(model.language());
  if (language.empty() || language == "auto" || language == own) return {};
  return Error{ErrorCode::kInvalidArgument,
               cat("this LFM2-Audio checkpoint transcribes ", own, ", not ", printable(language))};
}

/// Digital silence has no speech, but its features (all zeros) can make the model invent some.
bool is_silent(std::span<const float> samples) {
  return std::all_of(samples.begin(), samples.end(), [](float s) { return s == 0.0f; });
}

/// A sequence that holds the transcription prompt of one chunk.
Result<session::Sequence> prefill(const Model& model, ops::Context& context,
                                  std::span<const float> samples, const AsrRun& run) {
  RILL_ASSIGN_OR_RETURN(const Tensor mel, audio::log_mel(samples, model.log_mel_config()));
  const size_t steps = model::conformer::num_steps(mel.rows());
  RILL_ASSIGN_OR_RETURN(Tensor speech,
                        Tensor::create(steps, model.backbone().config().hidden_size));
  RILL_RETURN_IF_ERROR(model.embed_speech(context, mel.mat(), speech.mat()));
  RILL_ASSIGN_OR_RETURN(const auto ids,
                        model::lfm2_audio::asr_prompt(model.tokenizer(), model.language(), steps));
  std::vector<session::StepInput> prompt;
  prompt.reserve(ids.size());
  size_t row = 0;
  for (const int32_t id : ids) {
    const bool audio_step = id == model::lfm2_audio::kAudioStep;
    prompt.push_back(audio_step
                         ? session::StepInput::of_row({speech.mat().row(row++), speech.cols()})
                         : session::StepInput::of_token(id));
  }
  RILL_ASSIGN_OR_RETURN(auto sequence, session::Sequence::create(model.backbone(), DType::kF32));
  RILL_RETURN_IF_ERROR(
      sequence.reserve(std::min(prompt.size() + kReservedReplySteps, sequence.room())));
  RILL_RETURN_IF_ERROR(sequence.append(context, prompt, run.cancel));
  return sequence;
}

std::vector<int32_t> stop_ids(const Model& model) {
  std::vector<int32_t> ids = model.tokenizer().end_of_generation_ids();
  ids.push_back(model.special_ids().im_end);
  ids.push_back(model.special_ids().audio_start);
  return ids;
}

struct ChunkOutcome {
  TranscriptSegment segment;
  session::StopReason stop_reason = session::StopReason::kStopToken;
  size_t prompt_steps = 0;
  size_t guessed_tokens = 0;
};

/// What transcribes a chunk besides its samples.
struct ChunkWork {
  const AsrOptions& options;
  const AsrRun& run;
  ChunkProgress progress;
  std::vector<int32_t> heard_before;  // for prompt lookup
};

/// Greedy transcription of one chunk.
Result<ChunkOutcome> transcribe_chunk(const Model& model, ops::Context& context,
                                      std::span<const float> samples, const ChunkWork& work) {
  ChunkOutcome outcome;
  // A cut can leave less than a frame of padding.
  if (samples.size() < kMinAudioSamples || is_silent(samples)) return outcome;
  RILL_ASSIGN_OR_RETURN(auto sequence, prefill(model, context, samples, work.run));
  outcome.prompt_steps = sequence.position();
  work.progress.report(work.run, kPrefilledPart);
  session::GenerateOptions generate;
  generate.max_tokens = work.options.max_tokens;
  generate.stop_ids = stop_ids(model);
  generate.cancel = work.run.cancel;
  generate.prompt_lookup = work.options.prompt_lookup;
  RILL_ASSIGN_OR_RETURN(session::Reply reply,
                        session::generate(context, sequence, generate, work.heard_before));
  outcome.stop_reason = reply.stop_reason;
  outcome.guessed_tokens = reply.num_guessed;
  outcome.segment.text = std::string(trim_ascii(
      model.tokenizer().decode(reply.tokens, /*skip_special=*/true, text::OpenCharacter::kDrop)));
  outcome.segment.tokens = std::move(reply.tokens);
  outcome.segment.truncated = reply.stop_reason == session::StopReason::kMaxTokens ||
                              reply.stop_reason == session::StopReason::kContextFull;
  return outcome;
}

void warn_truncated(const AsrRun& run, const audio::SampleRange& chunk, size_t max_tokens) {
  if (run.logger == nullptr) return;
  char span[64];
  std::snprintf(span, sizeof span, "%.1f-%.1f", seconds_of(chunk.begin), seconds_of(chunk.end));
  run.logger->log(LogLevel::kWarning, "[lfm2_audio] the transcript of ", span,
                  " s reached max_tokens=", max_tokens,
                  " and is cut off there; raise max_tokens for the rest");
}

}  // namespace

Transcriber::Transcriber(const Model& model, const AsrOptions& options, const AsrRun& run)
    : model_(&model), options_(options), run_(run) {
  transcript_.language = std::string(model::lfm2_audio::language_code(model.language()));
}

Result<Transcriber> Transcriber::create(const Model& model, const AsrOptions& options,
                                        const AsrRun& run) {
  RILL_RETURN_IF_ERROR(check_language(model, options.language));
  return Transcriber(model, options, run);
}

std::vector<int32_t> Transcriber::heard_before() const {
  if (options_.prompt_lookup == 0) return {};
  // The end of a turn before each piece tells the lookup where a transcript begins.
  const int32_t boundary = model_->special_ids().im_end;
  size_t first = transcript_.segments.size();
  for (size_t tokens = 0; first > 0 && tokens < kLookupTokens; --first)
    tokens += transcript_.segments[first - 1].tokens.size();
  std::vector<int32_t> heard;
  const auto add = [&](const std::vector<int32_t>& tokens) {
    heard.push_back(boundary);
    heard.insert(heard.end(), tokens.begin(), tokens.end());
  };
  for (size_t i = first; i < transcript_.segments.size(); ++i) add(transcript_.segments[i].tokens);
  add(last_preview_);
  if (!last_preview_.empty()) heard.push_back(boundary);
  return heard;
}

bool Transcriber::is_cancelled() const { return run_.cancel != nullptr && run_.cancel->load(); }

Result<bool> Transcriber::add(ops::Context& context, const AudioChunk& chunk,
                              const ChunkProgress& progress) {
  progress.report(run_, 0.0);
  auto outcome = is_cancelled() ? Error{ErrorCode::kCancelled, "transcribe: cancelled"}
                                : transcribe_chunk(*model_, context, chunk.samples,
                                                   {options_, run_, progress, heard_before()});
  const bool was_cancelled = outcome ? outcome->stop_reason == session::StopReason::kCancelled
                                     : outcome.error().code == ErrorCode::kCancelled;
  if (was_cancelled) {
    transcript_.stop_reason = StopReason::kCancelled;
    return false;
  }
  if (!outcome) return std::move(outcome).error();
  TranscriptSegment& segment = outcome->segment;
  segment.start_s = seconds_of(chunk.speech.begin);
  segment.end_s = seconds_of(chunk.speech.end);
  if (segment.truncated) {
    warn_truncated(run_, chunk.range, options_.max_tokens);
    transcript_.stop_reason = StopReason::kMaxTokens;
  }
  transcript_.prompt_steps += outcome->prompt_steps;
  transcript_.generated_tokens += segment.tokens.size();
  transcript_.guessed_tokens += outcome->guessed_tokens;
  transcript_.segments.push_back(std::move(segment));
  last_preview_.clear();
  progress.report(run_, 1.0);
  return true;
}

Result<TranscriptSegment> Transcriber::preview(ops::Context& context, const AudioChunk& chunk) {
  AsrRun quiet;
  quiet.cancel = run_.cancel;
  RILL_ASSIGN_OR_RETURN(auto outcome, transcribe_chunk(*model_, context, chunk.samples,
                                                       {options_, quiet, {}, heard_before()}));
  last_preview_ = outcome.segment.tokens;
  outcome.segment.start_s = seconds_of(chunk.speech.begin);
  outcome.segment.end_s = seconds_of(chunk.speech.end);
  return std::move(outcome.segment);
}

Transcript Transcriber::finish(int64_t num_samples) const {
  Transcript transcript = transcript_;
  transcript.audio_s = seconds_of(num_samples);
  transcript.text = join_transcripts(transcript.segments);
  if (transcript.text.empty() && transcript.stop_reason == StopReason::kEos)
    transcript.stop_reason = StopReason::kNoSpeech;
  return transcript;
}

}  // namespace rill::tasks
