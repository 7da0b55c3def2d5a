// SPDX-License-Identifier: Apache-2.0
// Matrix products of activations with stored weights, in the summation order of docs/numerics.md
// (rules 3 to 5).
#pragma once

#include <initializer_list>
#include <span>

#include "base/result.h"
#include "ops/context.h"
#include "quant/packed_matrix.h"
#include "tensor/tensor.h"

namespace rill::ops {

/// out[t, n] = sum_k x[t, k] * weights[n, k] (+ bias[n], added last)
/// Shapes: x [T, K], weights [N, K], bias [N] or nullptr, out [T, N].
/// Quantized weights quantize x first (rule 3): per row and per 32 values.
/// Errors: kOutOfMemory (scratch).
Status matmul(Context& context, ConstMat x, const quant::PackedMatrix& weights, const float* bias,
              Mat out);

/// One product of several that share their input.
struct MatmulTarget {
  const quant::PackedMatrix* weights;
  const float* bias;  ///< or nullptr
  Mat out;
};

/// The same for several matrices with one input (q, k, v; gate and up): x is quantized once,
/// threads join once.
Status matmul(Context& context, ConstMat x, std::span<const MatmulTarget> targets);
inline Status matmul(Context& context, ConstMat x, std::initializer_list<MatmulTarget> targets) {
  return matmul(context, x, std::span<const MatmulTarget>(targets.begin(), targets.size()));
}

/// out[i, n] = sum_k x[i, k] * weights[i][n, k]: each row has a matrix of its own (the experts of a
/// token), all of one shape; threads join once.
/// Shapes: x [R, K], weights R matrices [N, K], out [R, N]. Errors: kOutOfMemory (scratch).
Status matmul_rows(Context& context, ConstMat x,
                   std::span<const quant::PackedMatrix* const> weights, Mat out);

}  // namespace rill::ops
