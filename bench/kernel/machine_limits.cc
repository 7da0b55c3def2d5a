// SPDX-License-Identifier: Apache-2.0
#include "kernel/machine_limits.h"

#include <algorithm>
#include <cstdint>
#include <ctime>
#include <vector>

#include "base/cpu_features.h"

#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rill {
namespace {

constexpr int kRuns = 5;
constexpr size_t kReadWords = size_t{32} << 20;  // 256 MiB

// The best of several runs of fn, in seconds of processor time: other programs may be running.
template <typename Fn>
double best_seconds(const Fn& fn) {
  double best = 1e9;
  for (int run = 0; run < kRuns; ++run) {
    const std::clock_t start = std::clock();
    fn();
    best = std::min(best, static_cast<double>(std::clock() - start) / CLOCKS_PER_SEC);
  }
  return best;
}

volatile uint64_t g_sink = 0;  // keeps results alive

double measure_portable_read() {
  const std::vector<uint64_t> words(kReadWords, 1);
  const double seconds = best_seconds([&words] {
    uint64_t sums[8] = {};
    for (size_t i = 0; i < words.size(); i += 8) {
      for (size_t j = 0; j < 8; ++j) sums[j] += words[i + j];
    }
    for (const uint64_t sum : sums) g_sink = g_sink + sum;
  });
  return static_cast<double>(kReadWords) * 8e-9 / seconds;
}

#if defined(__x86_64__)
constexpr int kChains = 16;  // independent accumulators: more than latency times throughput
constexpr int kSteps = 2'000'000;

__attribute__((target("avx512f"))) double measure_avx512_read() {
  const std::vector<uint64_t> words(kReadWords, 1);
  const double seconds = best_seconds([&words]() __attribute__((target("avx512f"))) {
    __m512i sums[4] = {};
    for (size_t i = 0; i < words.size(); i += 32) {
      for (size_t j = 0; j < 4; ++j) {
        sums[j] = _mm512_add_epi64(sums[j], _mm512_loadu_si512(words.data() + i + 8 * j));
      }
    }
    for (const __m512i& sum : sums)
      g_sink = g_sink + static_cast<uint64_t>(_mm512_cvtsi512_si32(sum));
  });
  return static_cast<double>(kReadWords) * 8e-9 / seconds;
}

__attribute__((target("avx512f"))) double measure_avx512_fma() {
  const double seconds = best_seconds([]() __attribute__((target("avx512f"))) {
    __m512 sums[kChains];
    // Different starts: equal chains would be merged.
    for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_ps(static_cast<float>(i));
    const __m512 a = _mm512_set1_ps(0.5f);
    for (int step = 0; step < kSteps; ++step) {
#pragma GCC unroll 16
      for (int i = 0; i < kChains; ++i) sums[i] = _mm512_fmadd_ps(sums[i], a, a);
    }
    for (const __m512& sum : sums) g_sink = g_sink + static_cast<uint64_t>(_mm512_cvtss_f32(sum));
  });
  return 2e-9 * 16 * kChains * kSteps / seconds;
}

__attribute__((target("avx512f,avx512vnni"))) double measure_vnni() {
  const double seconds = best_seconds([]() __attribute__((target("avx512f,avx512vnni"))) {
    __m512i sums[kChains];
    for (int i = 0; i < kChains; ++i) sums[i] = _mm512_set1_epi32(i);
    const __m512i a = _mm512_set1_epi32(static_cast<int>(g_sink) + 0x01020304);
    for (int step = 0; step < kSteps; ++step) {
#pragma GCC unroll 16
      for (int i = 0; i < kChains; ++i) sums[i] = _mm512_dpbusd_epi32(sums[i], a, a);
    }
    for (const __m512i& sum : sums)
      g_sink = g_sink + static_cast<uint64_t>(_mm512_cvtsi512_si32(sum));
  });
  return 2e-9 * 64 * kChains * kSteps / seconds;
}

__attribute__((target("avx2,fma"))) double measure_avx2_fma() {
  const double seconds = best_seconds([]() __attribute__((target("avx2,fma"))) {
    __m256 sums[kChains - 2];
    for (int i = 0; i < kChains - 2; ++i) sums[i] = _mm256_set1_ps(static_cast<float>(i));
    const __m256 a = _mm256_set1_ps(0.5f);
    for (int step = 0; step < kSteps; ++step) {
#pragma GCC unroll 16
      for (__m256& sum : sums) sum = _mm256_fmadd_ps(sum, a, a);
    }
    for (const __m256& sum : sums) g_sink = g_sink + static_cast<uint64_t>(_mm256_cvtss_f32(sum));
  });
  return 2e-9 * 8 * (kChains - 2) * kSteps / seconds;
}
#endif

}  // namespace

MachineLimits measure_machine_limits() {
  MachineLimits limits;
  limits.read_gb_s = measure_portable_read();
#if defined(__x86_64__)
  if (cpu_supports(IsaTier::kAvx512)) {
    limits.read_gb_s = std::max(limits.read_gb_s, measure_avx512_read());
    limits.fma_gflop_s = measure_avx512_fma();
  } else if (cpu_supports(IsaTier::kAvx2)) {
    limits.fma_gflop_s = measure_avx2_fma();
  }
  if (cpu_supports(IsaTier::kAvx512Vnni)) limits.dot_gop_s = measure_vnni();
#endif
  return limits;
}

}  // namespace rill
