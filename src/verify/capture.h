// SPDX-License-Identifier: Apache-2.0
// Capture: keeps the stages that a Trace reports, by name.
#pragma once

#include <map>
#include <string>
#include <string_view>
#include <vector>

#include "tensor/trace.h"

namespace rill::verify {

class Capture {
 public:
  struct Stage {
    std::vector<float> values;
    size_t rows = 0;
    size_t cols = 0;
  };

  /// A trace that fills this object, which must outlive it.
  [[nodiscard]] Trace trace() { return {&Capture::record, this}; }
  /// The stage of that name, or nullptr. A stage recorded twice holds its last value.
  [[nodiscard]] const Stage* find(std::string_view name) const {
    const auto it = stages_.find(name);
    return it == stages_.end() ? nullptr : &it->second;
  }

 private:
  static void record(void* user, std::string_view name, ConstMat value) {
    Stage stage;
    stage.rows = value.rows;
    stage.cols = value.cols;
    stage.values.reserve(value.rows * value.cols);
    for (size_t r = 0; r < value.rows; ++r) {
      stage.values.insert(stage.values.end(), value.row(r), value.row(r) + value.cols);
    }
    static_cast<Capture*>(user)->stages_.insert_or_assign(std::string(name), std::move(stage));
  }

  std::map<std::string, Stage, std::less<>> stages_;
};

}  // namespace rill::verify
