// SPDX-License-Identifier: Apache-2.0
// Values that every kernel tier and every (little-endian) processor must compute to the last bit:
// their SHA-256 lies in tests/data/models/bits.json. It changes only when docs/numerics.md does.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>

#include "base/json.h"
#include "base/sha256.h"
#include "support/test_data.h"

namespace rill::test {

inline void expect_recorded_bytes(const std::string& key, std::span<const std::byte> bytes) {
  const auto recorded = parse_json(to_text(read_file(data_path("models/bits.json"))));
  ASSERT_TRUE(recorded.has_value());
  const Json* want = recorded->find(key);
  ASSERT_NE(want, nullptr) << key << " " << sha256_hex(bytes);
  EXPECT_EQ(sha256_hex(bytes), want->as_string()) << key;
}

inline void expect_recorded_bits(const std::string& key, std::span<const float> values) {
  expect_recorded_bytes(key, std::as_bytes(values));
}

/// The same of ids and codes, 4 bytes each.
inline void expect_recorded_ids(const std::string& key, std::span<const int32_t> ids) {
  expect_recorded_bytes(key, std::as_bytes(ids));
}

}  // namespace rill::test
