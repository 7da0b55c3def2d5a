// SPDX-License-Identifier: Apache-2.0
// Prints the tier that this processor gets and one value that its kernels compute.
#include <cstdio>
#include <string>

#include "base/cpu_features.h"
#include "kernels/kernel_table.h"

int main() {
  const auto tier = rill::choose_isa_tier("");
  const float one = 1.0f;
  float e = 0.0f;
  rill::kernels::kernel_table(*tier).exponential(&one, 1, &e);
  std::printf("tier: %s, exp(1) = %.6f\n", std::string(rill::isa_tier_name(*tier)).c_str(),
              static_cast<double>(e));
  return 0;
}
