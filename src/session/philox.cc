// SPDX-License-Identifier: Apache-2.0
#include "session/philox.h"

namespace rill::session {
namespace {

constexpr uint32_t kMultiplier0 = 0xD2511F53;
constexpr uint32_t kMultiplier1 = 0xCD9E8D57;
constexpr uint32_t kWeyl0 = 0x9E3779B9;  // golden ratio
constexpr uint32_t kWeyl1 = 0xBB67AE85;  // sqrt(3) - 1
constexpr int kRounds = 10;

uint32_t low(uint64_t value) { return static_cast<uint32_t>(value); }
uint32_t high(uint64_t value) { return static_cast<uint32_t>(value >> 32); }

}  // namespace

std::array<uint32_t, 4> philox4x32(std::array<uint32_t, 4> counter, std::array<uint32_t, 2> key) {
  for (int round = 0; round < kRounds; ++round) {
    const uint64_t product0 = uint64_t{kMultiplier0} * counter[0];
    const uint64_t product1 = uint64_t{kMultiplier1} * counter[2];
    counter = {high(product1) ^ counter[1] ^ key[0], low(product1),
               high(product0) ^ counter[3] ^ key[1], low(product0)};
    key = {key[0] + kWeyl0, key[1] + kWeyl1};
  }
  return counter;
}

double philox_uniform(uint64_t seed, uint64_t stream, uint64_t step) {
  const auto bits =
      philox4x32({low(step), high(step), low(stream), high(stream)}, {low(seed), high(seed)});
  const uint64_t mantissa = (uint64_t{bits[0]} << 21) | (bits[1] >> 11);  // 53 bits
  return static_cast<double>(mantissa) * 0x1p-53;
}

}  // namespace rill::session
