// SPDX-License-Identifier: Apache-2.0
// SHA-256 (FIPS 180-4), for file, tokenizer and template hashes.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

namespace rill {

/// Incremental SHA-256.
class Sha256 {
 public:
  void update(std::span<const std::byte> bytes);
  /// The digest of all bytes so far; the object must not be updated afterwards.
  std::array<uint8_t, 32> finish();

 private:
  void compress(const uint8_t* block);

  std::array<uint32_t, 8> state_ = {0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a,
                                    0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
  std::array<uint8_t, 64> pending_ = {};
  size_t pending_bytes_ = 0;
  uint64_t total_bytes_ = 0;
};

/// Lower-case hex of bytes.
[[nodiscard]] std::string to_hex(std::span<const uint8_t> bytes);

/// Lower-case hex of the digest of bytes.
[[nodiscard]] std::string sha256_hex(std::span<const std::byte> bytes);

}  // namespace rill
