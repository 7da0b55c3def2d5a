// SPDX-License-Identifier: Apache-2.0
// Driven by the registry: every row of every family equals the scalar kernel bit for bit.
#include <gtest/gtest.h>

#include "kernel/kernel_checks.h"

namespace rill::test {
namespace {

class KernelRows : public testing::TestWithParam<kernels::KernelRow> {};

const KernelCheck* find_check(std::string_view function) {
  for (const KernelCheck& check : ops_kernel_checks()) {
    if (check.function == function) return &check;
  }
  return nullptr;
}

TEST_P(KernelRows, EqualsScalarBitForBit) {
  const KernelCheck* check = find_check(GetParam().function);
  ASSERT_NE(check, nullptr) << "no check for " << GetParam().function;
  if (!cpu_supports(GetParam().tier))
    GTEST_SKIP() << "this processor lacks " << isa_tier_name(GetParam().tier);
  CheckLog log;
  check->run(kernels::kernel_table(GetParam().tier), log);
  EXPECT_EQ(log.count(), 0U) << log.text();
}

/// The rows of all families but the matrix products, which have their own test.
std::vector<kernels::KernelRow> checked_rows() {
  std::vector<kernels::KernelRow> rows;
  for (const kernels::KernelRow& row : kernels::kernel_rows()) {
    const bool product =
        row.function.starts_with("matmul_") || row.function == "quantize_activations";
    if (!product) rows.push_back(row);
  }
  return rows;
}

std::string row_name(const testing::TestParamInfo<kernels::KernelRow>& row) {
  return cat(row.param.function, "_", isa_tier_name(row.param.tier));
}

INSTANTIATE_TEST_SUITE_P(All, KernelRows, testing::ValuesIn(checked_rows()), row_name);

// A check that finds nothing proves nothing: a wrong kernel must be noticed.
TEST(KernelChecks, NoticeAWrongKernel) {
  kernels::KernelTable wrong = kernels::kernel_table(IsaTier::kScalar);
  wrong.multiply = [](const float* a, const float* b, size_t size, float* out) {
    for (size_t i = 0; i < size; ++i) out[i] = i == 2052 ? b[i] : a[i] * b[i];
  };
  CheckLog log;
  find_check("multiply")->run(wrong, log);
  EXPECT_GT(log.count(), 0U);
}

}  // namespace
}  // namespace rill::test
