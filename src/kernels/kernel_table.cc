// SPDX-License-Identifier: Apache-2.0
#include "kernels/kernel_table.h"

#include <array>

#include "base/check.h"

// Which tiers this build contains.
#if defined(__x86_64__)
#define RILL_HAVE_X86 1
#else
#define RILL_HAVE_X86 0
#endif
#if defined(__aarch64__)
#define RILL_HAVE_NEON 1
#else
#define RILL_HAVE_NEON 0
#endif

#define RILL_IF_SCALAR(code) code
#if RILL_HAVE_X86
#define RILL_IF_X86(code) code
#else
#define RILL_IF_X86(code)
#endif
#if RILL_HAVE_NEON
#define RILL_IF_NEON(code) code
#else
#define RILL_IF_NEON(code)
#endif

namespace rill::kernels {

// Declarations of every row's function.
#define RILL_DECLARE_scalar(f) RILL_IF_SCALAR(extern f##_fn f##_scalar;)
#define RILL_DECLARE_avx2(f) RILL_IF_X86(extern f##_fn f##_avx2;)
#define RILL_DECLARE_avx512(f) RILL_IF_X86(extern f##_fn f##_avx512;)
#define RILL_DECLARE_avx512vnni(f) RILL_IF_X86(extern f##_fn f##_avx512vnni;)
#define RILL_DECLARE_neon(f) RILL_IF_NEON(extern f##_fn f##_neon;)
#define RILL_KERNEL(f, tier) RILL_DECLARE_##tier(f)
#include "kernels/all.inc"
#undef RILL_KERNEL

namespace {

/// True if kernels of `row` run on a processor chosen as `tier`: tiers of one family include the
/// lower ones.
bool runs_on(IsaTier row, IsaTier tier) {
  if (row == IsaTier::kScalar || row == tier) return true;
  if (tier == IsaTier::kNeon || row == IsaTier::kNeon) return false;
  return row < tier;
}

// Rows stand in ascending tier order within a function, so the last one that runs wins.
KernelTable make_table(IsaTier tier) {
  KernelTable table;
  table.tier = tier;
#define RILL_FILL_ROW(f, name, isa) \
  if (runs_on(isa, tier)) table.f = f##_##name;
#define RILL_FILL_scalar(f) RILL_IF_SCALAR(RILL_FILL_ROW(f, scalar, IsaTier::kScalar))
#define RILL_FILL_avx2(f) RILL_IF_X86(RILL_FILL_ROW(f, avx2, IsaTier::kAvx2))
#define RILL_FILL_avx512(f) RILL_IF_X86(RILL_FILL_ROW(f, avx512, IsaTier::kAvx512))
#define RILL_FILL_avx512vnni(f) RILL_IF_X86(RILL_FILL_ROW(f, avx512vnni, IsaTier::kAvx512Vnni))
#define RILL_FILL_neon(f) RILL_IF_NEON(RILL_FILL_ROW(f, neon, IsaTier::kNeon))
#define RILL_KERNEL(f, tier) RILL_FILL_##tier(f)
#include "kernels/all.inc"
#undef RILL_KERNEL
  return table;
}

constexpr KernelRow kRows[] = {
#define RILL_ROW_scalar(f) RILL_IF_SCALAR({#f RILL_COMMA IsaTier::kScalar} RILL_COMMA)
#define RILL_ROW_avx2(f) RILL_IF_X86({#f RILL_COMMA IsaTier::kAvx2} RILL_COMMA)
#define RILL_ROW_avx512(f) RILL_IF_X86({#f RILL_COMMA IsaTier::kAvx512} RILL_COMMA)
#define RILL_ROW_avx512vnni(f) RILL_IF_X86({#f RILL_COMMA IsaTier::kAvx512Vnni} RILL_COMMA)
#define RILL_ROW_neon(f) RILL_IF_NEON({#f RILL_COMMA IsaTier::kNeon} RILL_COMMA)
#define RILL_COMMA ,
#define RILL_KERNEL(f, tier) RILL_ROW_##tier(f)
#include "kernels/all.inc"
#undef RILL_KERNEL
};

}  // namespace

const KernelTable& kernel_table(IsaTier tier) {
  static const std::array<KernelTable, 5> tables = {
      make_table(IsaTier::kScalar), make_table(IsaTier::kAvx2), make_table(IsaTier::kAvx512),
      make_table(IsaTier::kAvx512Vnni), make_table(IsaTier::kNeon)};
  const auto index = static_cast<size_t>(tier);
  RILL_CHECK(index < tables.size(), "kernel_table: tier outside the enumeration");
  return tables[index];
}

std::span<const KernelRow> kernel_rows() { return kRows; }

std::vector<KernelRow> functions_of(IsaTier tier) {
  std::vector<KernelRow> out;
  for (const KernelRow& row : kRows) {
    if (!runs_on(row.tier, tier)) continue;
    if (!out.empty() && out.back().function == row.function) {
      out.back() = row;
    } else {
      out.push_back(row);
    }
  }
  return out;
}

}  // namespace rill::kernels
