// SPDX-License-Identifier: Apache-2.0
// Subject quant_blocks of a text set.
#include <cstring>

#include "base/str_cat.h"
#include "quant/quantize.h"
#include "verify/set_files.h"
#include "verify/text_data.h"

namespace rill::verify {
namespace {

size_t count_bit_differences(std::span<const float> got, std::span<const float> want) {
  size_t count = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    if (std::memcmp(&got[i], &want[i], sizeof(float)) != 0) ++count;
  }
  return count;
}

Status compare_dequantize(const std::string& type_name, DType type, const ExpectedTensors& vectors,
                          Report& report) {
  RILL_ASSIGN_OR_RETURN(const auto bytes, vectors.bytes(type_name + ".bytes"));
  RILL_ASSIGN_OR_RETURN(const ExpectedTensor want, vectors.floats(type_name + ".f32"));
  const size_t values = bytes.size() / dtype_info(type).block_bytes * dtype_info(type).block_values;
  if (values != want.values.size()) {
    report.failed(type_name,
                  cat("the blocks hold ", values, " values, the reference ", want.values.size()));
    return {};
  }
  std::vector<float> got(values);
  quant::dequantize_row(type, bytes.data(), got);
  report.mismatches(type_name, count_bit_differences(got, want.values));
  return {};
}

Status compare_quantize(const std::string& type_name, DType type, const ExpectedTensors& vectors,
                        Report& report) {
  if (!vectors.has("quantize." + type_name) || !vectors.has("quantize.x")) return {};
  RILL_ASSIGN_OR_RETURN(const ExpectedTensor x, vectors.floats("quantize.x"));
  RILL_ASSIGN_OR_RETURN(const auto want, vectors.bytes("quantize." + type_name));
  const std::string stage = type_name + ".quantize";
  const size_t cols = x.shape.cols();
  if (cols == 0 || cols % dtype_info(type).block_values != 0 ||
      want.size() != x.shape.rows() * row_bytes(type, cols)) {
    report.failed(stage, "the reference bytes do not fit the matrix");
    return {};
  }
  std::vector<std::byte> got(want.size());
  for (size_t r = 0; r < x.shape.rows(); ++r) {
    quant::quantize_row(type, std::span(x.values).subspan(r * cols, cols),
                        got.data() + r * row_bytes(type, cols));
  }
  size_t count = 0;
  for (size_t i = 0; i < got.size(); ++i) count += got[i] != want[i] ? 1 : 0;
  report.mismatches(stage, count);
  return {};
}

Status verify_all_types(Run& run, Report& report) {
  RILL_ASSIGN_OR_RETURN(const Json index, read_json(run.set_dir + "/vectors/quant_blocks.json"));
  RILL_ASSIGN_OR_RETURN(const auto vectors,
                        ExpectedTensors::open(run.set_dir + "/vectors/quant_blocks.safetensors"));
  const Json* types = index.find("types");
  if (types == nullptr || !types->is_object()) {
    return Error{ErrorCode::kInvalidFormat,
                 "read set: vectors/quant_blocks.json: 'types' is missing"};
  }
  for (const auto& [type_name, facts] : types->members()) {
    const Json* number = facts.find("ggml_type");
    const bool valid =
        number != nullptr && number->is_int() && number->as_int() >= 0 && number->as_int() < 1000;
    const auto type =
        valid ? dtype_from_gguf(static_cast<uint32_t>(number->as_int())) : std::nullopt;
    if (!type) {
      report.not_built(type_name, "this build does not read the type");
      continue;
    }
    RILL_RETURN_IF_ERROR(compare_dequantize(type_name, *type, vectors, report));
    RILL_RETURN_IF_ERROR(compare_quantize(type_name, *type, vectors, report));
  }
  return {};
}

}  // namespace

void verify_quant_blocks(Run& run, const std::string&, Report& report) {
  Status status = verify_all_types(run, report);
  if (!status) report.failed("", std::move(status).error().message);
}

}  // namespace rill::verify
