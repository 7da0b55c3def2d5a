// SPDX-License-Identifier: Apache-2.0
#include "model/conformer/positions.h"

#include "base/det_math.h"

namespace rill::model::conformer {

void relative_positions(Mat out) {
  const size_t center = out.rows / 2;  // the row of position 0
  const auto step = static_cast<float>(-(det::log(10000.0) / static_cast<double>(out.cols)));
  for (size_t i = 0; 2 * i < out.cols; ++i) {
    const float exponent = static_cast<float>(2 * i) * step;
    const auto frequency = static_cast<float>(det::exp(static_cast<double>(exponent)));
    for (size_t p = 0; p <= center; ++p) {
      const double angle = static_cast<double>(static_cast<float>(p) * frequency);
      const det::SinCos turn = det::sin_cos(angle);
      const auto sine = static_cast<float>(turn.sin);
      const auto cosine = static_cast<float>(turn.cos);
      // In this order position 0 ends up with +0.0.
      out.row(center + p)[2 * i] = -sine;
      out.row(center + p)[2 * i + 1] = cosine;
      out.row(center - p)[2 * i] = sine;
      out.row(center - p)[2 * i + 1] = cosine;
    }
  }
}

}  // namespace rill::model::conformer
