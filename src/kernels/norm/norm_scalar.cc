// SPDX-License-Identifier: Apache-2.0
// The definition of the norms.
#include "kernels/lanes_scalar.h"
#include "kernels/norm/norm.h"

namespace rill::kernels {

void rms_norm_scalar(const float* x, const float* weight, float eps, size_t size, float* out) {
  Lanes squares;
  squares.accumulate(size, [x](float sum, size_t i) { return __builtin_fmaf(x[i], x[i], sum); });
  const float r = 1.0f / __builtin_sqrtf(squares.fold() / static_cast<float>(size) + eps);
  for (size_t i = 0; i < size; ++i) out[i] = weight[i] * (x[i] * r);
}

void layer_norm_scalar(const float* x, const float* weight, const float* bias, float eps,
                       size_t size, float* out) {
  Lanes values;
  values.accumulate(size, [x](float sum, size_t i) { return sum + x[i]; });
  const float mean = values.fold() / static_cast<float>(size);
  Lanes squares;
  squares.accumulate(size, [x, mean](float sum, size_t i) {
    const float centred = x[i] - mean;
    return __builtin_fmaf(centred, centred, sum);
  });
  const float r = 1.0f / __builtin_sqrtf(squares.fold() / static_cast<float>(size) + eps);
  for (size_t i = 0; i < size; ++i) out[i] = ((x[i] - mean) * r) * weight[i] + bias[i];
}

}  // namespace rill::kernels
