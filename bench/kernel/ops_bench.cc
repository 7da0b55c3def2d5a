// SPDX-License-Identifier: Apache-2.0
// Benchmarks of the norm, rope, attention, conv, elementwise and quantize_activations rows, at the
// shapes of the 1.2b text model (width 2048, 8 groups of 4 heads of 64) and of the audio encoder
// (width 512). One call works on what the first-level caches hold, except where attention at depth
// reads keys and values from memory.
#include <algorithm>
#include <cstring>
#include <vector>

#include "kernel/kernel_bench.h"
#include "kernel/kernel_checks.h"

namespace rill::kernels {
namespace {

using test::Random;
using test::Values;

constexpr size_t kWidth = 2048;
constexpr size_t kEncoderWidth = 512;
constexpr size_t kHeadDim = 64;
constexpr size_t kHeads = 32;
constexpr size_t kGroup = 4;            // query heads of a KV head: one decoded token
constexpr size_t kPrefillQueries = 64;  // and of 16 tokens of a prompt
constexpr size_t kTileValues = kAttentionTile * kHeadDim;
constexpr size_t kDeepTiles = 4096;  // 64 MiB of F32 keys: more than caches hold
constexpr size_t kValues = size_t{1} << 15;

/// Inputs for all benchmarks, and the output of one.
struct Data {
  explicit Data(size_t num_tiles)
      : x(kValues), w(kValues), f32_rows(num_tiles * kTileValues), f16_rows(f32_rows.size()) {
    Random random(1);
    for (std::vector<float>* values : {&x, &w}) {
      for (float& value : *values) value = test_value(random, Values::kOrdinary);
    }
    for (size_t i = 0; i < f32_rows.size(); ++i) f32_rows[i] = x[i % kValues];
    kernel_table(IsaTier::kScalar).f32_to_f16(f32_rows.data(), f32_rows.size(), f16_rows.data());
    for (size_t tap = 0; tap < 9; ++tap) taps.push_back(x.data() + tap * kWidth);
    clear();
  }
  void clear() {
    out.assign(kValues, 0.0f);
    halves.assign(kValues, 0);
    chunks.assign(kWidth / 256, {});
  }
  /// Whether a call has left the same bits here as in the other one.
  [[nodiscard]] bool same_output(const Data& other) const {
    const auto same = [](const auto& a, const auto& b) {
      return std::memcmp(a.data(), b.data(), a.size() * sizeof(a[0])) == 0;
    };
    return same(out, other.out) && same(halves, other.halves) && same(chunks, other.chunks);
  }
  template <typename Element>
  [[nodiscard]] const Element* tile(size_t index) const {
    if constexpr (sizeof(Element) == 2)
      return f16_rows.data() + index * kTileValues;
    else
      return f32_rows.data() + index * kTileValues;
  }

  std::vector<float> x, w;
  std::vector<float> f32_rows;
  std::vector<uint16_t> f16_rows;
  std::vector<const float*> taps;
  std::vector<float> out;
  std::vector<uint16_t> halves;
  std::vector<ActivationChunk> chunks;
};

struct Op {
  std::string_view function;
  std::string_view shape;
  double bytes;
  double operations;
  void (*run)(const KernelTable& table, Data& data);
  bool deep = false;  ///< reads kDeepTiles tiles from memory
};

template <auto Member>
void map(const KernelTable& table, Data& data) {
  (table.*Member)(data.x.data(), kWidth, data.out.data());
}
template <auto Member>
void map2(const KernelTable& table, Data& data) {
  (table.*Member)(data.x.data(), data.w.data(), kWidth, data.out.data());
}
template <auto Member>
void rope(const KernelTable& table, Data& data) {
  // In place on fresh values, so that repeated calls do the same.
  std::copy_n(data.x.data(), kHeads * kHeadDim, data.out.data());
  (table.*Member)(data.w.data(), kHeadDim, kHeads, data.out.data());
}
/// The next tile, as two halves.
template <typename Element, size_t kTiles>
kernels::ElementsAhead<Element> tile_after(Data& data, size_t t) {
  if (t + 1 == kTiles) return {};
  const Element* next = data.tile<Element>(t + 1);
  return {next, next + kAttentionTile / 2 * kHeadDim, cpu_gains_from_prefetch()};
}
void row_dots(const KernelTable& table, Data& data) {
  table.dot_rows_f32({data.x.data(), kHeadDim, kPrefillQueries, data.tile<float>(0), kHeadDim,
                      kAttentionTile, kHeadDim},
                     data.out.data());
}
template <auto Member, typename Element, size_t kQueries, size_t kTiles>
void key_dots(const KernelTable& table, Data& data) {
  for (size_t t = 0; t < kTiles; ++t) {
    (table.*Member)(
        {data.x.data(), kHeadDim, kQueries, data.tile<Element>(t),
         kAttentionTile / kernels::kKeyGroup, kHeadDim, tile_after<Element, kTiles>(data, t)},
        data.out.data());
  }
}
template <auto Member, typename Element, size_t kQueries, size_t kTiles>
void sums(const KernelTable& table, Data& data) {
  for (size_t t = 0; t < kTiles; ++t) {
    (table.*Member)({data.x.data(), kQueries, data.tile<Element>(t), kHeadDim, kAttentionTile,
                     kHeadDim, tile_after<Element, kTiles>(data, t)},
                    data.out.data());
  }
}
template <size_t kQueries>
void softmax(const KernelTable& table, Data& data) {
  float m[kQueries];
  float* scores = data.out.data();
  std::copy_n(data.x.data(), kQueries * kAttentionTile, scores);
  table.softmax_tile(kQueries, 0, kAttentionTile, 0.125f, scores, m,
                     scores + kQueries * kAttentionTile);
}
template <size_t kQueries>
void merge(const KernelTable& table, Data& data) {
  float* m = data.out.data() + kQueries * kHeadDim;
  std::copy_n(data.w.data(), kQueries, m);
  std::copy_n(data.w.data(), kQueries, m + kQueries);
  std::copy_n(data.w.data(), kQueries * kHeadDim, data.out.data());
  table.merge_tile(
      {data.x.data(), data.x.data() + 64, data.x.data() + 128, kQueries, kHeadDim, kHeadDim}, m,
      m + kQueries, data.out.data());
}

/// The short convolution of a text model's block: taps 3, the gate of its input.
void short_conv(const KernelTable& table, Data& data) {
  table.depthwise({data.taps.data(), data.w.data(), 3, kWidth, nullptr, nullptr, nullptr,
                   data.x.data() + 3 * kWidth, nullptr},
                  data.out.data());
}
/// The conformer's depthwise convolution with its folded batch norm.
void conformer_conv(const KernelTable& table, Data& data) {
  const float* parts = data.x.data() + 10 * kWidth;
  table.depthwise({data.taps.data(), data.w.data(), 9, kEncoderWidth, parts, parts + kEncoderWidth,
                   parts + 2 * kEncoderWidth, nullptr, nullptr},
                  data.out.data());
}
/// A 3 x 3 depthwise convolution of the encoder's subsampling: 256 channels.
void subsampling_conv(const KernelTable& table, Data& data) {
  table.depthwise({data.taps.data(), data.w.data(), 9, 256, data.x.data() + 10 * kWidth, nullptr,
                   nullptr, nullptr, nullptr},
                  data.out.data());
}

constexpr double kMapBytes = 8 * kWidth;
constexpr double kMap2Bytes = 12 * kWidth;
constexpr double kDots = 2.0 * kTileValues;  // operations of a query and a tile

constexpr Op kOps[] = {
    {"rms_norm", "2048", kMap2Bytes, 4 * kWidth,
     [](const KernelTable& t, Data& d) {
       t.rms_norm(d.x.data(), d.w.data(), 1e-5f, kWidth, d.out.data());
     }},
    {"rms_norm", "head_64", 12 * kHeadDim, 4 * kHeadDim,
     [](const KernelTable& t, Data& d) {
       t.rms_norm(d.x.data(), d.w.data(), 1e-5f, kHeadDim, d.out.data());
     }},
    {"layer_norm", "512", 16 * kEncoderWidth, 8 * kEncoderWidth,
     [](const KernelTable& t, Data& d) {
       t.layer_norm(d.x.data(), d.w.data(), d.w.data() + kWidth, 1e-5f, kEncoderWidth,
                    d.out.data());
     }},
    {"add_scaled", "2048", kMap2Bytes, kWidth,
     [](const KernelTable& t, Data& d) {
       std::copy_n(d.w.data(), kWidth, d.out.data());
       t.add_scaled(d.x.data(), 1.0f, kWidth, d.out.data());
     }},
    {"multiply", "2048", kMap2Bytes, kWidth, map2<&KernelTable::multiply>},
    {"silu_mul", "2048", kMap2Bytes, 0, map2<&KernelTable::silu_mul>},
    {"sigmoid_mul", "2048", kMap2Bytes, 0, map2<&KernelTable::sigmoid_mul>},
    {"silu", "2048", kMapBytes, 0, map<&KernelTable::silu>},
    {"sigmoid", "2048", kMapBytes, 0, map<&KernelTable::sigmoid>},
    {"gelu", "2048", kMapBytes, 0, map<&KernelTable::gelu>},
    {"exponential", "2048", kMapBytes, 0, map<&KernelTable::exponential>},
    {"relu", "2048", kMapBytes, 0, map<&KernelTable::relu>},
    {"all_finite", "2048", 4 * kWidth, 0,
     [](const KernelTable& t, Data& d) {
       d.out[0] = static_cast<float>(t.all_finite(d.x.data(), kWidth));
     }},
    {"rope_half", "32_heads", kMapBytes, 3 * kWidth, rope<&KernelTable::rope_half>},
    {"rope_pair", "32_heads", kMapBytes, 3 * kWidth, rope<&KernelTable::rope_pair>},
    {"depthwise", "short_conv", 8 * 4 * kWidth, 7 * kWidth, short_conv},
    {"depthwise", "1d_9_taps", 22 * 4 * kEncoderWidth, 21 * kEncoderWidth, conformer_conv},
    {"depthwise", "2d_3x3", 20 * 4 * 256, 19 * 256, subsampling_conv},
    {"dot_rows_f32", "prefill", 4 * kTileValues, kPrefillQueries* kDots, row_dots},
    {"dot_keys_f32", "decode", kDeepTiles * 4 * kTileValues, kDeepTiles* kGroup* kDots,
     key_dots<&KernelTable::dot_keys_f32, float, kGroup, kDeepTiles>, true},
    {"dot_keys_f32", "prefill", 4 * kTileValues, kPrefillQueries* kDots,
     key_dots<&KernelTable::dot_keys_f32, float, kPrefillQueries, 1>},
    {"dot_keys_f16", "decode", kDeepTiles * 2 * kTileValues, kDeepTiles* kGroup* kDots,
     key_dots<&KernelTable::dot_keys_f16, uint16_t, kGroup, kDeepTiles>, true},
    {"dot_keys_f16", "prefill", 2 * kTileValues, kPrefillQueries* kDots,
     key_dots<&KernelTable::dot_keys_f16, uint16_t, kPrefillQueries, 1>},
    {"weighted_sum_f32", "decode", kDeepTiles * 4 * kTileValues, kDeepTiles* kGroup* kDots,
     sums<&KernelTable::weighted_sum_f32, float, kGroup, kDeepTiles>, true},
    {"weighted_sum_f32", "prefill", 4 * kTileValues, kPrefillQueries* kDots,
     sums<&KernelTable::weighted_sum_f32, float, kPrefillQueries, 1>},
    {"weighted_sum_f16", "decode", kDeepTiles * 2 * kTileValues, kDeepTiles* kGroup* kDots,
     sums<&KernelTable::weighted_sum_f16, uint16_t, kGroup, kDeepTiles>, true},
    {"weighted_sum_f16", "prefill", 2 * kTileValues, kPrefillQueries* kDots,
     sums<&KernelTable::weighted_sum_f16, uint16_t, kPrefillQueries, 1>},
    {"softmax_tile", "decode", 8 * kGroup* kAttentionTile, 0, softmax<kGroup>},
    {"softmax_tile", "prefill", 8 * kPrefillQueries* kAttentionTile, 0, softmax<kPrefillQueries>},
    {"merge_tile", "decode", 12 * kGroup* kHeadDim, 3 * kGroup* kHeadDim, merge<kGroup>},
    {"merge_tile", "prefill", 12 * kPrefillQueries* kHeadDim, 3 * kPrefillQueries* kHeadDim,
     merge<kPrefillQueries>},
    {"divide", "head_64", 8 * kHeadDim, kHeadDim,
     [](const KernelTable& t, Data& d) { t.divide(d.x.data(), 3.7f, kHeadDim, d.out.data()); }},
    {"f32_to_f16", "2048", 6 * kWidth, 0,
     [](const KernelTable& t, Data& d) { t.f32_to_f16(d.x.data(), kWidth, d.halves.data()); }},
    {"f16_to_f32", "2048", 6 * kWidth, 0,
     [](const KernelTable& t, Data& d) { t.f16_to_f32(d.f16_rows.data(), kWidth, d.out.data()); }},
    {"quantize_activations", "2048", 4 * kWidth + kWidth / 256 * sizeof(ActivationChunk), 0,
     [](const KernelTable& t, Data& d) {
       t.quantize_activations(d.x.data(), kWidth, d.chunks.data(), 1);
     }},
};

void run_op(benchmark::State& state, const Op& op, IsaTier tier) {
  const size_t num_tiles = op.deep ? kDeepTiles : 1;
  Data data(num_tiles);
  Data expected(num_tiles);
  const KernelTable& table = kernel_table(tier);
  op.run(kernel_table(IsaTier::kScalar), expected);
  op.run(table, data);
  if (!data.same_output(expected)) {
    state.SkipWithError("differs from scalar");
    return;
  }
  for (auto _ : state) {
    op.run(table, data);
    benchmark::ClobberMemory();
  }
  const MachineLimits& limits = machine_limits();
  set_counters(state, {op.bytes, op.operations, op.deep ? limits.read_gb_s : 0,
                       op.operations > 0 ? limits.fma_gflop_s : 0});
}

}  // namespace

bool register_op(const KernelRow& row) {
  bool found = false;
  for (const Op& op : kOps) {
    if (row.function != op.function) continue;
    found = true;
    benchmark::RegisterBenchmark(
        bench_name(op.function, row.tier, op.shape).c_str(),
        [&op, tier = row.tier](benchmark::State& state) { run_op(state, op, tier); });
  }
  return found;
}

}  // namespace rill::kernels
