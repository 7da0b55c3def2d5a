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

// Tasks per thread: enough to even out threads of unequal speed, few enough that handing out costs
// nothing.
constexpr size_t kTasksPerThread = 16;
// Kernels work on up to this many panels at once; tasks are multiples of it
// unless a matrix is too small for that.
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
void compute_panels(const kernels::KernelTable& table, const Input& input,
                    const MatmulTarget& target, size_t begin, size_t end, std::byte* scratch) {
  const quant::PackedMatrix& weights = *target.weights;
  const bool packed = weights.layout() == quant::Layout::kPanels;
  const size_t step = packed ? end - begin : 1;
  KernelFn* kernel = kernel_for(table, weights.dtype());
  for (size_t p = begin; p < end; p += step) {
    if (!packed) weights.pack_panel(p, scratch);
    const size_t first = p * kPanelRows;
    const size_t rows = std::min(step * kPanelRows, weights.rows() - first);
    const std::byte* panels = packed ? weights.panel(p) : scratch;
    kernel({reinterpret_cast<const uint8_t*>(panels), weights.panel_bytes(), rows, weights.cols(),
            input.x.rows, input.x.data, input.x.stride, input.chunks, input.chunk_stride,
            target.out.data + first, target.out.stride});
    if (target.bias != nullptr) add_bias(target.bias, first, rows, target.out);
  }
}

// How the panels of all targets are cut into tasks.
struct Split {
  size_t panels_per_task;
  size_t tasks;

  static size_t tasks_of(const MatmulTarget& target, size_t panels_per_task) {
    return (target.weights->num_panels() + panels_per_task - 1) / panels_per_task;
  }
};

Split split_work(std::span<const MatmulTarget> targets, size_t threads) {
  size_t panels = 0;
  for (const MatmulTarget& target : targets) panels += target.weights->num_panels();
  const size_t wanted = (panels + threads * kTasksPerThread - 1) / (threads * kTasksPerThread);
  const size_t steps = std::max<size_t>(1, (wanted + kPanelsPerStep - 1) / kPanelsPerStep);
  // A small matrix (a router) is spread thin rather than left to one thread.
  const size_t share = (panels + threads - 1) / threads;
  Split split = {std::clamp<size_t>(share, 1, steps * kPanelsPerStep), 0};
  for (const MatmulTarget& target : targets)
    split.tasks += Split::tasks_of(target, split.panels_per_task);
  return split;
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
  size_t scratch_bytes = 0;  // per task
  for (const MatmulTarget& target : targets) {
    if (target.weights->layout() == quant::Layout::kFile)
      scratch_bytes = std::max(scratch_bytes, target.weights->panel_bytes());
  }
  const Split split = split_work(targets, context.pool->num_threads());
  RILL_ASSIGN_OR_RETURN(const std::span<std::byte> scratch,
                        context.scratch->take<std::byte>(split.tasks * scratch_bytes));
  parallel_runs(context, split.tasks, [&](size_t task) {
    std::byte* own = scratch.data() + task * scratch_bytes;
    for (size_t i = 0; i < targets.size(); ++i) {
      const MatmulTarget& target = targets[i];
      const size_t tasks = Split::tasks_of(target, split.panels_per_task);
      if (task < tasks) {
        const size_t begin = task * split.panels_per_task;
        const size_t end = std::min(target.weights->num_panels(), begin + split.panels_per_task);
        return compute_panels(*context.kernels, input_of(i), target, begin, end, own);
      }
      task -= tasks;
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
