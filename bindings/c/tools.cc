// SPDX-License-Identifier: Apache-2.0
// Inspecting files and running conformance sets.
#include <cstddef>
#include <string_view>

#include "base/str_cat.h"
#include "inspect/inspect.h"
#include "objects.h"
#include "verify/verify.h"

using namespace rill;
using namespace rill::c_api;

namespace {

/// Splits "a,b" at commas, leaving out empty parts.
std::vector<std::string> split_names(std::string_view text) {
  std::vector<std::string> names;
  while (!text.empty()) {
    const size_t comma = text.find(',');
    const std::string_view name = text.substr(0, comma);
    if (!name.empty()) names.emplace_back(name);
    text.remove_prefix(comma == std::string_view::npos ? text.size() : comma + 1);
  }
  return names;
}

Result<inspect::InspectOptions> inspect_options(const char* detail) {
  inspect::InspectOptions options;
  if (detail == nullptr) return options;
  options = {.metadata = false, .tensors = false, .json = false};
  for (const std::string& name : split_names(detail)) {
    if (name == "metadata") {
      options.metadata = true;
    } else if (name == "tensors") {
      options.tensors = true;
    } else if (name == "json") {
      options.json = true;
    } else if (name != "summary") {
      return Error{ErrorCode::kInvalidArgument,
                   cat("inspect: detail: got '", printable(name),
                       "', expected summary, metadata, tensors or json")};
    }
  }
  return options;
}

/// What forwards rows to the caller's function.
struct RowForwarder {
  void (*row)(void* user, const rill_verify_row* row);
  void* user;
};

void forward_row(void* user, const verify::Row& row) {
  const auto* forwarder = static_cast<const RowForwarder*>(user);
  const std::string measure(row.measure);
  const std::string verdict(verify::verdict_name(row.verdict));
  const rill_verify_row out = {row.subject.c_str(), row.stage.c_str(), row.worst_error,
                               row.tolerance,       measure.c_str(),   verdict.c_str(),
                               row.note.c_str()};
  forwarder->row(forwarder->user, &out);
}

}  // namespace

extern "C" {

rill_status rill_inspect(rill_engine* engine, const char* path, const char* detail,
                         rill_string** text, rill_error** error) {
  if (engine == nullptr || path == nullptr || text == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "inspect: engine, path or text is NULL", error);
  }
  auto options = inspect_options(detail);
  if (!options) return fail(std::move(options).error(), error);
  auto report = std::string_view(path) == "cpu"
                    ? Result<std::string>(inspect::inspect_cpu(
                          *engine->kernels, engine->pool->num_threads(), *options))
                    : inspect::inspect_path(path, *options);
  if (!report) return fail(std::move(report).error(), error);
  *text = new rill_string{std::move(report).value()};
  return RILL_OK;
}

rill_status rill_verify(rill_engine* engine, const rill_verify_options* options,
                        void (*row)(void* user, const rill_verify_row* row), void* user,
                        size_t* misses, rill_error** error) {
  if (engine == nullptr || options == nullptr || options->set == nullptr || row == nullptr ||
      misses == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "verify: engine, options, set, row or misses is NULL",
                error);
  }
  verify::VerifyOptions run;
  run.set = options->set;
  if (options->only != nullptr) run.only = split_names(options->only);
  if (options->model != nullptr) run.model = options->model;
  if (options->struct_size >= offsetof(rill_verify_options, vad) + sizeof options->vad &&
      options->vad != nullptr) {
    run.vad = &options->vad->network;
  }
  RowForwarder forwarder{row, user};
  Arena scratch;
  ops::Context context = engine->context(scratch);
  const std::lock_guard<std::mutex> turn(engine->compute);
  auto count = verify::verify_set(context, run, {forward_row, &forwarder});
  if (!count) return fail(std::move(count).error(), error);
  *misses = *count;
  return RILL_OK;
}

}  // extern "C"
