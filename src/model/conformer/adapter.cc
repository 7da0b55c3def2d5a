// SPDX-License-Identifier: Apache-2.0
#include "model/conformer/adapter.h"

#include <span>

#include "ops/elementwise.h"
#include "ops/matmul.h"

namespace rill::model::conformer {

Result<Adapter> Adapter::load(const WeightReader& reader, const Config& config) {
  Adapter adapter;
  adapter.layer_norm_eps_ = config.layer_norm_eps;
  RILL_ASSIGN_OR_RETURN(adapter.weights_, load_adapter_weights(reader, config));
  return adapter;
}

Status Adapter::apply(ops::Context& context, ConstMat x, Mat out, const Trace* trace) const {
  Arena::Scope scope(*context.scratch);
  const size_t inner = weights_.up.weight.rows();
  RILL_ASSIGN_OR_RETURN(const std::span<float> normed_values,
                        context.scratch->take<float>(x.rows * x.cols));
  RILL_ASSIGN_OR_RETURN(const std::span<float> inner_values,
                        context.scratch->take<float>(x.rows * inner));
  const Mat normed = {normed_values.data(), x.rows, x.cols, x.cols};
  const Mat hidden = {inner_values.data(), x.rows, inner, inner};
  ops::layer_norm(context, x, weights_.norm.weight.data(), weights_.norm.bias.data(),
                  layer_norm_eps_, normed);
  RILL_RETURN_IF_ERROR(
      ops::matmul(context, normed, weights_.up.weight, weights_.up.bias.data(), hidden));
  ops::gelu(context, hidden, hidden);
  RILL_RETURN_IF_ERROR(
      ops::matmul(context, hidden, weights_.down.weight, weights_.down.bias.data(), out));
  if (trace != nullptr) (*trace)("adapter", out);
  return {};
}

}  // namespace rill::model::conformer
