// SPDX-License-Identifier: Apache-2.0
// The first 44 bytes of a 16-bit mono WAV file.
#pragma once

#include <array>
#include <cstdint>

namespace rill::cli {

inline constexpr uint32_t kWavHeaderBytes = 44;
/// What streams write as the size that nobody knows yet; readers take it as "to the end".
inline constexpr uint32_t kUnknownWavSize = 0xFFFFFFFF;

[[nodiscard]] std::array<unsigned char, kWavHeaderBytes> wav_header(uint32_t sample_rate_hz,
                                                                    uint32_t data_bytes);

}  // namespace rill::cli
