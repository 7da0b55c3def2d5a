// SPDX-License-Identifier: Apache-2.0
// Writing model files: checkpoints to GGUF, GGUF to other types.
#include "convert/convert.h"

#include <algorithm>
#include <cstring>

#include "convert/quantize.h"
#include "objects.h"

using namespace rill;
using namespace rill::c_api;

namespace {

/// The caller's options, with zeros for fields that its version of the struct does not have.
template <typename Options>
Options full_options(const Options& options) {
  Options full = {};
  std::memcpy(&full, &options, std::min(options.struct_size, sizeof full));
  return full;
}

std::string text_or_empty(const char* text) { return text == nullptr ? "" : text; }

/// The caller's progress function.
struct ProgressForwarder {
  rill_convert_progress_fn tell;
  void* user;
};

bool forward_progress(void* user, double done) {
  const auto* forwarder = static_cast<const ProgressForwarder*>(user);
  return forwarder->tell == nullptr || forwarder->tell(forwarder->user, done) != 0;
}

rill_status hand_over(Result<convert::Report> result, rill_string** report, rill_error** error) {
  if (!result) return fail(std::move(result).error(), error);
  *report = new rill_string{convert::to_text(*result)};
  return RILL_OK;
}

}  // namespace

extern "C" {

rill_status rill_convert(rill_engine* engine, const rill_convert_options* options,
                         rill_string** report, rill_error** error) {
  if (engine == nullptr || options == nullptr || report == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "convert: engine, options or report is NULL", error);
  }
  const rill_convert_options given = full_options(*options);
  convert::ConvertOptions run;
  run.input = text_or_empty(given.input);
  run.output = text_or_empty(given.output);
  if (given.type != nullptr) {
    const auto type = convert::file_type_by_name(given.type);
    if (!type) return fail(Error(type.error()).with_context("convert"), error);
    run.type = *type;
  }
  run.name = text_or_empty(given.name);
  run.language = text_or_empty(given.language);
  run.tokenizer = text_or_empty(given.tokenizer);
  run.source_repo = text_or_empty(given.source_repo);
  run.source_revision = text_or_empty(given.source_revision);
  run.lean = given.lean != 0;
  run.overwrite = given.overwrite != 0;
  ProgressForwarder forwarder{given.progress, given.progress_user};
  run.progress = {forward_progress, &forwarder};
  const std::lock_guard<std::mutex> turn(engine->compute);
  return hand_over(convert::convert_checkpoint(run, *engine->pool), report, error);
}

rill_status rill_quantize(rill_engine* engine, const rill_quantize_options* options,
                          rill_string** report, rill_error** error) {
  if (engine == nullptr || options == nullptr || report == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "quantize: engine, options or report is NULL", error);
  }
  const rill_quantize_options given = full_options(*options);
  convert::QuantizeOptions run;
  run.input = text_or_empty(given.input);
  run.output = text_or_empty(given.output);
  const auto type = convert::file_type_by_name(text_or_empty(given.type));
  if (!type) return fail(Error(type.error()).with_context("quantize"), error);
  run.type = *type;
  run.allow_requantize = given.allow_requantize != 0;
  run.overwrite = given.overwrite != 0;
  ProgressForwarder forwarder{given.progress, given.progress_user};
  run.progress = {forward_progress, &forwarder};
  const std::lock_guard<std::mutex> turn(engine->compute);
  return hand_over(convert::quantize_model(run, *engine->pool), report, error);
}

}  // extern "C"
