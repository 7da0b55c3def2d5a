// SPDX-License-Identifier: Apache-2.0
// Hints for the compiler that keep small arrays of vectors in registers.
#pragma once

/// In front of a loop of at most 16 rounds whose count is a constant: writes it out.
#if defined(__clang__)
#define RILL_UNROLL _Pragma("unroll")
#else
#define RILL_UNROLL _Pragma("GCC unroll 16")
#endif

/// A function whose arguments are vectors or arrays of them: a call would pass them through memory.
#define RILL_INLINE inline __attribute__((always_inline))
