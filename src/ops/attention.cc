// SPDX-License-Identifier: Apache-2.0
// Causal attention over the KV cache. Two ways to share the work, with equal results: blocks of
// rows times KV heads, or, when those are too few for the threads (decode), the tiles of one row.
#include "ops/attention.h"

#include <algorithm>

#include "base/check.h"
#include "ops/attention_tiles.h"
#include "ops/parallel.h"

namespace rill::ops {
namespace {

constexpr size_t kTile = kernels::kAttentionTile;
static_assert(kKvBlockPositions % kTile == 0);
// Rows that share one visit of a tile, so that half-precision keys are widened once for all of
// them.
constexpr size_t kRowsPerTask = 16;
// Tiles of one row that are computed before they are merged; bounds the scratch memory of decode.
constexpr size_t kTilesPerRound = 64;
constexpr size_t kTilesPerTask = 4;

struct Range {
  size_t begin = 0;
  size_t end = 0;
};

/// Scratch memory of one task, cut out of one piece.
struct TaskScratch {
  TaskScratch(float* memory, size_t group, size_t head_dim) {
    const auto take = [&memory](size_t count) {
      float* piece = memory;
      memory += count;
      return piece;
    };
    k = take(kTile * head_dim);
    v = take(kTile * head_dim);
    scores = take(group * kTile);
    tile = {take(group), take(group), take(group * head_dim), head_dim};
    m = take(kRowsPerTask * group);
    l = take(kRowsPerTask * group);
  }
  static size_t size(size_t group, size_t head_dim) {
    const size_t used = 2 * kTile * head_dim + group * (kTile + 2 + head_dim + 2 * kRowsPerTask);
    return (used + 15) / 16 * 16;
  }

  float* k;  // the tile's keys and values widened to F32
  float* v;
  float* scores;  // [group, kTile]
  SoftmaxState tile;
  float* m;  // running, [kRowsPerTask, group]
  float* l;
};

class CausalAttention {
 public:
  CausalAttention(Context& context, ConstMat q, const KvView& kv, const AttentionArgs& args,
                  Mat out)
      : context_(context),
        table_(*context.kernels),
        q_(q),
        kv_(kv),
        args_(args),
        out_(out),
        d_(kv.head_dim),
        group_(args.num_heads / kv.num_kv_heads) {}

  Status run() {
    const size_t blocks = (q_.rows + kRowsPerTask - 1) / kRowsPerTask;
    const size_t tasks = blocks * kv_.num_kv_heads;
    const size_t threads = context_.pool->num_threads();
    const size_t tiles = (args_.first_position + q_.rows + kTile - 1) / kTile;
    if (tasks < 2 * threads && threads > 1 && tiles > kTilesPerTask) return run_by_tiles();
    return run_by_rows(blocks);
  }

 private:
  /// The keys of `tile` that the query in row r sees, counted from the tile's first position.
  [[nodiscard]] Range keys_in_tile(size_t r, size_t tile) const {
    const size_t position = args_.first_position + r;
    const size_t first = first_key(position);
    const size_t start = tile * kTile;
    if (position < start || first >= start + kTile) return {};
    return {first > start ? first - start : 0, std::min(kTile, position + 1 - start)};
  }
  [[nodiscard]] size_t first_key(size_t position) const {
    return args_.window == 0 || position < args_.window ? 0 : position - args_.window + 1;
  }

  [[nodiscard]] TileRows tile_rows(size_t part, size_t g, size_t tile) const {
    constexpr size_t kTilesPerBlock = kKvBlockPositions / kTile;
    const size_t row =
        (part * kv_.num_kv_heads + g) * kKvBlockPositions + tile % kTilesPerBlock * kTile;
    return {kv_.blocks[tile / kTilesPerBlock] + row_bytes(kv_.dtype, row * d_), kv_.dtype, d_};
  }

  /// The same rows in F32: widened into `memory` if they are not.
  [[nodiscard]] TileRows widened(const TileRows& rows, size_t count, float* memory) const {
    if (rows.dtype == DType::kF32) return rows;
    table_.f16_to_f32(rows.f16(0), count * d_, memory);
    return {reinterpret_cast<const std::byte*>(memory), DType::kF32, d_};
  }

  /// One tile for the query heads of KV head g in row r. next_k: the keys that come after it.
  void compute_tile(size_t r, size_t g, Range keys, const TileRows& k, const TileRows& v,
                    const TileRows& next_k, float* scores, const SoftmaxState& result) const {
    const float* q = q_.row(r) + g * group_ * d_;
    float* first_score = scores + keys.begin;
    tile_scores(table_, q, d_, group_, k, keys.begin, keys.end, d_, first_score,
                v.from(keys.begin));
    table_.softmax_tile(group_, keys.begin, keys.end, args_.scale, scores, result.m, result.l);
    tile_values(table_, first_score, group_, v, keys.begin, keys.end, d_, result.o, next_k);
  }

  /// Rows [begin, end) for KV head g, tile by tile.
  void run_rows(size_t begin, size_t end, size_t g, const TaskScratch& scratch) const {
    const size_t first_tile = first_key(args_.first_position + begin) / kTile;
    const size_t last_tile = (args_.first_position + end - 1) / kTile;
    for (size_t tile = first_tile; tile <= last_tile; ++tile) {
      TileRows k = tile_rows(0, g, tile);
      TileRows v = tile_rows(1, g, tile);
      TileRows next_k;
      if (end - begin > 1) {
        // Only positions that are stored: what lies behind them is not initialised.
        const size_t stored = std::min(kTile, args_.first_position + end - tile * kTile);
        k = widened(k, stored, scratch.k);
        v = widened(v, stored, scratch.v);
      } else if (tile < last_tile) {
        next_k = tile_rows(0, g, tile + 1);
      }
      for (size_t r = begin; r < end; ++r) {
        const Range keys = keys_in_tile(r, tile);
        if (keys.begin == keys.end) continue;
        compute_tile(r, g, keys, k, v, next_k, scratch.scores, scratch.tile);
        const bool first = tile == first_key(args_.first_position + r) / kTile;
        merge_tile(table_, scratch.tile, group_, d_, first,
                   running(r, g, scratch.m, scratch.l, r - begin));
      }
    }
    for (size_t r = begin; r < end; ++r) {
      finish_softmax(table_, group_, d_, running(r, g, scratch.m, scratch.l, r - begin));
    }
  }

  /// The running result of row r and KV head g; `slot` picks its place in m and l.
  [[nodiscard]] SoftmaxState running(size_t r, size_t g, float* m, float* l, size_t slot) const {
    return {m + slot * group_, l + slot * group_, out_.row(r) + g * group_ * d_, d_};
  }

  Status run_by_rows(size_t blocks) {
    const size_t tasks = blocks * kv_.num_kv_heads;
    // A few keys (the start of a sequence, the codebooks of a frame) are not worth sharing.
    const size_t keys = args_.first_position + q_.rows - first_key(args_.first_position);
    const bool light = q_.rows * q_.cols * keys < kLightGrain;
    const size_t workers = light ? 1 : std::min(tasks, context_.pool->num_threads());
    const size_t size = TaskScratch::size(group_, d_);
    Arena::Scope scope(*context_.scratch);
    RILL_ASSIGN_OR_RETURN(std::span<float> memory, context_.scratch->take<float>(workers * size));
    parallel_items(context_, tasks, workers, [&](size_t task, size_t worker) {
      // Later rows see more keys: start with them, so that the last task to end is a small one.
      const size_t block = blocks - 1 - task / kv_.num_kv_heads;
      const size_t begin = block * kRowsPerTask;
      const TaskScratch scratch(memory.data() + worker * size, group_, d_);
      run_rows(begin, std::min(q_.rows, begin + kRowsPerTask), task % kv_.num_kv_heads, scratch);
    });
    return {};
  }

  Status run_by_tiles() {
    const size_t heads = args_.num_heads;
    Arena::Scope scope(*context_.scratch);
    RILL_ASSIGN_OR_RETURN(std::span<float> tile_m,
                          context_.scratch->take<float>(kTilesPerRound * heads));
    RILL_ASSIGN_OR_RETURN(std::span<float> tile_l,
                          context_.scratch->take<float>(kTilesPerRound * heads));
    RILL_ASSIGN_OR_RETURN(std::span<float> tile_o,
                          context_.scratch->take<float>(kTilesPerRound * heads * d_));
    RILL_ASSIGN_OR_RETURN(std::span<float> scores,
                          context_.scratch->take<float>(kTilesPerRound * heads * kTile));
    RILL_ASSIGN_OR_RETURN(std::span<float> m, context_.scratch->take<float>(heads));
    RILL_ASSIGN_OR_RETURN(std::span<float> l, context_.scratch->take<float>(heads));
    const SoftmaxState results{tile_m.data(), tile_l.data(), tile_o.data(), d_};
    for (size_t r = 0; r < q_.rows; ++r) {
      const size_t first = first_key(args_.first_position + r) / kTile;
      const size_t end = (args_.first_position + r) / kTile + 1;
      for (size_t round = first; round < end; round += kTilesPerRound) {
        const size_t tiles = std::min(kTilesPerRound, end - round);
        compute_round(r, round, tiles, results, scores.data());
        context_.pool->parallel_for(kv_.num_kv_heads, [&](size_t g) {
          const SoftmaxState state = running(r, g, m.data() + g * group_, l.data() + g * group_, 0);
          for (size_t i = 0; i < tiles; ++i) {
            merge_tile(table_, results.from(i * heads + g * group_), group_, d_, round + i == first,
                       state);
          }
          if (round + tiles == end) finish_softmax(table_, group_, d_, state);
        });
      }
    }
    return {};
  }

  /// Tiles [first, first + count) of row r, all heads; results and scores are indexed [tile, head].
  void compute_round(size_t r, size_t first, size_t count, const SoftmaxState& results,
                     float* scores) const {
    const size_t spans = (count + kTilesPerTask - 1) / kTilesPerTask;
    context_.pool->parallel_for(spans * kv_.num_kv_heads, [&](size_t task) {
      const size_t g = task % kv_.num_kv_heads;
      const size_t begin = task / kv_.num_kv_heads * kTilesPerTask;
      for (size_t i = begin; i < std::min(count, begin + kTilesPerTask); ++i) {
        const size_t tile = first + i;
        const size_t slot = i * args_.num_heads + g * group_;
        const TileRows next_k = i + 1 < count ? tile_rows(0, g, tile + 1) : TileRows{};
        compute_tile(r, g, keys_in_tile(r, tile), tile_rows(0, g, tile), tile_rows(1, g, tile),
                     next_k, scores + slot * kTile, results.from(slot));
      }
    });
  }

  Context& context_;
  const kernels::KernelTable& table_;
  const ConstMat q_;
  const KvView& kv_;
  const AttentionArgs& args_;
  const Mat out_;
  const size_t d_;      // head_dim
  const size_t group_;  // query heads per KV head
};

}  // namespace

void store_kv(Context& context, ConstMat k, ConstMat v, size_t first_position, const KvView& kv) {
  const size_t d = kv.head_dim;
  RILL_CHECK(k.cols == kv.num_kv_heads * d && v.cols == k.cols && v.rows == k.rows,
             "store_kv: shapes");
  RILL_CHECK(kv.dtype == DType::kF32 || kv.dtype == DType::kF16,
             "store_kv: the cache is F32 or F16");
  RILL_CHECK(
      (first_position + k.rows + kKvBlockPositions - 1) / kKvBlockPositions <= kv.blocks.size(),
      "store_kv: positions past the last block");
  const auto store_row = [&](const float* values, size_t part, size_t position) {
    std::byte* block = kv.blocks[position / kKvBlockPositions];
    for (size_t g = 0; g < kv.num_kv_heads; ++g) {
      const size_t row =
          (part * kv.num_kv_heads + g) * kKvBlockPositions + position % kKvBlockPositions;
      std::byte* place = block + row_bytes(kv.dtype, row * d);
      if (kv.dtype == DType::kF32) {
        std::copy_n(values + g * d, d, reinterpret_cast<float*>(place));
      } else {
        context.kernels->f32_to_f16(values + g * d, d, reinterpret_cast<uint16_t*>(place));
      }
    }
  };
  parallel_ranges(context, k.rows, 2 * k.cols, kLightGrain, [&](size_t begin, size_t end) {
    for (size_t t = begin; t < end; ++t) {
      store_row(k.row(t), 0, first_position + t);
      store_row(v.row(t), 1, first_position + t);
    }
  });
}

Status attention(Context& context, ConstMat q, const KvView& kv, const AttentionArgs& args,
                 Mat out) {
  RILL_CHECK(kv.num_kv_heads > 0 && args.num_heads % kv.num_kv_heads == 0,
             "attention: head counts");
  RILL_CHECK(q.cols == args.num_heads * kv.head_dim && out.cols == q.cols && out.rows == q.rows,
             "attention: shapes");
  RILL_CHECK((args.first_position + q.rows + kKvBlockPositions - 1) / kKvBlockPositions <=
                 kv.blocks.size(),
             "attention: positions past the last block");
  if (q.rows == 0) return {};
  return CausalAttention(context, q, kv, args, out).run();
}

}  // namespace rill::ops
