// SPDX-License-Identifier: Apache-2.0
// The checks of the norm, elementwise, rope, attention and conv kernels.
#include <algorithm>
#include <array>

#include "kernel/kernel_checks.h"

namespace rill::test {
namespace {

using kernels::kAttentionTile;
using kernels::KernelTable;

constexpr size_t kSizes[] = {0, 1, 3, 15, 16, 17, 31, 33, 64, 160, 2053};

const KernelTable& scalar() { return kernels::kernel_table(IsaTier::kScalar); }

/// Calls check(size, kind, random) over all sizes and kinds of values.
template <typename Check>
void for_cases(const Check& check) {
  Random random(20240611);
  for (const size_t size : kSizes) {
    for (const Values kind : kAllValues) check(size, kind, random);
  }
}

std::string case_name(std::string_view function, size_t size, Values kind) {
  return cat(function, " of ", size, " values of kind ", static_cast<int>(kind));
}

/// f(x, size, out), also in place.
template <auto Member>
void check_map(const KernelTable& tier, CheckLog& log) {
  for_cases([&](size_t size, Values kind, Random& random) {
    TestVector x(random, kind, size);
    // The functions' whole range.
    for (size_t i = 0; i < size; i += 3) x.data()[i] = random.uniform(-120.0f, 120.0f);
    TestVector want(size, 7.0f);
    TestVector got(size, 7.0f);
    (scalar().*Member)(x.data(), size, want.data());
    (tier.*Member)(x.data(), size, got.data());
    expect_same(got, want, case_name("map", size, kind), log);
    TestVector in_place = x;
    (tier.*Member)(in_place.data(), size, in_place.data());
    expect_same({in_place.data(), size}, {want.data(), size}, case_name("map in place", size, kind),
                log);
  });
}

/// f(a, b, size, out)
template <auto Member>
void check_map2(const KernelTable& tier, CheckLog& log) {
  for_cases([&](size_t size, Values kind, Random& random) {
    const TestVector a(random, kind, size);
    const TestVector b(random, kind, size);
    TestVector want(size, 7.0f);
    TestVector got(size, 7.0f);
    (scalar().*Member)(a.data(), b.data(), size, want.data());
    (tier.*Member)(a.data(), b.data(), size, got.data());
    expect_same(got, want, case_name("map of two", size, kind), log);
  });
}

void check_add_scaled(const KernelTable& tier, CheckLog& log) {
  for_cases([&](size_t size, Values kind, Random& random) {
    for (const float alpha : {1.0f, 0.5f, -1.7f}) {
      const TestVector x(random, kind, size);
      const TestVector y(random, kind, size);
      TestVector want = y;
      TestVector got = y;
      scalar().add_scaled(x.data(), alpha, size, want.data());
      tier.add_scaled(x.data(), alpha, size, got.data());
      expect_same(got, want, case_name("add_scaled", size, kind), log);
    }
  });
}

void check_all_finite(const KernelTable& tier, CheckLog& log) {
  const float infinity = __builtin_inff();
  for_cases([&](size_t size, Values kind, Random& random) {
    TestVector x(random, kind, size);
    if (scalar().all_finite(x.data(), size) != tier.all_finite(x.data(), size)) {
      log.fail(case_name("all_finite", size, kind));
    }
    if (kind == Values::kNonFinite) return;
    // One bad value at every place.
    for (size_t i = 0; i < std::min<size_t>(size, 70); ++i) {
      const float saved = x.data()[i];
      for (const float bad : {infinity, -infinity, __builtin_nanf("")}) {
        x.data()[i] = bad;
        if (tier.all_finite(x.data(), size) != 0)
          log.fail(cat("all_finite misses value ", i, " of ", size));
      }
      x.data()[i] = saved;
    }
  });
}

void check_rms_norm(const KernelTable& tier, CheckLog& log) {
  for_cases([&](size_t size, Values kind, Random& random) {
    const TestVector x(random, kind, size);
    const TestVector weight(random, Values::kOrdinary, size);
    TestVector want(size, 7.0f);
    TestVector got(size, 7.0f);
    scalar().rms_norm(x.data(), weight.data(), 1e-5f, size, want.data());
    tier.rms_norm(x.data(), weight.data(), 1e-5f, size, got.data());
    expect_same(got, want, case_name("rms_norm", size, kind), log);
  });
}

void check_layer_norm(const KernelTable& tier, CheckLog& log) {
  for_cases([&](size_t size, Values kind, Random& random) {
    TestVector x(random, kind, size);
    const TestVector weight(random, Values::kOrdinary, size);
    const TestVector bias(random, Values::kOrdinary, size);
    TestVector want(size, 7.0f);
    scalar().layer_norm(x.data(), weight.data(), bias.data(), 1e-5f, size, want.data());
    tier.layer_norm(x.data(), weight.data(), bias.data(), 1e-5f, size, x.data());
    expect_same({x.data(), size}, {want.data(), size}, case_name("layer_norm in place", size, kind),
                log);
  });
}

template <auto Member>
void check_rope(const KernelTable& tier, CheckLog& log) {
  Random random(77);
  for (const size_t head_dim : {2, 4, 16, 32, 34, 40, 64, 128}) {
    for (const size_t heads : {0, 1, 3, 8}) {
      for (const Values kind : kAllValues) {
        const TestVector cos_sin(random, Values::kOrdinary, head_dim);
        TestVector want(random, kind, heads * head_dim);
        TestVector got = want;
        (scalar().*Member)(cos_sin.data(), head_dim, heads, want.data());
        (tier.*Member)(cos_sin.data(), head_dim, heads, got.data());
        expect_same(got, want, case_name("rope", head_dim, kind), log);
      }
    }
  }
}

void check_depthwise(const KernelTable& tier, CheckLog& log) {
  Random random(5);
  for (const size_t size : {1, 15, 16, 17, 64, 100}) {
    for (const size_t taps : {1, 3, 4, 9}) {
      for (const Values kind : kAllValues) {
        for (const bool optional_parts : {false, true}) {
          const TestVector input(random, kind, size * taps);
          const TestVector weight(random, Values::kOrdinary, size * taps);
          const TestVector parts(random, Values::kOrdinary, 4 * size);
          std::vector<const float*> rows;
          for (size_t tap = 0; tap < taps; ++tap) rows.push_back(input.data() + tap * size);
          const auto run = [&](const KernelTable& table, TestVector& conv_out, TestVector& out) {
            kernels::DepthwiseArgs args{};
            args.rows = rows.data();
            args.weight = weight.data();
            args.taps = taps;
            args.size = size;
            if (optional_parts) {
              args.bias = parts.data();
              args.scale = parts.data() + size;
              args.shift = parts.data() + 2 * size;
              args.gate = parts.data() + 3 * size;
              args.conv_out = conv_out.data();
            }
            table.depthwise(args, out.data());
          };
          TestVector want_conv(size, 7.0f), got_conv(size, 7.0f), want(size, 7.0f), got(size, 7.0f);
          run(scalar(), want_conv, want);
          run(tier, got_conv, got);
          expect_same(got_conv, want_conv, case_name("depthwise conv_out", size, kind), log);
          expect_same(got, want, case_name("depthwise", size, kind), log);
        }
      }
    }
  }
}

constexpr size_t kHeadDims[] = {1, 4, 16, 32, 40, 64, 80, 128};
constexpr size_t kQueryCounts[] = {1, 2, 3, 4, 5, 8, 11};
constexpr size_t kKeyCounts[] = {1, 3, 4, 7, 15, 16, 17, 33, 63, 64};

std::vector<float> stored(const TestVector& values, float) {
  return {values.data(), values.data() + values.size()};
}
std::vector<uint16_t> stored(const TestVector& values, uint16_t) {
  std::vector<uint16_t> halves(values.size());
  scalar().f32_to_f16(values.data(), values.size(), halves.data());
  return halves;
}

/// Calls check over head sizes, numbers of queries and of keys, with rows of keys or values of
/// Element.
template <typename Element, typename Check>
void for_attention_cases(const Check& check) {
  Random random(99);
  for (const size_t d : kHeadDims) {
    for (const size_t queries : kQueryCounts) {
      for (const size_t count : kKeyCounts) {
        const Values kind = kAllValues[(d + queries + count) % 4];
        const size_t stride = d + (count % 2 == 0 ? 0 : 5);
        // Nothing behind the last row: a kernel that reads on is caught by the address sanitizer.
        const std::vector<Element> rows =
            stored(TestVector(random, kind, (count - 1) * stride + d), Element{});
        check(d, queries, count, kind, stride, rows.data(), random);
      }
    }
  }
}

void check_dot_rows(const KernelTable& tier, CheckLog& log) {
  for_attention_cases<float>([&](size_t d, size_t queries, size_t count, Values kind, size_t stride,
                                 const float* rows, Random& random) {
    const TestVector q(random, Values::kOrdinary, queries * (d + 3));
    TestVector want(queries * kAttentionTile, 7.0f);
    TestVector got(queries * kAttentionTile, 7.0f);
    const kernels::AttentionDots args{q.data(), d + 3, queries, rows, stride, count, d};
    scalar().dot_rows_f32(args, want.data());
    tier.dot_rows_f32(args, got.data());
    expect_same(got, want,
                cat("dot_rows d ", d, " queries ", queries, " keys ", count, " kind ",
                    static_cast<int>(kind)),
                log);
  });
}

template <auto Member, typename Element>
void check_dot_keys(const KernelTable& tier, CheckLog& log) {
  Random random(98);
  for (const size_t d : kHeadDims) {
    for (const size_t queries : kQueryCounts) {
      for (const size_t groups : {1, 2, 3, 4}) {
        const Values kind = kAllValues[(d + queries + groups) % 4];
        const TestVector q(random, Values::kOrdinary, queries * (d + 3));
        const std::vector<Element> keys =
            stored(TestVector(random, kind, groups * kernels::kKeyGroup * d), Element{});
        TestVector want(queries * kAttentionTile, 7.0f);
        TestVector got(queries * kAttentionTile, 7.0f);
        kernels::AttentionKeyDots<Element> args{q.data(), d + 3, queries, keys.data(),
                                                groups,   d,     {}};
        (scalar().*Member)(args, want.data());
        args.ahead = {keys.data(), keys.data(), groups % 2 == 0};  // a hint: it changes nothing
        (tier.*Member)(args, got.data());
        expect_same(got, want,
                    cat("dot_keys d ", d, " queries ", queries, " groups ", groups, " kind ",
                        static_cast<int>(kind)),
                    log);
      }
    }
  }
}

template <auto Member, typename Element>
void check_weighted_sum(const KernelTable& tier, CheckLog& log) {
  for_attention_cases<Element>([&](size_t d, size_t queries, size_t count, Values kind,
                                   size_t stride, const Element* rows, Random& random) {
    const TestVector p(random, Values::kOrdinary, queries * kAttentionTile);
    TestVector want(queries * d, 7.0f);
    TestVector got(queries * d, 7.0f);
    kernels::AttentionSums<Element> args{p.data(), queries, rows, stride, count, d, {}};
    (scalar().*Member)(args, want.data());
    args.ahead = {rows, rows, count % 2 == 0};  // a hint: it changes nothing
    (tier.*Member)(args, got.data());
    expect_same(got, want,
                cat("weighted_sum d ", d, " queries ", queries, " keys ", count, " kind ",
                    static_cast<int>(kind)),
                log);
  });
}

void check_softmax_tile(const KernelTable& tier, CheckLog& log) {
  Random random(31);
  for (const Values kind : kAllValues) {
    for (const size_t queries : {1, 4, 5}) {
      for (const std::array<size_t, 2> range :
           {std::array<size_t, 2>{0, 64}, {0, 1}, {63, 64}, {5, 9}, {0, 17}, {16, 48}, {31, 64}}) {
        TestVector want(random, kind, queries * kAttentionTile);
        TestVector got = want;
        TestVector want_m(queries, 0.0f), want_l(queries, 0.0f), got_m(queries, 0.0f),
            got_l(queries, 0.0f);
        scalar().softmax_tile(queries, range[0], range[1], 0.125f, want.data(), want_m.data(),
                              want_l.data());
        tier.softmax_tile(queries, range[0], range[1], 0.125f, got.data(), got_m.data(),
                          got_l.data());
        const std::string what =
            cat("softmax_tile [", range[0], ", ", range[1], ") kind ", static_cast<int>(kind));
        // What lies outside the range counts as +0 and is not read again.
        for (size_t i = 0; i < queries; ++i) {
          const size_t begin = i * kAttentionTile + range[0];
          expect_same({got.data() + begin, range[1] - range[0]},
                      {want.data() + begin, range[1] - range[0]}, what, log);
          // The largest score may be a zero of either sign: no result depends on which.
          if (got_m.data()[i] != want_m.data()[i]) log.fail(what + ": maximum");
        }
        expect_same(got_l, want_l, what + " sum", log);
      }
    }
  }
}

void check_merge_tile(const KernelTable& tier, CheckLog& log) {
  Random random(32);
  for (const Values kind : kAllValues) {
    for (const size_t d : kHeadDims) {
      for (const size_t queries : {1, 3, 4}) {
        const TestVector tile_m(random, kind, queries), tile_l(random, kind, queries);
        const TestVector tile_o(random, kind, queries * d);
        const kernels::AttentionMerge args{tile_m.data(), tile_l.data(), tile_o.data(), queries, d,
                                           d + 3};
        TestVector want_m(random, kind, queries), want_l(random, kind, queries),
            want(random, kind, queries * (d + 3));
        TestVector got_m = want_m, got_l = want_l, got = want;
        scalar().merge_tile(args, want_m.data(), want_l.data(), want.data());
        tier.merge_tile(args, got_m.data(), got_l.data(), got.data());
        const std::string what = case_name("merge_tile", d, kind);
        expect_same(got_m, want_m, what + " m", log);
        expect_same(got_l, want_l, what + " l", log);
        expect_same(got, want, what + " o", log);
      }
    }
  }
}

void check_divide(const KernelTable& tier, CheckLog& log) {
  for_cases([&](size_t size, Values kind, Random& random) {
    const TestVector x(random, kind, size);
    const float divisor = test_value(random, kind);
    TestVector want(size, 7.0f);
    TestVector got(size, 7.0f);
    scalar().divide(x.data(), divisor, size, want.data());
    tier.divide(x.data(), divisor, size, got.data());
    expect_same(got, want, case_name("divide", size, kind), log);
  });
}

/// Which NaN a conversion makes is the processor's choice.
bool same_half(uint16_t a, uint16_t b) {
  return a == b || ((a & 0x7FFF) > 0x7C00 && (b & 0x7FFF) > 0x7C00);
}

void check_f32_to_f16(const KernelTable& tier, CheckLog& log) {
  // Every value between two halves matters: its exact middle and the neighbours of that.
  std::vector<float> x;
  for (uint32_t half = 0; half < 0x7C00; ++half) {
    const auto bits = static_cast<uint16_t>(half);
    const auto next_bits = static_cast<uint16_t>(half + 1);
    float low = 0, high = 0;
    scalar().f16_to_f32(&bits, 1, &low);
    scalar().f16_to_f32(&next_bits, 1, &high);
    const float middle = half == 0x7BFF ? 65520.0f : (low + high) / 2;
    for (const float value :
         {low, middle, __builtin_nextafterf(middle, 0.0f), __builtin_nextafterf(middle, 1e9f)}) {
      x.push_back(value);
      x.push_back(-value);
    }
  }
  Random random(3);
  for (const Values kind : kAllValues) {
    for (size_t i = 0; i < 1001; ++i) x.push_back(test_value(random, kind));
  }
  for (size_t size : {x.size(), size_t{1}, size_t{15}, size_t{17}}) {
    std::vector<uint16_t> want(size + 1, 7), got(size + 1, 7);
    scalar().f32_to_f16(x.data(), size, want.data());
    tier.f32_to_f16(x.data(), size, got.data());
    for (size_t i = 0; i <= size; ++i) {
      if (!same_half(got[i], want[i])) log.fail(cat("f32_to_f16 value ", i, " of ", size));
    }
  }
}

void check_f16_to_f32(const KernelTable& tier, CheckLog& log) {
  std::vector<uint16_t> halves(0x10000);
  for (size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<uint16_t>(i);
  for (const size_t size : {halves.size(), size_t{1}, size_t{15}, size_t{17}, size_t{0}}) {
    TestVector want(size, 7.0f);
    TestVector got(size, 7.0f);
    const uint16_t* first = halves.data() + (halves.size() - size);
    scalar().f16_to_f32(first, size, want.data());
    tier.f16_to_f32(first, size, got.data());
    expect_same(got, want, cat("f16_to_f32 of ", size), log);
  }
}

constexpr KernelCheck kChecks[] = {
    {"rms_norm", check_rms_norm},
    {"layer_norm", check_layer_norm},
    {"add_scaled", check_add_scaled},
    {"multiply", check_map2<&KernelTable::multiply>},
    {"silu_mul", check_map2<&KernelTable::silu_mul>},
    {"sigmoid_mul", check_map2<&KernelTable::sigmoid_mul>},
    {"silu", check_map<&KernelTable::silu>},
    {"sigmoid", check_map<&KernelTable::sigmoid>},
    {"gelu", check_map<&KernelTable::gelu>},
    {"exponential", check_map<&KernelTable::exponential>},
    {"relu", check_map<&KernelTable::relu>},
    {"all_finite", check_all_finite},
    {"rope_half", check_rope<&KernelTable::rope_half>},
    {"rope_pair", check_rope<&KernelTable::rope_pair>},
    {"depthwise", check_depthwise},
    {"dot_rows_f32", check_dot_rows},
    {"dot_keys_f32", check_dot_keys<&KernelTable::dot_keys_f32, float>},
    {"dot_keys_f16", check_dot_keys<&KernelTable::dot_keys_f16, uint16_t>},
    {"weighted_sum_f32", check_weighted_sum<&KernelTable::weighted_sum_f32, float>},
    {"weighted_sum_f16", check_weighted_sum<&KernelTable::weighted_sum_f16, uint16_t>},
    {"softmax_tile", check_softmax_tile},
    {"merge_tile", check_merge_tile},
    {"divide", check_divide},
    {"f32_to_f16", check_f32_to_f16},
    {"f16_to_f32", check_f16_to_f32},
};

}  // namespace

std::span<const KernelCheck> ops_kernel_checks() { return kChecks; }

}  // namespace rill::test
