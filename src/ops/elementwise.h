// SPDX-License-Identifier: Apache-2.0
// Row-wise and element-wise ops. Elementary functions are our own F32 polynomials
// (docs/numerics.md, rule 8).
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>

#include "ops/context.h"
#include "tensor/tensor.h"

namespace rill::ops {

/// out[t] = weight * (x[t] / sqrt(mean(x[t]^2) + eps)), the product with 1/sqrt first, then with
/// weight. Shapes: x, out [T, D] (may be the same), weight [D].
void rms_norm(Context& context, ConstMat x, const float* weight, float eps, Mat out);

/// The same over each of `num_heads` slices of head_dim = x.cols / num_heads; weight [head_dim].
void rms_norm_heads(Context& context, ConstMat x, size_t num_heads, const float* weight, float eps,
                    Mat out);

/// out[t] = (x[t] - mean) / sqrt(var + eps) * weight + bias, biased variance of the centred values.
void layer_norm(Context& context, ConstMat x, const float* weight, const float* bias, float eps,
                Mat out);

/// y += alpha * x (one FMA each when alpha != 1, else an addition).
void add_scaled(Context& context, ConstMat x, float alpha, Mat y);

/// out = silu(gate) * up; silu(z) = z * sigmoid(z).
void silu_mul(Context& context, ConstMat gate, ConstMat up, Mat out);
void silu(Context& context, ConstMat x, Mat out);
void relu(Context& context, ConstMat x, Mat out);
/// Exact GELU: 0.5 x (1 + erf(x / sqrt(2))).
void gelu(Context& context, ConstMat x, Mat out);
/// out [T, D] = x[:, :D] * sigmoid(x[:, D:]), x [T, 2D].
void glu(Context& context, ConstMat x, Mat out);
void sigmoid(Context& context, ConstMat x, Mat out);

/// Index of the first maximum. values must not be empty.
size_t argmax(std::span<const float> values);
/// True if every value is finite.
bool all_finite(Context& context, ConstMat x);

}  // namespace rill::ops
