// SPDX-License-Identifier: Apache-2.0
// Benchmarks of the matmul rows. Decode (1 and 4 tokens) reads matrices that no cache holds, cached
// the same from the second cache level, which shows how much arithmetic is left under the memory's
// limit: GB/s of weights; prefill: GOP/s (two operations for each weight and token). The scalar
// tier, which is the definition and slow, gets the small shapes only.
#include <cstring>
#include <string>
#include <vector>

#include "kernel/kernel_bench.h"
#include "kernel/matmul_check.h"

namespace rill::kernels {
namespace {

constexpr size_t kCols = 2048;
constexpr size_t kPrefillRows = 512;
constexpr size_t kCachedRows = 256;  // at most 0.5 MB of 8-bit weights
// Weights read by one decode pass: larger than any cache, except for scalar.
constexpr size_t kDecodeBytes = size_t{192} << 20;
constexpr size_t kScalarDecodeBytes = size_t{8} << 20;

// A product with random weights, repeated until the matrix has the wanted number of rows.
struct Problem {
  AlignedBuffer panels;
  size_t panel_bytes = 0;
  size_t rows = 0;
  size_t tokens = 0;
  bool prefetch = cpu_gains_from_prefetch();
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
            rows,
            prefetch};
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

bool equals_scalar(const MatmulFunction& function, IsaTier tier, Problem& problem) {
  const size_t rows = 64;  // enough for every tile shape
  (kernel_table(IsaTier::kScalar).*function.member)(problem.args(rows));
  const std::vector<float> expected = problem.out;
  (kernel_table(tier).*function.member)(problem.args(rows));
  return std::memcmp(expected.data(), problem.out.data(), expected.size() * sizeof(float)) == 0;
}

enum class Shape { kDecode, kCached, kPrefill };

std::string shape_name(Shape shape, size_t tokens) {
  const char* name = shape == Shape::kDecode   ? "decode/"
                     : shape == Shape::kCached ? "cached/"
                                               : "prefill/";
  return name + std::to_string(tokens);
}

void run_matmul(benchmark::State& state, const MatmulFunction& function, IsaTier tier, Shape shape,
                size_t rows, size_t tokens) {
  Problem problem = make_problem(function.type, rows, tokens);
  if (!equals_scalar(function, tier, problem)) {
    state.SkipWithError("differs from scalar");
    return;
  }
  auto* kernel = kernel_table(tier).*function.member;
  for (auto _ : state) kernel(problem.args(rows));
  const MachineLimits& limits = machine_limits();
  const double unit = is_quantized(function.type) ? limits.dot_gop_s : limits.fma_gflop_s;
  set_counters(state, {static_cast<double>(problem.panels.size_bytes()),
                       2.0 * static_cast<double>(rows) * kCols * static_cast<double>(tokens),
                       shape == Shape::kPrefill ? 0 : limits.read_gb_s,
                       shape == Shape::kPrefill ? unit : 0});
}

void register_shape(const MatmulFunction& function, IsaTier tier, Shape shape, size_t rows,
                    size_t tokens) {
  benchmark::RegisterBenchmark(bench_name(function.name, tier, shape_name(shape, tokens)).c_str(),
                               [=, &function](benchmark::State& state) {
                                 run_matmul(state, function, tier, shape, rows, tokens);
                               });
}

}  // namespace

bool register_matmul(const KernelRow& row) {
  for (const MatmulFunction& function : kMatmulFunctions) {
    if (row.function != function.name) continue;
    const bool scalar = row.tier == IsaTier::kScalar;
    const size_t panel_bytes = row_bytes(function.type, kCols) * quant::kPanelRows;
    const size_t panels = (scalar ? kScalarDecodeBytes : kDecodeBytes) / panel_bytes;
    const size_t decode_rows = panels * quant::kPanelRows;
    register_shape(function, row.tier, Shape::kDecode, decode_rows, 1);
    register_shape(function, row.tier, Shape::kPrefill, kPrefillRows, 16);
    if (!scalar) {
      register_shape(function, row.tier, Shape::kDecode, decode_rows, 4);
      register_shape(function, row.tier, Shape::kCached, kCachedRows, 1);
      register_shape(function, row.tier, Shape::kPrefill, kPrefillRows, 256);
    }
    return true;
  }
  return false;
}

}  // namespace rill::kernels
