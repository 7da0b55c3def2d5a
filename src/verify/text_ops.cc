// SPDX-License-Identifier: Apache-2.0
// Subject ops of a text set.
#include <algorithm>

#include "base/parse_number.h"
#include "base/str_cat.h"
#include "ops/elementwise.h"
#include "ops/moe.h"
#include "ops/rope.h"
#include "verify/set_files.h"
#include "verify/text_data.h"

namespace rill::verify {
namespace {

constexpr float kRmsNormEps = 1e-5f;  // the set's documented value

/// Rotates the heads of one tensor at the set's positions; got as the tensor is laid out.
Status compare_rotation(Run& run, const ExpectedTensors& vectors, const std::string& base,
                        const char* which, const std::vector<int32_t>& positions,
                        std::span<const float> inv_freq, Report& report) {
  const std::string stage = base + "." + which;
  if (!vectors.has(stage) || !vectors.has(which)) return {};
  RILL_ASSIGN_OR_RETURN(const ExpectedTensor input, vectors.floats(which));
  RILL_ASSIGN_OR_RETURN(const ExpectedTensor want, vectors.floats(stage));
  const size_t head_dim = input.shape.cols();
  const size_t width = positions.empty() ? 0 : input.values.size() / positions.size();
  std::vector<float> got = input.values;
  std::vector<float> cos_sin(head_dim);
  for (size_t i = 0; i < positions.size(); ++i) {
    ops::rope_table(inv_freq, static_cast<size_t>(positions[i]),
                    Mat{cos_sin.data(), 1, head_dim, head_dim});
    ops::rope(run.context, ops::RopeLayout::kHalf, ConstMat{cos_sin.data(), 1, head_dim, head_dim},
              width / head_dim, Mat{got.data() + i * width, 1, width, width});
  }
  report.floats(stage, got, want.values, run.tolerances.hidden);
  return {};
}

/// The reference repeats its d/2 cosines (sines) to d columns.
Status compare_table(Run& run, const ExpectedTensors& vectors, const std::string& base,
                     const std::vector<int32_t>& positions, std::span<const float> inv_freq,
                     Report& report) {
  const size_t half = inv_freq.size();
  std::vector<float> cos;
  std::vector<float> sin;
  std::vector<float> row(2 * half);
  for (const int32_t position : positions) {
    ops::rope_table(inv_freq, static_cast<size_t>(position),
                    Mat{row.data(), 1, 2 * half, 2 * half});
    for (int repeat = 0; repeat < 2; ++repeat) {
      cos.insert(cos.end(), row.begin(), row.begin() + static_cast<std::ptrdiff_t>(half));
      sin.insert(sin.end(), row.begin() + static_cast<std::ptrdiff_t>(half), row.end());
    }
  }
  RILL_ASSIGN_OR_RETURN(const ExpectedTensor want_cos, vectors.floats(base + ".cos"));
  RILL_ASSIGN_OR_RETURN(const ExpectedTensor want_sin, vectors.floats(base + ".sin"));
  report.floats(base + ".cos", cos, want_cos.values, run.tolerances.hidden);
  report.floats(base + ".sin", sin, want_sin.values, run.tolerances.hidden);
  return {};
}

Status compare_rope(Run& run, const ExpectedTensors& vectors, Report& report) {
  constexpr std::string_view kSuffix = ".inv_freq";
  RILL_ASSIGN_OR_RETURN(const auto positions, vectors.ints("positions"));
  for (const NamedTensor& tensor : vectors.all()) {
    if (!tensor.name.ends_with(kSuffix) || !tensor.name.starts_with("theta")) continue;
    const std::string base = tensor.name.substr(0, tensor.name.size() - kSuffix.size());
    const auto theta = parse_double(std::string_view(base).substr(5));
    if (!theta) {
      report.failed(tensor.name, "the name gives no rope base");
      continue;
    }
    RILL_ASSIGN_OR_RETURN(const ExpectedTensor want, vectors.floats(tensor.name));
    const auto inv_freq = ops::rope_inv_freq(2 * want.values.size(), *theta);
    report.floats(tensor.name, inv_freq, want.values, run.tolerances.hidden);
    RILL_RETURN_IF_ERROR(compare_table(run, vectors, base, positions, inv_freq, report));
    for (const char* which : {"q", "k"}) {
      RILL_RETURN_IF_ERROR(
          compare_rotation(run, vectors, base, which, positions, inv_freq, report));
    }
  }
  return {};
}

Status compare_rms_norm(Run& run, const ExpectedTensors& vectors, Report& report) {
  if (!vectors.has("rmsnorm.x")) return {};
  RILL_ASSIGN_OR_RETURN(const ExpectedTensor x, vectors.floats("rmsnorm.x"));
  RILL_ASSIGN_OR_RETURN(const ExpectedTensor weight, vectors.floats("rmsnorm.weight"));
  RILL_ASSIGN_OR_RETURN(const ExpectedTensor want, vectors.floats("rmsnorm.y"));
  const size_t cols = x.shape.cols();
  std::vector<float> got(x.values.size());
  ops::rms_norm(run.context, ConstMat{x.values.data(), x.shape.rows(), cols, cols},
                weight.values.data(), kRmsNormEps, Mat{got.data(), x.shape.rows(), cols, cols});
  report.floats("rmsnorm", got, want.values, run.tolerances.hidden);
  return {};
}

/// Expert weights spread over all experts, so that the order of the chosen ones does not matter.
std::vector<float> by_expert(std::span<const int32_t> experts, std::span<const float> weights,
                             size_t rows, size_t num_experts) {
  std::vector<float> out(rows * num_experts, 0.0f);
  const size_t k = rows == 0 ? 0 : experts.size() / rows;
  for (size_t i = 0; i < experts.size(); ++i) {
    const auto expert = static_cast<size_t>(experts[i]);
    if (expert < num_experts) out[i / k * num_experts + expert] = weights[i];
  }
  return out;
}

/// route_NAME.*: the variant's name says what differs from the defaults.
Status compare_route(Run& run, const ExpectedTensors& vectors, const std::string& prefix,
                     Report& report) {
  RILL_ASSIGN_OR_RETURN(const ExpectedTensor logits, vectors.floats(prefix + ".logits"));
  RILL_ASSIGN_OR_RETURN(const ExpectedTensor bias, vectors.floats(prefix + ".bias"));
  RILL_ASSIGN_OR_RETURN(const ExpectedTensor want_weights, vectors.floats(prefix + ".weights"));
  RILL_ASSIGN_OR_RETURN(const auto want_experts, vectors.ints(prefix + ".experts"));
  const size_t rows = logits.shape.rows();
  const size_t num_experts = logits.shape.cols();
  ops::RouterArgs args;
  args.experts_per_token = want_weights.shape.cols();
  args.expert_bias = prefix.ends_with("nobias") ? nullptr : bias.values.data();
  args.normalize = !prefix.ends_with("nonorm");
  args.scaling_factor = prefix.ends_with("scaled") ? 2.5f : 1.0f;
  std::vector<int32_t> experts(rows * args.experts_per_token);
  std::vector<float> weights(experts.size());
  ops::route(run.context, ConstMat{logits.values.data(), rows, num_experts, num_experts}, args,
             experts, Mat{weights.data(), rows, args.experts_per_token, args.experts_per_token});
  report.floats(prefix, by_expert(experts, weights, rows, num_experts),
                by_expert(want_experts, want_weights.values, rows, num_experts),
                run.tolerances.hidden);
  return {};
}

Status verify_all_ops(Run& run, Report& report) {
  RILL_ASSIGN_OR_RETURN(const auto vectors,
                        ExpectedTensors::open(run.set_dir + "/vectors/ops.safetensors"));
  RILL_RETURN_IF_ERROR(compare_rope(run, vectors, report));
  RILL_RETURN_IF_ERROR(compare_rms_norm(run, vectors, report));
  for (const NamedTensor& tensor : vectors.all()) {
    constexpr std::string_view kSuffix = ".logits";
    if (!tensor.name.starts_with("route_") || !tensor.name.ends_with(kSuffix)) continue;
    const std::string prefix = tensor.name.substr(0, tensor.name.size() - kSuffix.size());
    RILL_RETURN_IF_ERROR(compare_route(run, vectors, prefix, report));
  }
  return {};
}

}  // namespace

void verify_ops(Run& run, const std::string&, Report& report) {
  Status status = verify_all_ops(run, report);
  if (!status) report.failed("", std::move(status).error().message);
}

}  // namespace rill::verify
