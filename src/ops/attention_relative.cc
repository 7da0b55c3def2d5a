// SPDX-License-Identifier: Apache-2.0
// The conformer's attention with relative positions: the tile rule of causal attention, without a
// mask.
#include <algorithm>

#include "base/check.h"
#include "ops/attention.h"
#include "ops/attention_tiles.h"
#include "ops/parallel.h"

namespace rill::ops {
namespace {

constexpr size_t kTile = kernels::kAttentionTile;
constexpr size_t kQueriesPerTask = 32;
// Relative positions that a block of queries meets in one tile of keys.
constexpr size_t kBand = kTile + kQueriesPerTask - 1;

struct RelativeScratch {
  RelativeScratch(float* memory, size_t d) {
    const auto take = [&memory](size_t count) {
      float* piece = memory;
      memory += count;
      return piece;
    };
    q_u = take(kQueriesPerTask * d);
    q_v = take(kQueriesPerTask * d);
    scores = take(kQueriesPerTask * kTile);
    position_scores = take(kTile);
    tile = {take(kQueriesPerTask), take(kQueriesPerTask), take(kQueriesPerTask * d), d};
    m = take(kQueriesPerTask);
    l = take(kQueriesPerTask);
    k = take(kTile * d);
    v = take(kTile * d);
    band = take(kBand * d);
  }
  static size_t size(size_t d) {
    return kQueriesPerTask * (3 * d + kTile + 4) + kTile + (2 * kTile + kBand) * d;
  }

  float* q_u;  // queries plus bias_u, [kQueriesPerTask, d]
  float* q_v;
  float* scores;
  float* position_scores;
  SoftmaxState tile;
  float* m;
  float* l;
  // One head's part of a tile's rows, side by side: in place they lie a whole row apart and share
  // few cache sets.
  float* k;
  float* v;
  float* band;  // positions, [kBand, d]
};

/// Copies one head's columns of rows [row, row + count).
TileRows gather(ConstMat mat, size_t row, size_t count, size_t head, size_t d, float* memory) {
  for (size_t i = 0; i < count; ++i) std::copy_n(mat.row(row + i) + head * d, d, memory + i * d);
  return {reinterpret_cast<const std::byte*>(memory), DType::kF32, d};
}

struct RelativeAttention {
  const kernels::KernelTable& table;
  ConstMat q, k, v, positions;
  const RelPosAttentionArgs& args;
  Mat out;
  size_t d;

  /// Queries [begin, end) of one head against all keys.
  void run(size_t begin, size_t end, size_t head, const RelativeScratch& scratch) const {
    const size_t queries = end - begin;
    for (size_t i = 0; i < queries; ++i) {
      const float* row = q.row(begin + i) + head * d;
      for (size_t c = 0; c < d; ++c) scratch.q_u[i * d + c] = row[c] + args.bias_u[head * d + c];
      for (size_t c = 0; c < d; ++c) scratch.q_v[i * d + c] = row[c] + args.bias_v[head * d + c];
    }
    const SoftmaxState running{scratch.m, scratch.l, out.row(begin) + head * d, out.stride};
    for (size_t start = 0; start < k.rows; start += kTile) {
      const size_t count = std::min(kTile, k.rows - start);
      score_tile(begin, queries, head, start, count, scratch);
      table.softmax_tile(queries, 0, count, args.scale, scratch.scores, scratch.tile.m,
                         scratch.tile.l);
      const TileRows values = gather(v, start, count, head, d, scratch.v);
      tile_values(table, scratch.scores, queries, values, 0, count, d, scratch.tile.o);
      merge_tile(table, scratch.tile, queries, d, start == 0, running);
    }
    finish_softmax(table, queries, d, running);
  }

  /// scores[i, j] = (q_i + u) . k_j + (q_i + v) . p[T - 1 - (i - j)]
  void score_tile(size_t begin, size_t queries, size_t head, size_t start, size_t count,
                  const RelativeScratch& scratch) const {
    const TileRows keys = gather(k, start, count, head, d, scratch.k);
    table.dot_rows_f32({scratch.q_u, d, queries, keys.f32(0), keys.stride, count, d},
                       scratch.scores);
    // The last query's first key has the lowest row.
    const size_t lowest = k.rows - (begin + queries) + start;
    const TileRows band = gather(positions, lowest, count + queries - 1, head, d, scratch.band);
    for (size_t i = 0; i < queries; ++i) {
      table.dot_rows_f32(
          {scratch.q_v + i * d, d, 1, band.f32(queries - 1 - i), band.stride, count, d},
          scratch.position_scores);
      table.add_scaled(scratch.position_scores, 1.0f, count, scratch.scores + i * kTile);
    }
  }
};

}  // namespace

Status rel_pos_attention(Context& context, ConstMat q, ConstMat k, ConstMat v, ConstMat positions,
                         const RelPosAttentionArgs& args, Mat out) {
  const size_t time = q.rows;
  RILL_CHECK(args.num_heads > 0 && q.cols % args.num_heads == 0, "rel_pos_attention: head count");
  RILL_CHECK(k.rows == time && v.rows == time && out.rows == time && k.cols == q.cols &&
                 v.cols == q.cols && out.cols == q.cols,
             "rel_pos_attention: shapes");
  if (time == 0) return {};
  RILL_CHECK(positions.rows == 2 * time - 1 && positions.cols == q.cols,
             "rel_pos_attention: positions");
  const size_t d = q.cols / args.num_heads;
  const size_t blocks = (time + kQueriesPerTask - 1) / kQueriesPerTask;
  const size_t tasks = blocks * args.num_heads;
  const size_t workers = std::min(tasks, context.pool->num_threads());
  const size_t size = RelativeScratch::size(d);
  Arena::Scope scope(*context.scratch);
  RILL_ASSIGN_OR_RETURN(std::span<float> memory, context.scratch->take<float>(workers * size));
  const RelativeAttention attention{*context.kernels, q, k, v, positions, args, out, d};
  parallel_items(context, tasks, workers, [&](size_t task, size_t worker) {
    const size_t begin = task % blocks * kQueriesPerTask;
    const RelativeScratch scratch(memory.data() + worker * size, d);
    attention.run(begin, std::min(time, begin + kQueriesPerTask), task / blocks, scratch);
  });
  return {};
}

}  // namespace rill::ops
