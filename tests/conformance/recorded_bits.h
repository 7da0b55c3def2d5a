// SPDX-License-Identifier: Apache-2.0
// Values that every kernel tier and every processor must compute to the last bit: their SHA-256
// lies in tests/data/models/bits.json. It changes only when docs/numerics.md does.
#pragma once

#include <gtest/gtest.h>

#include <span>
#include <string>

#include "base/json.h"
#include "base/sha256.h"
#include "support/test_data.h"

namespace rill::test {

inline void expect_recorded_bits(const std::string& key, std::span<const float> values) {
  const auto recorded = parse_json(to_text(read_file(data_path("models/bits.json"))));
  ASSERT_TRUE(recorded.has_value());
  const Json* want = recorded->find(key);
  ASSERT_NE(want, nullptr) << key << " " << sha256_hex(std::as_bytes(values));
  EXPECT_EQ(sha256_hex(std::as_bytes(values)), want->as_string()) << key;
}

}  // namespace rill::test
