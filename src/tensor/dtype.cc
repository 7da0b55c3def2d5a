// SPDX-License-Identifier: Apache-2.0
#include "tensor/dtype.h"

#include <iterator>

#include "base/check.h"

namespace rill {
namespace {

constexpr DTypeInfo kInfos[] = {
    {DType::kF32, "F32", 1, 4},       {DType::kF16, "F16", 1, 2},
    {DType::kQ4_0, "Q4_0", 32, 18},   {DType::kQ4_1, "Q4_1", 32, 20},
    {DType::kQ5_0, "Q5_0", 32, 22},   {DType::kQ5_1, "Q5_1", 32, 24},
    {DType::kQ8_0, "Q8_0", 32, 34},   {DType::kQ4_K, "Q4_K", 256, 144},
    {DType::kQ5_K, "Q5_K", 256, 176}, {DType::kQ6_K, "Q6_K", 256, 210},
    {DType::kI8, "I8", 1, 1},         {DType::kI16, "I16", 1, 2},
    {DType::kI32, "I32", 1, 4},       {DType::kI64, "I64", 1, 8},
    {DType::kF64, "F64", 1, 8},       {DType::kBF16, "BF16", 1, 2},
};

// Names by GGUF number; empty where the format has a hole.
constexpr std::string_view kGgufNames[] = {
    "F32",    "F16",   "Q4_0",  "Q4_1",   "",      "",      "Q5_0",    "Q5_1",   "Q8_0",    "Q8_1",
    "Q2_K",   "Q3_K",  "Q4_K",  "Q5_K",   "Q6_K",  "Q8_K",  "IQ2_XXS", "IQ2_XS", "IQ3_XXS", "IQ1_S",
    "IQ4_NL", "IQ3_S", "IQ2_S", "IQ4_XS", "I8",    "I16",   "I32",     "I64",    "F64",     "IQ1_M",
    "BF16",   "",      "",      "",       "TQ1_0", "TQ2_0", "",        "",       "",        "MXFP4",
};

}  // namespace

const DTypeInfo& dtype_info(DType type) {
  for (const DTypeInfo& info : kInfos) {
    if (info.type == type) return info;
  }
  panic(__FILE__, __LINE__, "dtype_info: value outside the enumeration");
}

std::optional<DType> dtype_from_gguf(uint32_t number) {
  for (const DTypeInfo& info : kInfos) {
    if (static_cast<uint32_t>(info.type) == number) return info.type;
  }
  return std::nullopt;
}

std::string_view gguf_type_name(uint32_t number) {
  return number < std::size(kGgufNames) ? kGgufNames[number] : std::string_view{};
}

}  // namespace rill
