// SPDX-License-Identifier: Apache-2.0
#include "base/cpu_features.h"

#include <array>
#include <cstdint>
#include <cstdio>
#include <cstring>

#include "base/str_cat.h"
#include "base/system.h"
#if defined(__x86_64__)
#include <cpuid.h>
#endif

namespace rill {
namespace {

constexpr std::array kTiersBestFirst = {IsaTier::kNeon, IsaTier::kAvx512Vnni, IsaTier::kAvx512,
                                        IsaTier::kAvx2, IsaTier::kScalar};

#if defined(__x86_64__)

struct CpuidRegisters {
  uint32_t eax = 0, ebx = 0, ecx = 0, edx = 0;
};

CpuidRegisters cpuid(uint32_t leaf, uint32_t subleaf) {
  CpuidRegisters r;
  // False for a leaf that the processor does not have: all zeros then.
  __get_cpuid_count(leaf, subleaf, &r.eax, &r.ebx, &r.ecx, &r.edx);
  return r;
}

bool has_bit(uint32_t bits, int bit) { return (bits >> bit & 1) != 0; }

/// XCR0: which register states the operating system saves. Only with OSXSAVE.
uint64_t read_xcr0() {
  uint32_t low = 0;
  uint32_t high = 0;
  __asm__ __volatile__("xgetbv" : "=a"(low), "=d"(high) : "c"(0));
  return uint64_t{high} << 32 | low;
}

bool x86_supports(IsaTier tier) {
  const CpuidRegisters base = cpuid(1, 0);
  const CpuidRegisters extended = cpuid(7, 0);
  // Leaf 1 ecx: 12 FMA, 27 OSXSAVE, 28 AVX, 29 F16C.
  if (!has_bit(base.ecx, 27)) return false;
  const uint64_t xcr0 = read_xcr0();
  constexpr uint64_t kYmmState = 0x06;  // SSE and AVX
  constexpr uint64_t kZmmState = 0xe6;  // and opmask, both halves of ZMM
  const bool avx2 = has_bit(base.ecx, 12) && has_bit(base.ecx, 28) && has_bit(base.ecx, 29) &&
                    has_bit(extended.ebx, 5) && (xcr0 & kYmmState) == kYmmState;
  if (tier == IsaTier::kAvx2 || !avx2) return avx2;
  // Leaf 7 ebx: 16 F, 17 DQ, 30 BW, 31 VL; ecx: 11 VNNI.
  const bool avx512 = has_bit(extended.ebx, 16) && has_bit(extended.ebx, 17) &&
                      has_bit(extended.ebx, 30) && has_bit(extended.ebx, 31) &&
                      (xcr0 & kZmmState) == kZmmState;
  if (tier == IsaTier::kAvx512) return avx512;
  return tier == IsaTier::kAvx512Vnni && avx512 && has_bit(extended.ecx, 11);
}

// AMD's family 1Ah.
bool x86_is_zen5() {
  const CpuidRegisters vendor = cpuid(0, 0);
  constexpr uint32_t kAuth = 0x68747541;  // "Auth", the first four letters of AuthenticAMD
  const uint32_t version = cpuid(1, 0).eax;
  const uint32_t family = (version >> 8 & 0xf) + (version >> 20 & 0xff);
  return vendor.ebx == kAuth && family == 0x1a;
}

#endif

#if defined(__aarch64__)

bool neon_supported() {
#if defined(__linux__)
  // HWCAP bits of <asm/hwcap.h>: 1 ASIMD, 10 ASIMDHP (half precision), 20 ASIMDDP (dot product).
  constexpr unsigned long kNeeded = 1UL << 1 | 1UL << 10 | 1UL << 20;
  return (system::hardware_capabilities() & kNeeded) == kNeeded;
#else
  return false;
#endif
}

#endif

std::string trimmed(std::string_view text) {
  const auto is_blank = [](char c) { return c == ' ' || c == '\t' || c == '\n' || c == '\0'; };
  while (!text.empty() && is_blank(text.front())) text.remove_prefix(1);
  while (!text.empty() && is_blank(text.back())) text.remove_suffix(1);
  return std::string(text);
}

}  // namespace

std::string_view isa_tier_name(IsaTier tier) {
  switch (tier) {
    case IsaTier::kScalar:
      return "scalar";
    case IsaTier::kAvx2:
      return "avx2";
    case IsaTier::kAvx512:
      return "avx512";
    case IsaTier::kAvx512Vnni:
      return "avx512vnni";
    case IsaTier::kNeon:
      return "neon";
  }
  return "unknown";
}

bool cpu_supports(IsaTier tier) {
  if (tier == IsaTier::kScalar) return true;
#if defined(__x86_64__)
  return tier != IsaTier::kNeon && x86_supports(tier);
#elif defined(__aarch64__)
  return tier == IsaTier::kNeon && neon_supported();
#else
  return false;
#endif
}

Result<IsaTier> choose_isa_tier(std::string_view forced) {
  for (const IsaTier tier : kTiersBestFirst) {
    if (forced.empty() ? cpu_supports(tier) : isa_tier_name(tier) == forced) {
      if (cpu_supports(tier)) return tier;
      return Error{ErrorCode::kUnsupported,
                   cat("kernel tier: this processor (", cpu_model_name(), ") lacks ", forced)};
    }
  }
  return Error{ErrorCode::kInvalidArgument,
               cat("kernel tier: got \"", printable(forced),
                   "\", expected scalar, avx2, avx512, avx512vnni or neon")};
}

bool cpu_gains_from_prefetch() {
#if defined(__x86_64__)
  static const bool gains = x86_is_zen5();
  return gains;
#else
  return false;  // not measured
#endif
}

std::string cpu_model_name() {
#if defined(__x86_64__)
  // Leaves 0x80000002 to 0x80000004 spell the name, 16 bytes each.
  char name[49] = {};
  for (uint32_t i = 0; i < 3; ++i) {
    const CpuidRegisters r = cpuid(0x80000002U + i, 0);
    std::memcpy(name + 16 * i, &r, 16);
  }
  const std::string text = trimmed(name);
  return text.empty() ? "unknown" : text;
#else
  std::FILE* file = std::fopen("/proc/cpuinfo", "rb");
  if (file == nullptr) return "unknown";
  std::string name;
  char line[256];
  while (name.empty() && std::fgets(line, sizeof line, file) != nullptr) {
    const std::string_view text(line);
    const size_t colon = text.find(':');
    if (text.starts_with("model name") && colon != std::string_view::npos)
      name = trimmed(text.substr(colon + 1));
  }
  std::fclose(file);
  return name.empty() ? "unknown" : name;
#endif
}

}  // namespace rill
