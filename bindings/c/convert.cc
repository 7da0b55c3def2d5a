// SPDX-License-Identifier: Apache-2.0
// Writing model files: checkpoints to GGUF, GGUF to other types.
#include "convert/convert.h"

#include <algorithm>
#include <cstring>
#include <span>

#include "base/str_cat.h"
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

/// The defaults of rill_convert_options, checked as a model's loader will check them.
Result<std::vector<std::pair<std::string, std::string>>> read_defaults(
    std::span<const rill_option> given) {
  std::vector<std::pair<std::string, std::string>> defaults;
  format::Metadata metadata("convert");
  for (const rill_option& option : given) {
    if (option.key == nullptr || option.value == nullptr) {
      return Error{ErrorCode::kInvalidArgument, "convert: a default has no key or no value"};
    }
    defaults.emplace_back(option.key, option.value);
    metadata.set(cat("rill.generation.", option.key), convert::default_value(option.value));
  }
  auto checked = tasks::read_task_defaults(metadata);
  if (checked) return defaults;
  return Error{ErrorCode::kInvalidArgument, std::move(checked).error().message};
}

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
  auto defaults = read_defaults({given.defaults, given.num_defaults});
  if (!defaults) return fail(std::move(defaults).error(), error);
  run.defaults = std::move(defaults).value();
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
