// SPDX-License-Identifier: Apache-2.0
#include "measure/repeat.h"

#include <algorithm>

namespace rill::measure {

std::vector<int32_t> make_tokens(size_t count, size_t vocab_size) {
  std::vector<int32_t> tokens(count);
  uint64_t state = 0x9E3779B97F4A7C15u;
  for (int32_t& token : tokens) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    token = static_cast<int32_t>((state >> 33) % vocab_size);
  }
  return tokens;
}

void set_statistics(Json& object, const std::string& key, std::vector<double> values) {
  std::sort(values.begin(), values.end());
  object.set(key, Json::number(values[values.size() / 2]));
  object.set(key + "_min", Json::number(values.front()));
  object.set(key + "_max", Json::number(values.back()));
}

}  // namespace rill::measure
