// SPDX-License-Identifier: Apache-2.0
// What the files of the kernel benchmarks share: a family's rows, and the counters of a benchmark.
#pragma once

#include <benchmark/benchmark.h>

#include <span>
#include <string>
#include <string_view>

#include "kernel/machine_limits.h"
#include "kernels/kernel_table.h"

namespace rill::kernels {

/// The limits of one core; zeros until main has measured them.
MachineLimits& machine_limits();

/// What one call does. Zero: not counted, or not limited by that.
struct Work {
  double bytes = 0;       ///< read and written
  double operations = 0;  ///< multiplications and additions
  double read_limit = 0;  ///< GB/s; what a percentage of is shown
  double unit_limit = 0;  ///< GOP/s
};

/// Sets GB/s and GOP/s of a finished benchmark, and how much of the machine's limits that is.
void set_counters(benchmark::State& state, const Work& work);

/// "rms_norm/avx2/2048"
inline std::string bench_name(std::string_view function, IsaTier tier, std::string_view shape) {
  return std::string(function) + "/" + std::string(isa_tier_name(tier)) + "/" + std::string(shape);
}

/// Registers the benchmarks of one row; false if the function is none of the file's.
bool register_matmul(const KernelRow& row);
bool register_op(const KernelRow& row);

}  // namespace rill::kernels
