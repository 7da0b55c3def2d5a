// SPDX-License-Identifier: Apache-2.0
// Trace: a tap on the intermediate tensors of a forward pass, for `rill verify`. Null in normal
// use.
#pragma once

#include <string_view>

#include "tensor/tensor.h"

namespace rill {

/// Receives each named stage as it is computed. The values are valid only during the call.
struct Trace {
  void (*record)(void* user, std::string_view name, ConstMat value) = nullptr;
  void* user = nullptr;

  void operator()(std::string_view name, ConstMat value) const { record(user, name, value); }
};

}  // namespace rill
