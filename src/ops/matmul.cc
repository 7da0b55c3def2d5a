// SPDX-License-Identifier: Apache-2.0
#include "ops/matmul.h"

#include <algorithm>
#include <cstdint>

#include "base/check.h"
#include "kernels/kernel_table.h"
#include "ops/parallel.h"

namespace rill::ops {
namespace {

using kernels::ActivationChunk;
using kernels::MatmulArgs;
using quant::kPanelRows;

constexpr size_t kChunkValues = quant::kChunkValues;

// Rows of activations are handed out in so many tasks per thread: enough to even out threads of
// unequal speed, few enough that handing out costs nothing.
constexpr size_t kTasksPerThread = 16;
// Kernels work on up to this many panels at once.
constexpr size_t kPanelsPerStep = 4;

using KernelFn = void(const MatmulArgs&);

KernelFn* kernel_for(const kernels::KernelTable& table, DType type) {
  switch (type) {
    case DType::kF32:
      return table.matmul_f32;
    case DType::kF16:
      return table.matmul_f16;
    case DType::kBF16:
      return table.matmul_bf16;
    case DType::kQ8_0:
      return table.matmul_q8_0;
    case DType::kQ4_0:
      return table.matmul_q4_0;
    case DType::kQ4_1:
      return table.matmul_q4_1;
    case DType::kQ5_0:
      return table.matmul_q5_0;
    case DType::kQ5_1:
      return table.matmul_q5_1;
    case DType::kQ4_K:
      return table.matmul_q4_k;
    case DType::kQ5_K:
      return table.matmul_q5_k;
    case DType::kQ6_K:
      return table.matmul_q6_k;
    default:
      panic(__FILE__, __LINE__, "matmul: not a type of weights");
  }
}

// The input as the kernels take it: as it is, and quantized if a target needs that.
struct Input {
  ConstMat x;
  const ActivationChunk* chunks = nullptr;
  size_t chunk_stride = 0;

  [[nodiscard]] Input row(size_t r) const {
    return {
        {x.row(r), 1, x.cols, x.stride}, chunks == nullptr ? nullptr : chunks + r, chunk_stride};
  }
};

void check_shapes(const ConstMat& x, const MatmulTarget& target) {
  RILL_CHECK(target.weights->cols() == x.cols,
             "matmul: the input's width differs from the weights'");
  RILL_CHECK(target.out.rows == x.rows && target.out.cols == target.weights->rows(),
             "matmul: the output's shape does not fit");
}

Result<const ActivationChunk*> quantize_input(Context& context, const ConstMat& x) {
  const size_t chunks = (x.cols + kChunkValues - 1) / kChunkValues;
  RILL_ASSIGN_OR_RETURN(const std::span<ActivationChunk> out,
                        context.scratch->take<ActivationChunk>(chunks * x.rows));
  ActivationChunk* data = out.data();
  auto* quantize = context.kernels->quantize_activations;
  const size_t rows_per_task =
      std::max<size_t>(1, x.rows / (context.pool->num_threads() * kTasksPerThread));
  const size_t tasks = (x.rows + rows_per_task - 1) / rows_per_task;
  const auto run = [&](size_t task) {
    const size_t end = std::min(x.rows, (task + 1) * rows_per_task);
    for (size_t t = task * rows_per_task; t < end; ++t)
      quantize(x.row(t), x.cols, data + t, x.rows);
  };
  if (tasks == 1) {
    run(0);
  } else {
    context.pool->parallel_for(tasks, run);
  }
  return static_cast<const ActivationChunk*>(data);
}

void add_bias(const float* bias, size_t first, size_t count, const Mat& out) {
  for (size_t t = 0; t < out.rows; ++t) {
    float* row = out.row(t) + first;
    for (size_t n = 0; n < count; ++n) row[n] = row[n] + bias[first + n];
  }
}

// Computes panels [begin, end) of one target. `scratch` holds one panel if the weights lie in the
// file's layout.
void compute_panels(const Context& context, const Input& input, const MatmulTarget& target,
                    size_t begin, size_t end, std::byte* scratch) {
  const quant::PackedMatrix& weights = *target.weights;
  const bool packed = weights.layout() == quant::Layout::kPanels;
  const size_t step = packed ? end - begin : 1;
  KernelFn* kernel = kernel_for(*context.kernels, weights.dtype());
  for (size_t p = begin; p < end; p += step) {
    if (!packed) weights.pack_panel(p, scratch);
    const size_t first = p * kPanelRows;
    const size_t rows = std::min(step * kPanelRows, weights.rows() - first);
    const std::byte* panels = packed ? weights.panel(p) : scratch;
    kernel({reinterpret_cast<const uint8_t*>(panels), weights.panel_bytes(), rows, weights.cols(),
            input.x.rows, input.x.data, input.x.stride, input.chunks, input.chunk_stride,
            target.out.data + first, target.out.stride, context.prefetch});
    if (target.bias != nullptr) add_bias(target.bias, first, rows, target.out);
  }
}

// Panels that are handed out together.
size_t panels_per_step(std::span<const MatmulTarget> targets, size_t threads) {
  size_t panels = 0;
  for (const MatmulTarget& target : targets) panels += target.weights->num_panels();
  // A small matrix (a router) is spread thin rather than left to one thread.
  return std::clamp<size_t>((panels + threads - 1) / threads, 1, kPanelsPerStep);
}

// The input as the targets take it. Errors: kOutOfMemory.
Result<Input> prepare_input(Context& context, ConstMat x, std::span<const MatmulTarget> targets) {
  Input input = {x, nullptr, x.rows};
  const auto quantized = [](const MatmulTarget& target) {
    return is_quantized(target.weights->dtype());
  };
  if (std::any_of(targets.begin(), targets.end(), quantized)) {
    RILL_ASSIGN_OR_RETURN(input.chunks, quantize_input(context, x));
  }
  return input;
}

// Computes all targets, each with its own part of the input: input_of(index of the target).
template <typename InputOf>
Status compute_targets(Context& context, std::span<const MatmulTarget> targets,
                       const InputOf& input_of) {
  const size_t threads = context.pool->num_threads();
  const size_t per_step = panels_per_step(targets, threads);
  const auto steps_of = [&](const MatmulTarget& target) {
    return (target.weights->num_panels() + per_step - 1) / per_step;
  };
  size_t steps = 0;
  size_t scratch_bytes = 0;  // per thread
  for (const MatmulTarget& target : targets) {
    steps += steps_of(target);
    if (target.weights->layout() == quant::Layout::kFile)
      scratch_bytes = std::max(scratch_bytes, target.weights->panel_bytes());
  }
  RILL_ASSIGN_OR_RETURN(const std::span<std::byte> scratch,
                        context.scratch->take<std::byte>(threads * scratch_bytes));
  parallel_runs(context, steps, [&](size_t begin, size_t end, size_t worker) {
    std::byte* own = scratch.data() + worker * scratch_bytes;
    size_t first = 0;  // step of the target
    for (size_t i = 0; i < targets.size(); ++i) {
      const size_t last = first + steps_of(targets[i]);
      if (begin < last && first < end) {
        const size_t panels = targets[i].weights->num_panels();
        const size_t begin_panel = (std::max(begin, first) - first) * per_step;
        const size_t end_panel = std::min(panels, (std::min(end, last) - first) * per_step);
        compute_panels(context, input_of(i), targets[i], begin_panel, end_panel, own);
      }
      first = last;
    }
  });
  return {};
}

}  // namespace

Status matmul(Context& context, ConstMat x, std::span<const MatmulTarget> targets) {
  const Arena::Scope scope(*context.scratch);
  for (const MatmulTarget& target : targets) check_shapes(x, target);
  if (x.rows == 0) return {};
  RILL_ASSIGN_OR_RETURN(const Input input, prepare_input(context, x, targets));
  return compute_targets(context, targets, [&](size_t) -> const Input& { return input; });
}

Status matmul_rows(Context& context, ConstMat x,
                   std::span<const quant::PackedMatrix* const> weights, Mat out) {
  RILL_CHECK(x.rows == weights.size() && out.rows == weights.size(),
             "matmul_rows: a matrix for each row");
  const Arena::Scope scope(*context.scratch);
  RILL_ASSIGN_OR_RETURN(const std::span<MatmulTarget> targets,
                        context.scratch->take<MatmulTarget>(weights.size()));
  for (size_t r = 0; r < weights.size(); ++r) {
    targets[r] = {weights[r], nullptr, out.row_range(r, 1)};
    check_shapes({x.row(r), 1, x.cols, x.stride}, targets[r]);
  }
  RILL_ASSIGN_OR_RETURN(const Input input, prepare_input(context, x, targets));
  return compute_targets(context, targets, [&](size_t r) { return input.row(r); });
}

Status matmul(Context& context, ConstMat x, const quant::PackedMatrix& weights, const float* bias,
              Mat out) {
  const MatmulTarget target = {&weights, bias, out};
  return matmul(context, x, std::span<const MatmulTarget>(&target, 1));
}

}  // namespace rill::ops
