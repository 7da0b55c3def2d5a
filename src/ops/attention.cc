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

/// Keys and values of one tile and KV head. Keys are groups of kKeyGroup (ops/kv_cache.h): their
/// `rows` only count elements.
struct KvTile {
  TileRows k;
  TileRows v;
};

/// Keys of the groups that hold `keys` keys.
constexpr size_t whole_groups(size_t keys) {
  return (keys + kernels::kKeyGroup - 1) / kernels::kKeyGroup * kernels::kKeyGroup;
}

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

  [[nodiscard]] KvTile kv_tile(size_t g, size_t tile) const {
    constexpr size_t kTilesPerBlock = kKvBlockPositions / kTile;
    // A tile of keys takes as much room as one of values, whatever its inner order.
    const size_t row = g * kKvBlockPositions + tile % kTilesPerBlock * kTile;
    const TileRows block = {kv_.blocks[tile / kTilesPerBlock], kv_.dtype, d_};
    return {block.from(row), block.from(kv_.num_kv_heads * kKvBlockPositions + row)};
  }

  /// The same elements in F32: widened into `memory` if they are not.
  [[nodiscard]] TileRows widened(const TileRows& rows, size_t count, float* memory) const {
    if (rows.dtype == DType::kF32) return rows;
    table_.f16_to_f32(rows.f16(0), count * d_, memory);
    return {reinterpret_cast<const std::byte*>(memory), DType::kF32, d_};
  }

  /// One tile for the query heads of KV head g in row r. `next`: the tile that comes after it.
  /// is_cold: nobody has asked for this tile's values yet.
  void compute_tile(size_t r, size_t g, Range keys, const KvTile& tile, const KvTile& next,
                    bool is_cold, float* scores, const SoftmaxState& result) const {
    const float* q = q_.row(r) + g * group_ * d_;
    tile_key_scores(table_, {q, d_, group_, d_}, tile.k, keys.begin, keys.end, scores,
                    is_cold ? ahead(tile.v, tile.v.from(kTile / 2)) : half_of(next, 0));
    table_.softmax_tile(group_, keys.begin, keys.end, args_.scale, scores, result.m, result.l);
    tile_values(table_, scores + keys.begin, group_, tile.v, keys.begin, keys.end, d_, result.o,
                half_of(next, is_cold ? 0 : 1));
  }

  [[nodiscard]] TileRowsAhead ahead(const TileRows& first, const TileRows& second) const {
    return {first, second, context_.prefetch};
  }
  /// The first or the second half of a tile that comes next, if there is one.
  [[nodiscard]] TileRowsAhead half_of(const KvTile& next, size_t half) const {
    if (next.k.data == nullptr) return {};
    return ahead(next.k.from(half * kTile / 2), next.v.from(half * kTile / 2));
  }

  /// Rows [begin, end) for KV head g, tile by tile: half-precision keys are widened once for all.
  void run_rows(size_t begin, size_t end, size_t g, const TaskScratch& scratch) const {
    const size_t first_tile = first_key(args_.first_position + begin) / kTile;
    const size_t last_tile = (args_.first_position + end - 1) / kTile;
    for (size_t t = first_tile; t <= last_tile; ++t) {
      const KvTile stored = kv_tile(g, t);
      const size_t count = std::min(kTile, args_.first_position + end - t * kTile);
      const KvTile tile = {widened(stored.k, whole_groups(count), scratch.k),
                           widened(stored.v, count, scratch.v)};
      for (size_t r = begin; r < end; ++r) {
        const Range keys = keys_in_tile(r, t);
        if (keys.begin == keys.end) continue;
        compute_tile(r, g, keys, tile, {}, r == begin, scratch.scores, scratch.tile);
        const bool first = t == first_key(args_.first_position + r) / kTile;
        merge_tile(table_, scratch.tile, group_, d_, first,
                   running(r, g, scratch.m, scratch.l, r - begin));
      }
    }
    for (size_t r = begin; r < end; ++r) {
      finish_softmax(table_, group_, d_, running(r, g, scratch.m, scratch.l, r - begin));
    }
  }

  /// A single row, for the KV heads [first_head, last_head): memory is the limit, so each tile asks
  /// for the next one, of the next head at the end. is_cold: nobody has asked for the first tile.
  void run_row(size_t first_head, size_t last_head, bool is_cold,
               const TaskScratch& scratch) const {
    const size_t first_tile = first_key(args_.first_position) / kTile;
    const size_t last_tile = args_.first_position / kTile;
    for (size_t g = first_head; g < last_head; ++g) {
      const SoftmaxState result = running(0, g, scratch.m, scratch.l, 0);
      for (size_t t = first_tile; t <= last_tile; ++t) {
        KvTile next;
        if (t < last_tile) {
          next = kv_tile(g, t + 1);
        } else if (g + 1 < kv_.num_kv_heads) {
          next = kv_tile(g + 1, first_tile);
        }
        compute_tile(0, g, keys_in_tile(0, t), kv_tile(g, t), next, is_cold, scratch.scores,
                     scratch.tile);
        is_cold = false;
        merge_tile(table_, scratch.tile, group_, d_, t == first_tile, result);
      }
      finish_softmax(table_, group_, d_, result);
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
    const auto scratch_of = [&](size_t worker) {
      return TaskScratch(memory.data() + worker * size, group_, d_);
    };
    const auto run_task = [&](size_t task, size_t worker) {
      // Later rows see more keys: start with them, so that the last task to end is a small one.
      const size_t begin = (blocks - 1 - task / kv_.num_kv_heads) * kRowsPerTask;
      run_rows(begin, std::min(q_.rows, begin + kRowsPerTask), task % kv_.num_kv_heads,
               scratch_of(worker));
    };
    if (q_.rows > 1 && light) {
      for (size_t task = 0; task < tasks; ++task) run_task(task, 0);
    } else if (q_.rows > 1) {
      parallel_items(context_, tasks, workers, run_task);
    } else if (light) {
      run_row(0, tasks, true, scratch_of(0));
    } else {
      // A thread's first heads are cold; for later ones it has asked itself.
      parallel_runs(context_, tasks, [&](size_t first, size_t last, size_t worker) {
        run_row(first, last, first == worker * tasks / workers, scratch_of(worker));
      });
    }
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
      const size_t end = std::min(count, begin + kTilesPerTask);
      for (size_t i = begin; i < end; ++i) {
        const size_t tile = first + i;
        const size_t slot = i * args_.num_heads + g * group_;
        const KvTile next = i + 1 < end ? kv_tile(g, tile + 1) : KvTile{};
        compute_tile(r, g, keys_in_tile(r, tile), kv_tile(g, tile), next, i == begin,
                     scores + slot * kTile, results.from(slot));
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
