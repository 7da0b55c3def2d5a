// SPDX-License-Identifier: Apache-2.0
// The definition of the rotary position embedding.
#include "kernels/rope/rope.h"

namespace rill::kernels {

void rope_half_scalar(const float* cos_sin, size_t head_dim, size_t num_heads, float* x) {
  const size_t half = head_dim / 2;
  for (float* head = x; head != x + num_heads * head_dim; head += head_dim) {
    for (size_t j = 0; j < half; ++j) {
      const float a = head[j];
      const float b = head[j + half];
      head[j] = a * cos_sin[j] - b * cos_sin[half + j];
      head[j + half] = b * cos_sin[j] + a * cos_sin[half + j];
    }
  }
}

void rope_pair_scalar(const float* cos_sin, size_t head_dim, size_t num_heads, float* x) {
  const size_t half = head_dim / 2;
  for (float* head = x; head != x + num_heads * head_dim; head += head_dim) {
    for (size_t j = 0; j < half; ++j) {
      const float a = head[2 * j];
      const float b = head[2 * j + 1];
      head[2 * j] = a * cos_sin[j] - b * cos_sin[half + j];
      head[2 * j + 1] = b * cos_sin[j] + a * cos_sin[half + j];
    }
  }
}

}  // namespace rill::kernels
