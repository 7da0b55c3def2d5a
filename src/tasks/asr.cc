// SPDX-License-Identifier: Apache-2.0
#include "tasks/asr.h"

#include <algorithm>
#include <chrono>
#include <cstdio>
#include <utility>

#include "audio/chunk_plan.h"
#include "audio/log_mel.h"
#include "base/str_cat.h"
#include "session/generator.h"
#include "session/sequence.h"

namespace rill::tasks {
namespace {

using audio::SampleRange;
using model::lfm2_audio::Model;

constexpr double kDefaultChunkDurationS = 30.0;
// Room for a reply that is made before decoding starts; a longer one grows block by block.
constexpr size_t kReservedReplySteps = 512;

double seconds_of(int64_t samples) { return static_cast<double>(samples) / kModelSampleRateHz; }

Status check_language(const Model& model, const std::string& language) {
  const std::string_view own = model::lfm2_audio::language_code(model.language());
  if (language.empty() || language == "auto" || language == own) return {};
  return Error{ErrorCode::kInvalidArgument,
               cat("this LFM2-Audio checkpoint transcribes ", own, ", not ", printable(language))};
}

/// The pieces that go through the encoder one by one. Source: spec: audio, sections 17 and 18.1.
Result<std::vector<SampleRange>> plan_chunks(size_t num_samples, const AsrOptions& options,
                                             double limit_s) {
  const SampleRange whole{0, static_cast<int64_t>(num_samples)};
  if (options.audio_chunk_mode == AudioChunkMode::kNone) {
    RILL_RETURN_IF_ERROR(check_pass_limit(num_samples, limit_s, "the audio",
                                          "transcribe it in chunks with audio_chunk_mode=fixed"));
    return std::vector<SampleRange>{whole};
  }
  const double chunk_s =
      options.audio_chunk_duration_s.value_or(std::min(kDefaultChunkDurationS, limit_s));
  const size_t chunk_samples = samples_of_seconds(chunk_s);
  RILL_RETURN_IF_ERROR(check_pass_limit(std::min(num_samples, chunk_samples), limit_s,
                                        "the audio chunk", "lower audio_chunk_duration_sec"));
  if (num_samples <= chunk_samples) return std::vector<SampleRange>{whole};
  return audio::plan_fixed_chunks(whole.end, static_cast<int64_t>(chunk_samples));
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
};

/// How far the whole run is, as its chunks tell it.
struct Progress {
  const AsrRun& run;
  double done_before;  // part of the audio in earlier chunks
  double part;         // part of the audio in this chunk

  /// `within` is the part of the chunk's work that is done.
  void report(double within) const {
    if (run.progress != nullptr) run.progress(run.progress_user, done_before + part * within);
  }
};
// About where the time of a chunk goes: encoder and prefill, then decoding.
constexpr double kPrefilledPart = 0.6;

/// Greedy transcription of one chunk.
Result<ChunkOutcome> transcribe_chunk(const Model& model, ops::Context& context,
                                      std::span<const float> samples, const AsrOptions& options,
                                      const AsrRun& run, const Progress& progress) {
  ChunkOutcome outcome;
  if (is_silent(samples)) return outcome;
  RILL_ASSIGN_OR_RETURN(auto sequence, prefill(model, context, samples, run));
  outcome.prompt_steps = sequence.position();
  progress.report(kPrefilledPart);
  session::GenerateOptions generate;
  generate.max_tokens = options.max_tokens;
  generate.stop_ids = stop_ids(model);
  generate.cancel = run.cancel;
  RILL_ASSIGN_OR_RETURN(session::Reply reply, session::generate(context, sequence, generate));
  outcome.stop_reason = reply.stop_reason;
  outcome.segment.text = std::string(trim_ascii(
      model.tokenizer().decode(reply.tokens, /*skip_special=*/true, text::OpenCharacter::kDrop)));
  outcome.segment.tokens = std::move(reply.tokens);
  outcome.segment.truncated = reply.stop_reason == session::StopReason::kMaxTokens ||
                              reply.stop_reason == session::StopReason::kContextFull;
  return outcome;
}

void warn_truncated(const AsrRun& run, const TranscriptSegment& segment, size_t max_tokens) {
  if (run.logger == nullptr) return;
  char span[64];
  std::snprintf(span, sizeof span, "%.1f-%.1f", segment.start_s, segment.end_s);
  run.logger->log(LogLevel::kWarning, "[lfm2_audio] the transcript of ", span,
                  " s reached max_tokens=", max_tokens,
                  " and is cut off there; raise max_tokens for the rest");
}

std::span<const float> samples_of(std::span<const float> samples, const SampleRange& chunk) {
  return samples.subspan(static_cast<size_t>(chunk.begin),
                         static_cast<size_t>(chunk.end - chunk.begin));
}

bool cancelled(const AsrRun& run) { return run.cancel != nullptr && run.cancel->load(); }

/// Transcribes the chunks in order into `transcript`. Errors of a chunk after the first keep
/// nothing.
Status transcribe_chunks(const Model& model, ops::Context& context, std::span<const float> samples,
                         const std::vector<SampleRange>& chunks, const AsrOptions& options,
                         const AsrRun& run, Transcript& transcript) {
  const auto total = static_cast<double>(samples.size());
  for (const SampleRange& chunk : chunks) {
    const Progress progress{run, static_cast<double>(chunk.begin) / total,
                            static_cast<double>(chunk.length()) / total};
    progress.report(0.0);
    auto outcome = cancelled(run) ? Error{ErrorCode::kCancelled, "transcribe: cancelled"}
                                  : transcribe_chunk(model, context, samples_of(samples, chunk),
                                                     options, run, progress);
    const bool was_cancelled = outcome ? outcome->stop_reason == session::StopReason::kCancelled
                                       : outcome.error().code == ErrorCode::kCancelled;
    if (was_cancelled) {
      if (transcript.segments.empty()) return Error{ErrorCode::kCancelled, "transcribe: cancelled"};
      transcript.stop_reason = StopReason::kCancelled;
      return {};
    }
    if (!outcome) return std::move(outcome).error();
    TranscriptSegment& segment = outcome->segment;
    segment.start_s = seconds_of(chunk.begin);
    segment.end_s = seconds_of(chunk.end);
    if (segment.truncated) {
      warn_truncated(run, segment, options.max_tokens);
      transcript.stop_reason = StopReason::kMaxTokens;
    }
    transcript.prompt_steps += outcome->prompt_steps;
    transcript.generated_tokens += segment.tokens.size();
    transcript.segments.push_back(std::move(segment));
    progress.report(1.0);
  }
  return {};
}

}  // namespace

Result<Transcript> transcribe_samples(const Model& model, ops::Context& context,
                                      std::span<const float> samples, const AsrOptions& options,
                                      const AsrRun& run) {
  const auto start = std::chrono::steady_clock::now();
  RILL_RETURN_IF_ERROR(check_language(model, options.language));
  if (samples.size() < kMinAudioSamples) {
    return Error{ErrorCode::kInvalidFormat,
                 cat("audio too short: got ", samples.size(),
                     " samples at 16000 Hz, expected at least ", kMinAudioSamples)};
  }
  RILL_ASSIGN_OR_RETURN(const auto chunks,
                        plan_chunks(samples.size(), options, run.max_pass_duration_s));
  Transcript transcript;
  transcript.language = std::string(model::lfm2_audio::language_code(model.language()));
  transcript.audio_s = seconds_of(static_cast<int64_t>(samples.size()));
  RILL_RETURN_IF_ERROR(
      transcribe_chunks(model, context, samples, chunks, options, run, transcript));
  transcript.text = join_transcripts(transcript.segments);
  if (transcript.text.empty() && transcript.stop_reason == StopReason::kEos) {
    transcript.stop_reason = StopReason::kNoSpeech;
  }
  transcript.wall_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return transcript;
}

Result<Transcript> transcribe(const Model& model, ops::Context& context, const AudioInput& audio,
                              const AsrOptions& options, const AsrRun& run) {
  const auto start = std::chrono::steady_clock::now();
  RILL_ASSIGN_OR_RETURN(const std::vector<float> samples, audio.read_mono_16k());
  RILL_ASSIGN_OR_RETURN(Transcript transcript,
                        transcribe_samples(model, context, samples, options, run));
  transcript.wall_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  return transcript;
}

}  // namespace rill::tasks
