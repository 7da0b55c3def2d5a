// SPDX-License-Identifier: Apache-2.0
// GGUF files of a text set: their types as read, and their products as computed.
#include <algorithm>

#include "base/str_cat.h"
#include "model/lfm2/load.h"
#include "ops/elementwise.h"
#include "session/sequence.h"
#include "verify/capture.h"
#include "verify/set_files.h"
#include "verify/text_models.h"
#include "verify/text_runs.h"

namespace rill::verify {
namespace {

using model::lfm2::Backbone;
using session::Sequence;

/// How far one quantized product may be from the same product in F32, by the coarsest type in the
/// file.
struct QuantizedLimits {
  double product;
  double tie;
};

QuantizedLimits limits_of(const TensorMap& tensors, const Tolerances& tolerances) {
  QuantizedLimits limits{tolerances.hidden, 0};
  for (const NamedTensor& tensor : tensors.all()) {
    if (!is_quantized(tensor.view.dtype)) continue;
    const bool q8 = tensor.view.dtype == DType::kQ8_0;
    limits.product = std::max(limits.product, q8 ? tolerances.q8_0 : tolerances.q4);
    limits.tie = std::max(limits.tie, q8 ? tolerances.q8_0_tie : tolerances.q4_tie);
  }
  return limits;
}

/// Steps of the reference's reply where this engine, fed the same tokens, clearly prefers another
/// token.
Result<size_t> count_reply_misses(ops::Context& context, const Backbone& backbone,
                                  std::span<const int32_t> prompt, std::span<const int32_t> reply,
                                  double tie) {
  RILL_ASSIGN_OR_RETURN(Sequence sequence, Sequence::create(backbone, DType::kF32));
  RILL_RETURN_IF_ERROR(sequence.append_tokens(context, prompt));
  size_t misses = 0;
  for (int32_t token : reply) {
    RILL_ASSIGN_OR_RETURN(const auto logits, sequence.logits(context));
    const size_t best = ops::argmax(logits);
    const auto expected = static_cast<size_t>(token);
    if (expected >= logits.size()) return logits.size();
    const double gap = static_cast<double>(logits[best]) - static_cast<double>(logits[expected]);
    if (best != expected && gap >= tie) ++misses;
    RILL_RETURN_IF_ERROR(sequence.append_token(context, token));
  }
  return misses;
}

/// A GGUF of the set: its prompt and the reference's reply.
struct GgufCase {
  std::vector<int32_t> prompt;
  std::vector<int32_t> reply;
  ExpectedTensor logits;
};

struct PromptRun {
  Capture stages;
  Tensor logits;
};

Result<PromptRun> run_prompt(ops::Context& context, const Backbone& backbone,
                             std::span<const int32_t> prompt) {
  PromptRun run;
  const Trace trace = run.stages.trace();
  RILL_ASSIGN_OR_RETURN(auto state,
                        model::lfm2::SequenceState::create(backbone.config(), DType::kF32));
  RILL_ASSIGN_OR_RETURN(run.logits, prompt_logits(context, backbone, prompt, state, &trace));
  return run;
}

/// The file's weights widened to F32: that every type and tensor is read as the reference reads it.
Status verify_widened(Run& run, const format::GgufFile& file, const GgufCase& expected,
                      Report& report) {
  RILL_ASSIGN_OR_RETURN(
      const auto backbone,
      model::lfm2::load_gguf(file, {.form = model::lfm2::MatrixForm::kWidened}, *run.context.pool));
  RILL_ASSIGN_OR_RETURN(const PromptRun prompt,
                        run_prompt(run.context, *backbone, expected.prompt));
  report.floats("widened.logits", prompt.logits.mat(), expected.logits.values,
                run.tolerances.hidden);
  RILL_ASSIGN_OR_RETURN(const GreedyRun greedy,
                        run_greedy(run.context, *backbone, expected.prompt, expected.reply.size()));
  report.ids("widened.greedy", greedy.tokens, expected.reply);
  return {};
}

/// Positions of the prompt whose best token is another than the reference's, unless its best two
/// logits are a near-tie.
size_t count_top1_misses(ConstMat got, std::span<const float> want, double tie) {
  size_t misses = 0;
  for (size_t t = 0; t < got.rows; ++t) {
    const std::span<const float> reference = want.subspan(t * got.cols, got.cols);
    const size_t best = ops::argmax({got.row(t), got.cols});
    const size_t expected = ops::argmax(reference);
    const double gap =
        static_cast<double>(reference[expected]) - static_cast<double>(reference[best]);
    if (best != expected && gap >= tie) ++misses;
  }
  return misses;
}

/// The weights as they are stored, with activations of 8 bits: the first product and the head,
/// whose inputs are the same on both sides, then the whole network.
Status verify_quantized(Run& run, const format::GgufFile& file, const GgufCase& expected,
                        Report& report) {
  const QuantizedLimits limits = limits_of(file.tensors(), run.tolerances);
  RILL_ASSIGN_OR_RETURN(
      const auto wide,
      model::lfm2::load_gguf(file, {.form = model::lfm2::MatrixForm::kWidened}, *run.context.pool));
  RILL_ASSIGN_OR_RETURN(const auto stored, model::lfm2::load_gguf(file, {}, *run.context.pool));
  RILL_ASSIGN_OR_RETURN(const PromptRun want, run_prompt(run.context, *wide, expected.prompt));
  RILL_ASSIGN_OR_RETURN(const PromptRun got, run_prompt(run.context, *stored, expected.prompt));
  for (const char* first : {"layer0.conv_BCx", "layer0.q_normed"}) {
    const Capture::Stage* a = got.stages.find(first);
    const Capture::Stage* b = want.stages.find(first);
    if (a != nullptr && b != nullptr) report.floats(first, a->values, b->values, limits.product);
  }
  const Capture::Stage* hidden = want.stages.find("final_norm");
  RILL_ASSIGN_OR_RETURN(Tensor head, Tensor::create(hidden->rows, stored->config().vocab_size));
  RILL_RETURN_IF_ERROR(stored->logits(
      run.context, {hidden->values.data(), hidden->rows, hidden->cols, hidden->cols}, head.mat()));
  report.floats("head", head.mat(), {want.logits.data(), want.logits.rows() * want.logits.cols()},
                limits.product);
  RILL_ASSIGN_OR_RETURN(
      const size_t misses,
      count_reply_misses(run.context, *stored, expected.prompt, expected.reply, limits.tie));
  report.mismatches("greedy", misses,
                    "fed with the reference's reply; near-ties below the stated gap are equal");
  report.floats("logits", got.logits.mat(), expected.logits.values, limits.product);
  if (expected.logits.values.size() == got.logits.rows() * got.logits.cols()) {
    report.mismatches("top1",
                      count_top1_misses(got.logits.mat(), expected.logits.values, limits.tie));
  }
  return {};
}

Status verify_gguf_file(Run& run, const Json& entry, const std::string& file_name, Report& report) {
  RILL_ASSIGN_OR_RETURN(const auto file, format::GgufFile::open(run.set_dir + "/" + file_name));
  RILL_ASSIGN_OR_RETURN(const auto vectors,
                        ExpectedTensors::open(run.set_dir + "/gguf/logits.safetensors"));
  GgufCase expected;
  RILL_ASSIGN_OR_RETURN(expected.prompt, json_ids(entry, "input_ids", file_name));
  RILL_ASSIGN_OR_RETURN(expected.reply, json_ids(entry, "greedy_new_tokens", file_name));
  RILL_ASSIGN_OR_RETURN(expected.logits,
                        vectors.floats(file_name.substr(file_name.rfind('/') + 1) + ".logits"));
  if (expected.prompt.empty())
    return Error{ErrorCode::kInvalidFormat, "read set: the prompt is empty"};
  RILL_RETURN_IF_ERROR(verify_widened(run, file, expected, report));
  return verify_quantized(run, file, expected, report);
}

Status verify_gguf_subject(Run& run, const std::string& name, Report& report) {
  RILL_ASSIGN_OR_RETURN(const Json manifest, read_json(run.set_dir + "/gguf/manifest.json"));
  const Json* files = manifest.find("files");
  for (const Json& entry : files->items()) {
    RILL_ASSIGN_OR_RETURN(const std::string file, json_string(entry, "file", "gguf/manifest.json"));
    if (gguf_subject_name(file) == name) return verify_gguf_file(run, entry, file, report);
  }
  return Error{ErrorCode::kNotFound, cat("read set: no GGUF ", name)};
}

}  // namespace

std::string gguf_subject_name(const std::string& file) {
  std::string base = file.substr(file.rfind('/') + 1);
  if (base.ends_with(".gguf")) base.resize(base.size() - 5);
  return "gguf." + base;
}

void verify_gguf(Run& run, const std::string& name, Report& report) {
  Status status = verify_gguf_subject(run, name, report);
  if (!status) report.failed("", std::move(status).error().message);
}

}  // namespace rill::verify
