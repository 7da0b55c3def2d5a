// SPDX-License-Identifier: Apache-2.0
#include "verify/audio_support.h"

#include <cstring>

#include "audio/log_mel.h"
#include "model/conformer/config.h"
#include "ops/elementwise.h"
#include "session/sequence.h"
#include "verify/audio_frontend.h"

namespace rill::verify {
namespace {

using session::Sequence;
using session::StepInput;

/// Prompt rows [T, D]: token embeddings, and `speech` rows at the audio positions.
Result<Tensor> prompt_rows(const Model& model, std::span<const int32_t> ids, const Tensor& speech) {
  const size_t width = model.backbone().config().hidden_size;
  RILL_ASSIGN_OR_RETURN(Tensor rows, Tensor::create(ids.size(), width));
  size_t next_speech = 0;
  for (size_t t = 0; t < ids.size(); ++t) {
    float* row = rows.mat().row(t);
    if (ids[t] == model::lfm2_audio::kAudioStep) {
      std::memcpy(row, speech.mat().row(next_speech++), width * sizeof(float));
    } else {
      RILL_RETURN_IF_ERROR(model.backbone().embed(ids[t], {row, width}));
    }
  }
  return rows;
}

}  // namespace

void report_failure(Status status, Report& report) {
  if (!status) report.failed("", std::move(status).error().message);
}

Result<Tensor> features_of(const Run& run, const std::string& clip) {
  const std::string path = vectors_path(run, "features");
  if (is_file(path)) {
    RILL_ASSIGN_OR_RETURN(const auto vectors, ExpectedTensors::open(path));
    if (vectors.has(clip)) {
      RILL_ASSIGN_OR_RETURN(const ExpectedTensor stored, vectors.floats(clip));
      const size_t mels = stored.shape.rows();
      const size_t frames = stored.shape.cols();
      RILL_ASSIGN_OR_RETURN(Tensor mel, Tensor::create(frames, mels));
      for (size_t f = 0; f < frames; ++f) {
        for (size_t m = 0; m < mels; ++m) mel.mat().row(f)[m] = stored.values[m * frames + f];
      }
      return mel;
    }
  }
  RILL_ASSIGN_OR_RETURN(const auto samples, read_clip(run, clip));
  return audio::log_mel(samples);
}

Result<Tensor> embed_clip(Run& run, const Model& model, const Tensor& mel, const Trace* trace) {
  RILL_ASSIGN_OR_RETURN(Tensor speech, Tensor::create(model::conformer::num_steps(mel.rows()),
                                                      model.backbone().config().hidden_size));
  RILL_RETURN_IF_ERROR(model.embed_speech(run.context, mel.mat(), speech.mat(), trace));
  return speech;
}

Result<AsrOutcome> run_asr(Run& run, const Model& model, const std::string& clip, Language language,
                           std::span<const int32_t> expected) {
  AsrOutcome out;
  RILL_ASSIGN_OR_RETURN(const auto samples, read_clip(run, clip));
  RILL_ASSIGN_OR_RETURN(const Tensor mel, audio::log_mel(samples, model.log_mel_config()));
  RILL_ASSIGN_OR_RETURN(const Tensor speech, embed_clip(run, model, mel, nullptr));
  RILL_ASSIGN_OR_RETURN(const auto ids,
                        model::lfm2_audio::asr_prompt(model.tokenizer(), language, speech.rows()));
  RILL_ASSIGN_OR_RETURN(out.prefill_in, prompt_rows(model, ids, speech));
  const auto& backbone = model.backbone();
  RILL_ASSIGN_OR_RETURN(out.prefill_out, Tensor::create(ids.size(), backbone.config().hidden_size));
  RILL_ASSIGN_OR_RETURN(auto state,
                        model::lfm2::SequenceState::create(backbone.config(), DType::kF32));
  RILL_RETURN_IF_ERROR(
      backbone.forward(run.context, out.prefill_in.mat(), state, out.prefill_out.mat()));

  RILL_ASSIGN_OR_RETURN(auto sequence, Sequence::create(backbone, DType::kF32));
  std::vector<StepInput> steps;
  for (size_t t = 0; t < ids.size(); ++t) {
    steps.push_back(StepInput::of_row({out.prefill_in.mat().row(t), out.prefill_in.cols()}));
  }
  RILL_RETURN_IF_ERROR(sequence.append(run.context, steps));
  for (size_t i = 0; i <= expected.size(); ++i) {
    RILL_ASSIGN_OR_RETURN(const auto logits, sequence.logits(run.context));
    out.step_logits.insert(out.step_logits.end(), logits.begin(), logits.end());
    out.tokens.push_back(static_cast<int32_t>(ops::argmax(logits)));
    if (i < expected.size()) RILL_RETURN_IF_ERROR(sequence.append_token(run.context, expected[i]));
  }
  return out;
}

std::vector<int32_t> without_end(const Model& model, std::vector<int32_t> ids) {
  if (!ids.empty() && ids.back() == model.special_ids().im_end) ids.pop_back();
  return ids;
}

}  // namespace rill::verify
