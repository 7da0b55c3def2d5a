// SPDX-License-Identifier: Apache-2.0
#include <sys/resource.h>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "measure/machine_limits.h"
#include "measure/repeat.h"

namespace rill::measure {
namespace {

constexpr size_t kBufferBytes = size_t{256} << 20;  // far more than any cache holds
constexpr size_t kPieceBytes = size_t{1} << 20;
constexpr size_t kPieces = kBufferBytes / kPieceBytes;
constexpr size_t kLine = 64;
constexpr size_t kAhead = 2048;  // bytes; beyond what the processor fetches by itself
constexpr int kPasses = 3;       // of each pattern

/// Adds up a piece: a line of each stream in turn, asked for early, in independent sums, so that
/// the memory is the limit and nothing else.
template <size_t kStreams>
uint64_t sum_piece(const std::byte* piece) {
  constexpr size_t kStreamBytes = kPieceBytes / kStreams;
  uint64_t sums[8] = {};
  for (size_t i = 0; i < kStreamBytes; i += kLine) {
    for (size_t s = 0; s < kStreams; ++s) {
      const std::byte* line = piece + s * kStreamBytes + i;
      __builtin_prefetch(line + kAhead);  // past the piece's end it is the next one's start
      uint64_t values[8];
      std::memcpy(values, line, sizeof values);
      for (size_t j = 0; j < 8; ++j) sums[j] += values[j];
    }
  }
  uint64_t total = 0;
  for (const uint64_t sum : sums) total += sum;
  return total;
}

/// Which pattern reads fastest depends on the processor: some follow one stream best by
/// themselves, others fill the memory's pipeline only with several.
constexpr uint64_t (*kPatterns[])(const std::byte*) = {sum_piece<1>, sum_piece<2>, sum_piece<4>};

}  // namespace

ReadBandwidth::ReadBandwidth(ThreadPool& pool, AlignedBuffer buffer)
    : pool_(&pool), buffer_(std::move(buffer)), sums_(kPieces) {}

Result<ReadBandwidth> ReadBandwidth::create(ThreadPool& pool) {
  RILL_ASSIGN_OR_RETURN(AlignedBuffer buffer, AlignedBuffer::create(kBufferBytes));
  std::byte* data = buffer.data();
  pool.parallel_for(kPieces, [data](size_t p) {
    std::memset(data + p * kPieceBytes, static_cast<int>(p & 0x7f), kPieceBytes);
  });
  return ReadBandwidth(pool, std::move(buffer));
}

double ReadBandwidth::measure() {
  const std::byte* data = buffer_.data();
  double best = 0;
  for (const auto sum : kPatterns) {
    double rates[kPasses];
    for (double& rate : rates) {
      const auto start = Clock::now();
      // The sums are kept: without a reader the compiler could leave them out.
      pool_->parallel_for(kPieces, [&](size_t p) { sums_[p] += sum(data + p * kPieceBytes); });
      rate = static_cast<double>(kBufferBytes) / seconds_since(start);
    }
    // Not the fastest pass: what it is compared with are medians too.
    std::nth_element(rates, rates + kPasses / 2, rates + kPasses);
    best = std::max(best, rates[kPasses / 2]);
  }
  return best;
}

size_t peak_rss_bytes() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return 0;
  return static_cast<size_t>(usage.ru_maxrss) * 1024;  // Linux counts kilobytes
}

}  // namespace rill::measure
