// SPDX-License-Identifier: Apache-2.0
// Runs every kernel check for the tiers that this processor has and prints one line per tier. No
// GoogleTest: it is built by tools/cross_kernels.sh for another processor and run under an
// emulator. Exit code 1 if anything differs.
#include <cstdio>

#include "kernel/kernel_checks.h"

namespace {

using rill::IsaTier;
using rill::test::CheckLog;

int failures = 0;

void run(const rill::test::KernelCheck& check, IsaTier tier) {
  CheckLog log;
  check.run(rill::kernels::kernel_table(tier), log);
  if (log.count() == 0) return;
  ++failures;
  std::printf("FAILED %s: %s\n", std::string(check.function).c_str(), log.text().c_str());
}

}  // namespace

int main() {
  for (const IsaTier tier :
       {IsaTier::kScalar, IsaTier::kAvx2, IsaTier::kAvx512, IsaTier::kAvx512Vnni, IsaTier::kNeon}) {
    if (!rill::cpu_supports(tier)) continue;
    for (const rill::test::KernelCheck& check : rill::test::ops_kernel_checks()) run(check, tier);
    std::printf("tier %s: checked\n", std::string(rill::isa_tier_name(tier)).c_str());
  }
  const auto best = rill::choose_isa_tier("");
  std::printf("chosen tier: %s\n", std::string(rill::isa_tier_name(best.value())).c_str());
  return failures == 0 ? 0 : 1;
}
