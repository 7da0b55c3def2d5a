// SPDX-License-Identifier: Apache-2.0
// What a model needs, without loading it.
#include "inspect/memory_plan.h"
#include "inspect/render.h"
#include "objects.h"

using namespace rill;
using namespace rill::c_api;

extern "C" {

rill_status rill_plan(rill_engine* engine, const char* path, const char* plan, int32_t as_json,
                      rill_string** text, rill_error** error) {
  if (engine == nullptr || path == nullptr || plan == nullptr || text == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "plan: engine, path, plan or text is NULL", error);
  }
  const auto options = inspect::parse_plan_options(plan);
  if (!options) return fail(Error(options.error()), error);
  auto report = inspect::plan_path(path, *options, engine->pool->num_threads());
  if (!report) return fail(std::move(report).error(), error);
  *text = new rill_string{as_json != 0 ? report->dump() : inspect::render_text(*report)};
  return RILL_OK;
}

}  // extern "C"
