// SPDX-License-Identifier: Apache-2.0
// Benchmarks of every row of the kernel registry on one core, beside the machine's own limits,
// which are measured first. What a kernel computes is compared with scalar before it is timed.
// Fails if a row has no benchmark; --check_rows does only that.
#include "kernel/kernel_bench.h"

#include <cstdio>
#include <cstring>
#include <vector>

namespace rill::kernels {

MachineLimits& machine_limits() {
  static MachineLimits limits;
  return limits;
}

void set_counters(benchmark::State& state, const Work& work) {
  const auto rate = [&](const char* name, double amount) {
    state.counters[name] = benchmark::Counter(amount * static_cast<double>(state.iterations()),
                                              benchmark::Counter::kIsRate);
  };
  if (work.bytes > 0) rate("GB/s", work.bytes * 1e-9);
  if (work.operations > 0) rate("GOP/s", work.operations * 1e-9);
  if (work.read_limit > 0) rate("%read", work.bytes * 1e-7 / work.read_limit);
  if (work.unit_limit > 0) rate("%unit", work.operations * 1e-7 / work.unit_limit);
}

namespace {

/// Registers what this processor runs; the number of rows without a benchmark.
int register_rows() {
  int missing = 0;
  for (const KernelRow& row : kernel_rows()) {
    if (!cpu_supports(row.tier) || register_matmul(row) || register_op(row)) continue;
    ++missing;
    std::fprintf(stderr, "no benchmark for %s\n", bench_name(row.function, row.tier, "").c_str());
  }
  return missing;
}

void measure_limits() {
  MachineLimits& limits = machine_limits();
  limits = measure_machine_limits();
  std::printf(
      "one core: reads %.1f GB/s, F32 FMA %.0f GFLOP/s, int8 dot product %.0f GOP/s; %%read and "
      "%%unit are parts of that\n",
      limits.read_gb_s, limits.fma_gflop_s, limits.dot_gop_s);
}

}  // namespace
}  // namespace rill::kernels

int main(int argc, char** argv) {
  if (argc == 2 && std::strcmp(argv[1], "--check_rows") == 0) {
    return rill::kernels::register_rows() == 0 ? 0 : 1;
  }
  // Hundreds of benchmarks: a short time for each, unless the caller says otherwise.
  char short_time[] = "--benchmark_min_time=0.1";
  std::vector<char*> arguments(argv, argv + argc);
  arguments.insert(arguments.begin() + 1, short_time);
  auto count = static_cast<int>(arguments.size());
  benchmark::Initialize(&count, arguments.data());
  if (benchmark::ReportUnrecognizedArguments(count, arguments.data())) return 2;
  if (rill::kernels::register_rows() != 0) return 1;
  rill::kernels::measure_limits();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
