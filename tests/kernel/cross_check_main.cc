// SPDX-License-Identifier: Apache-2.0
// Runs every kernel check for the tiers that this processor has and prints one line per tier. No
// GoogleTest: it is built by tools/cross_kernels.sh for another processor and run under an
// emulator. Exit code 1 if anything differs.
#include <cstdio>

#include "kernel/kernel_checks.h"
#include "kernel/matmul_check.h"

namespace {

using rill::IsaTier;
using rill::test::CheckLog;

int failures = 0;

void report(const std::string& difference) {
  if (difference.empty()) return;
  ++failures;
  std::printf("FAILED %s\n", difference.c_str());
}

void check_tier(IsaTier tier) {
  for (const rill::test::KernelCheck& check : rill::test::ops_kernel_checks()) {
    CheckLog log;
    check.run(rill::kernels::kernel_table(tier), log);
    if (log.count() > 0) report(rill::cat(check.function, ": ", log.text()));
  }
  for (const rill::kernels::MatmulFunction& function : rill::kernels::kMatmulFunctions) {
    report(rill::kernels::check_matmul(function, tier));
  }
  report(rill::kernels::check_quantize_activations(tier));
}

}  // namespace

int main() {
  for (const IsaTier tier :
       {IsaTier::kScalar, IsaTier::kAvx2, IsaTier::kAvx512, IsaTier::kAvx512Vnni, IsaTier::kNeon}) {
    if (!rill::cpu_supports(tier)) continue;
    check_tier(tier);
    std::printf("tier %s: checked\n", std::string(rill::isa_tier_name(tier)).c_str());
  }
  const auto best = rill::choose_isa_tier("");
  std::printf("chosen tier: %s\n", std::string(rill::isa_tier_name(best.value())).c_str());
  return failures == 0 ? 0 : 1;
}
