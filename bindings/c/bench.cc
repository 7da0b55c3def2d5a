// SPDX-License-Identifier: Apache-2.0
// Measuring speed.
#include "measure/speed.h"
#include "objects.h"

using namespace rill;
using namespace rill::c_api;

extern "C" {

rill_status rill_bench(rill_engine* engine, const rill_bench_options* options, rill_string** json,
                       rill_error** error) {
  if (engine == nullptr || options == nullptr || options->model == nullptr || json == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "bench: engine, options, model or json is NULL",
                error);
  }
  measure::SpeedOptions run;
  run.model = options->model;
  run.prefill.assign(options->prefill, options->prefill + options->num_prefill);
  run.depths.assign(options->depths, options->depths + options->num_depths);
  run.decode = options->num_depths > 0 ? options->decode : 0;
  run.repeat = options->repeat;
  run.audio_seconds = options->audio_seconds;
  run.frames = options->frames;
  run.kv_type = options->kv_f32 != 0 ? DType::kF32 : DType::kF16;
  run.repack = options->no_repack == 0;
  run.check = options->no_check == 0;
  if (options->struct_size >= sizeof *options) run.prompt_lookup = options->prompt_lookup;
  Arena scratch;
  ops::Context context = engine->context(scratch);
  const std::lock_guard<std::mutex> turn(engine->compute);
  auto report = measure::measure_speed(context, run);
  if (!report) return fail(std::move(report).error(), error);
  *json = new rill_string{report->dump()};
  return RILL_OK;
}

}  // extern "C"
