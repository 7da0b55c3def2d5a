// SPDX-License-Identifier: Apache-2.0
// Reads tests/data/quant/quant_blocks.safetensors: blocks of each type with their values, and
// reference quantizations.
#pragma once

#include <gtest/gtest.h>

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <iterator>
#include <string>
#include <vector>

namespace rill::quant {

/// The bytes of one tensor of the file; a failed expectation and nothing if it is missing.
inline std::vector<std::byte> read_vector(const std::string& name) {
  std::ifstream file(std::string(RILL_TEST_DATA) + "/quant/quant_blocks.safetensors",
                     std::ios::binary);
  const std::string all((std::istreambuf_iterator<char>(file)), std::istreambuf_iterator<char>());
  uint64_t header_bytes = 0;
  if (all.size() < 8) {
    ADD_FAILURE() << "cannot read the test vectors";
    return {};
  }
  std::memcpy(&header_bytes, all.data(), 8);
  const std::string header = all.substr(8, header_bytes);
  const size_t entry = header.find('"' + name + '"');
  const size_t offsets = entry == std::string::npos ? entry : header.find("data_offsets", entry);
  if (offsets == std::string::npos) {
    ADD_FAILURE() << "no test vector " << name;
    return {};
  }
  size_t used = 0;
  const std::string numbers = header.substr(header.find('[', offsets) + 1);
  const size_t begin = std::stoul(numbers, &used);
  const size_t end = std::stoul(numbers.substr(numbers.find(',') + 1));
  const auto* data = reinterpret_cast<const std::byte*>(all.data()) + 8 + header_bytes;
  return {data + begin, data + end};
}

inline std::vector<float> read_float_vector(const std::string& name) {
  const std::vector<std::byte> bytes = read_vector(name);
  std::vector<float> values(bytes.size() / 4);
  if (!values.empty()) std::memcpy(values.data(), bytes.data(), bytes.size());
  return values;
}

}  // namespace rill::quant
