// SPDX-License-Identifier: Apache-2.0
// KernelTable: one function pointer per kernel, filled for a tier from the families' .inc rows.
//
// Adding a kernel: a file <family>/<family>_<tier>.cc that defines `<function>_<tier>` in
// rill::kernels, and one row RILL_KERNEL(function, tier) in <family>/<family>.inc. The row yields
// the dispatch entry, the bit-equality test against scalar (tests/kernel) and the benchmark
// (bench/kernel).
#pragma once

#include <span>
#include <string_view>
#include <vector>

#include "base/cpu_features.h"
#include "kernels/families.h"

namespace rill::kernels {

/// The kernels of one tier. Members are named like the functions; every function has a scalar row.
struct KernelTable {
  IsaTier tier = IsaTier::kScalar;
#define RILL_KERNEL_MEMBER_scalar(function) function##_fn* function = nullptr;
#define RILL_KERNEL_MEMBER_avx2(function)
#define RILL_KERNEL_MEMBER_avx512(function)
#define RILL_KERNEL_MEMBER_avx512vnni(function)
#define RILL_KERNEL_MEMBER_neon(function)
#define RILL_KERNEL(function, tier) RILL_KERNEL_MEMBER_##tier(function)
#include "kernels/all.inc"
#undef RILL_KERNEL
};

/// The best kernel of each function that runs on `tier` (which the processor must support): its own
/// row, or the row of the nearest lower tier, down to scalar.
[[nodiscard]] const KernelTable& kernel_table(IsaTier tier);

/// One registered row, for tests, benchmarks and `rill inspect cpu`.
struct KernelRow {
  std::string_view function;
  IsaTier tier;
};
[[nodiscard]] std::span<const KernelRow> kernel_rows();
/// For each function the row that kernel_table(tier) uses.
[[nodiscard]] std::vector<KernelRow> functions_of(IsaTier tier);

}  // namespace rill::kernels
