// SPDX-License-Identifier: Apache-2.0
// Benchmarks of every matmul row on one core. Each product is compared with scalar before it is
// timed. Decode (1 token) reads matrices that no cache holds and reports GB/s of weights; prefill
// reports GOP/s (two operations for each weight and token). The machine's own limits are measured
// first and printed.
#include <benchmark/benchmark.h>

#include <cstdio>
#include <cstring>
#include <map>
#include <string>
#include <vector>

#include "base/aligned_buffer.h"
#include "base/thread_pool.h"
#include "kernel/machine_limits.h"
#include "kernels/kernel_table.h"
#include "quant/packed_matrix.h"
#include "quant/quantize.h"

namespace rill::kernels {
namespace {

constexpr size_t kCols = 2048;
constexpr size_t kPrefillRows = 512;
constexpr size_t kDecodeBytes = size_t{192}
                                << 20;  // weights read by one decode pass: larger than any cache

struct Function {
  const char* name;
  DType type;
  void (*KernelTable::*member)(const MatmulArgs&);
};
constexpr Function kFunctions[] = {
    {"matmul_f32", DType::kF32, &KernelTable::matmul_f32},
    {"matmul_f16", DType::kF16, &KernelTable::matmul_f16},
    {"matmul_bf16", DType::kBF16, &KernelTable::matmul_bf16},
    {"matmul_q8_0", DType::kQ8_0, &KernelTable::matmul_q8_0},
    {"matmul_q4_0", DType::kQ4_0, &KernelTable::matmul_q4_0},
    {"matmul_q4_1", DType::kQ4_1, &KernelTable::matmul_q4_1},
    {"matmul_q5_0", DType::kQ5_0, &KernelTable::matmul_q5_0},
    {"matmul_q5_1", DType::kQ5_1, &KernelTable::matmul_q5_1},
    {"matmul_q4_k", DType::kQ4_K, &KernelTable::matmul_q4_k},
    {"matmul_q5_k", DType::kQ5_K, &KernelTable::matmul_q5_k},
    {"matmul_q6_k", DType::kQ6_K, &KernelTable::matmul_q6_k},
};

// A product with random weights, repeated until the matrix has the wanted number of rows.
struct Problem {
  AlignedBuffer panels;
  size_t panel_bytes = 0;
  size_t rows = 0;
  size_t tokens = 0;
  std::vector<float> x;
  std::vector<ActivationChunk> chunks;
  std::vector<float> out;

  [[nodiscard]] MatmulArgs args(size_t used_rows) {
    return {reinterpret_cast<const uint8_t*>(panels.data()),
            panel_bytes,
            used_rows,
            kCols,
            tokens,
            x.data(),
            kCols,
            chunks.data(),
            tokens,
            out.data(),
            rows};
  }
};

Problem make_problem(DType type, size_t rows, size_t tokens) {
  Problem problem;
  problem.rows = rows;
  problem.tokens = tokens;
  std::vector<float> row(kCols * quant::kPanelRows);
  uint32_t state = 12345;
  const auto next = [&state] {
    state = state * 1664525u + 1013904223u;
    return static_cast<float>(state >> 8) * 0x1p-23f - 1.0f;
  };
  for (float& v : row) v = next();
  std::vector<std::byte> file(row_bytes(type, row.size()));
  quant::quantize_row(type, row, file.data());
  const auto matrix = quant::PackedMatrix::borrow({file.data(), type, {quant::kPanelRows, kCols}});
  problem.panel_bytes = matrix->panel_bytes();
  const size_t panels = rows / quant::kPanelRows;
  problem.panels = AlignedBuffer::create(panels * problem.panel_bytes).value();
  for (size_t p = 0; p < panels; ++p)
    matrix->pack_panel(0, problem.panels.data() + p * problem.panel_bytes);
  problem.x.resize(tokens * kCols);
  for (float& v : problem.x) v = next();
  problem.chunks.resize(tokens * (kCols / quant::kChunkValues));
  for (size_t t = 0; t < tokens; ++t) {
    kernel_table(IsaTier::kScalar)
        .quantize_activations(problem.x.data() + t * kCols, kCols, problem.chunks.data() + t,
                              tokens);
  }
  problem.out.resize(tokens * rows);
  return problem;
}

bool equals_scalar(const Function& function, IsaTier tier, Problem& problem) {
  const size_t rows = 64;  // enough for every tile shape
  (kernel_table(IsaTier::kScalar).*function.member)(problem.args(rows));
  const std::vector<float> expected = problem.out;
  (kernel_table(tier).*function.member)(problem.args(rows));
  return std::memcmp(expected.data(), problem.out.data(), expected.size() * sizeof(float)) == 0;
}

void run_matmul(benchmark::State& state, const Function& function, IsaTier tier, size_t rows,
                size_t tokens) {
  Problem problem = make_problem(function.type, rows, tokens);
  if (!equals_scalar(function, tier, problem)) {
    state.SkipWithError("differs from scalar");
    return;
  }
  auto* kernel = kernel_table(tier).*function.member;
  for (auto _ : state) kernel(problem.args(rows));
  const auto passes = static_cast<double>(state.iterations());
  const auto bytes = static_cast<double>(problem.panels.size_bytes());
  state.counters["GB/s"] = benchmark::Counter(passes * bytes * 1e-9, benchmark::Counter::kIsRate);
  state.counters["GOP/s"] = benchmark::Counter(
      passes * 2e-9 * static_cast<double>(rows) * kCols * static_cast<double>(tokens),
      benchmark::Counter::kIsRate);
}

void register_row(const Function& function, IsaTier tier) {
  const size_t panel_bytes = row_bytes(function.type, kCols) * quant::kPanelRows;
  const size_t decode_rows = kDecodeBytes / panel_bytes * quant::kPanelRows;
  for (const size_t tokens : {1, 4}) {
    const std::string name = std::string(function.name) + "/" + std::string(isa_tier_name(tier)) +
                             "/decode/" + std::to_string(tokens);
    benchmark::RegisterBenchmark(name.c_str(), [=, &function](benchmark::State& state) {
      run_matmul(state, function, tier, decode_rows, tokens);
    });
  }
  for (const size_t tokens : {16, 256}) {
    const std::string name = std::string(function.name) + "/" + std::string(isa_tier_name(tier)) +
                             "/prefill/" + std::to_string(tokens);
    benchmark::RegisterBenchmark(name.c_str(), [=, &function](benchmark::State& state) {
      run_matmul(state, function, tier, kPrefillRows, tokens);
    });
  }
}

void register_all() {
  for (const KernelRow& row : kernel_rows()) {
    if (!cpu_supports(row.tier) || row.tier == IsaTier::kScalar) continue;
    for (const Function& function : kFunctions) {
      if (row.function == function.name) register_row(function, row.tier);
    }
  }
}

}  // namespace
}  // namespace rill::kernels

int main(int argc, char** argv) {
  benchmark::Initialize(&argc, argv);
  if (benchmark::ReportUnrecognizedArguments(argc, argv)) return 2;
  const rill::MachineLimits limits = rill::measure_machine_limits();
  std::printf("one core: reads %.1f GB/s, F32 FMA %.0f GFLOP/s, int8 dot product %.0f GOP/s\n",
              limits.read_gb_s, limits.fma_gflop_s, limits.dot_gop_s);
  rill::kernels::register_all();
  benchmark::RunSpecifiedBenchmarks();
  return 0;
}
