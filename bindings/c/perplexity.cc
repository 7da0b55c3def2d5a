// SPDX-License-Identifier: Apache-2.0
// Perplexity of a model, and its distance from another one.
#include "measure/perplexity.h"

#include <algorithm>
#include <cstring>

#include "objects.h"

using namespace rill;
using namespace rill::c_api;

namespace {

measure::PerplexityOptions run_options(const rill_perplexity_options& given) {
  rill_perplexity_options full = {};
  std::memcpy(&full, &given, std::min(given.struct_size, sizeof full));
  measure::PerplexityOptions run;
  run.model = full.model;
  run.text.assign(full.text, full.text_size);
  if (full.reference != nullptr) run.reference = full.reference;
  if (full.logits_path != nullptr) run.logits_path = full.logits_path;
  run.text_is_ids = full.text_is_ids != 0;
  if (full.window != 0) run.window = full.window;
  run.stride = full.stride;
  run.max_windows = full.max_windows;
  run.kv_type = full.kv_f16 != 0 ? DType::kF16 : DType::kF32;
  if (full.progress != nullptr) {
    run.progress = [tell = full.progress, user = full.progress_user](double done) {
      return tell(user, done) != 0;
    };
  }
  return run;
}

}  // namespace

extern "C" {

rill_status rill_perplexity(rill_engine* engine, const rill_perplexity_options* options,
                            rill_string** json, rill_error** error) {
  if (engine == nullptr || options == nullptr || options->model == nullptr ||
      options->text == nullptr || json == nullptr) {
    return fail(ErrorCode::kInvalidArgument,
                "perplexity: engine, options, model, text or json is NULL", error);
  }
  Arena scratch;
  ops::Context context = engine->context(scratch);
  const std::lock_guard<std::mutex> turn(engine->compute);
  auto report = measure::measure_perplexity(context, run_options(*options));
  if (!report) return fail(std::move(report).error(), error);
  *json = new rill_string{report->dump()};
  return RILL_OK;
}

}  // extern "C"
