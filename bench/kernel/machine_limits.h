// SPDX-License-Identifier: Apache-2.0
// The limits of one core, measured: what a kernel's figures are compared with.
#pragma once

namespace rill {

/// Best of several short runs. Zero: this processor family has no measurement.
struct MachineLimits {
  double read_gb_s = 0;    ///< sequential reads of memory that no cache holds
  double fma_gflop_s = 0;  ///< F32 fused multiply-adds, two operations each
  double dot_gop_s = 0;    ///< int8 dot products into int32, two operations for each pair
};
[[nodiscard]] MachineLimits measure_machine_limits();

}  // namespace rill
