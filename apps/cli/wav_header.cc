// SPDX-License-Identifier: Apache-2.0
#include "wav_header.h"

#include <cstring>

namespace rill::cli {
namespace {

void put32(uint32_t value, unsigned char* out) {
  for (int i = 0; i < 4; ++i) out[i] = static_cast<unsigned char>(value >> (8 * i) & 0xFF);
}

}  // namespace

std::array<unsigned char, kWavHeaderBytes> wav_header(uint32_t sample_rate_hz,
                                                      uint32_t data_bytes) {
  std::array<unsigned char, kWavHeaderBytes> header{};
  std::memcpy(header.data(), "RIFF\0\0\0\0WAVEfmt \x10\0\0\0\x01\0\x01\0", 24);
  put32(data_bytes == kUnknownWavSize ? kUnknownWavSize : data_bytes + kWavHeaderBytes - 8,
        header.data() + 4);
  put32(sample_rate_hz, header.data() + 24);
  put32(sample_rate_hz * 2, header.data() + 28);
  header[32] = 2;   // bytes per frame
  header[34] = 16;  // bits per sample
  std::memcpy(header.data() + 36, "data", 4);
  put32(data_bytes, header.data() + 40);
  return header;
}

}  // namespace rill::cli
