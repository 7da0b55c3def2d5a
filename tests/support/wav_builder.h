// SPDX-License-Identifier: Apache-2.0
// WavBuilder: makes WAV files field by field, valid by default, with each field open to corruption.
// It shares no code with the library's reader or writer.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace rill::test {

using Bytes = std::vector<std::byte>;

/// What a "fmt " chunk says. Codes of `tag`: 1 PCM, 3 float, 6 A-law, 7 mu-law.
struct WavFmt {
  uint16_t tag = 1;
  bool extensible = false;  ///< tag becomes the sub-format
  uint16_t bits = 16;       ///< of the samples (valid bits)
  uint16_t container_bits = 16;
  uint16_t channels = 1;
  uint32_t rate = 16000;
  bool big_endian = false;
  std::optional<uint16_t> block_align = {};  ///< instead of channels * container
  std::optional<size_t> size =
      {};  ///< of the chunk, instead of 16 or 40; more is filled with zeros

  [[nodiscard]] Bytes payload() const;
};

/// The full-scale integer or float of sample `i` of a test signal, in [-1, 1), exact in the format.
double wav_test_value(const WavFmt& fmt, size_t i);

/// The bytes of `count` samples of that signal.
Bytes wav_test_samples(const WavFmt& fmt, size_t count);

/// One value of the G.711 tables, from the definition of the segments.
int a_law_value(uint8_t code);
int mu_law_value(uint8_t code);

/// Collects chunks.
class WavBuilder {
 public:
  std::string magic = "RIFF";
  std::string form = "WAVE";
  bool big_endian = false;
  std::optional<uint32_t> riff_size;

  /// Adds a chunk. `declared` replaces its size field; an odd payload gets a pad byte unless pad is
  /// false.
  WavBuilder& chunk(std::string_view id, const Bytes& payload,
                    std::optional<uint32_t> declared = std::nullopt, bool pad = true);
  WavBuilder& fmt(const WavFmt& fmt) { return chunk("fmt ", fmt.payload()); }
  [[nodiscard]] Bytes build() const;

 private:
  Bytes chunks_;
};

/// A Wave64 file of chunks given by their four letters.
Bytes build_wave64(const std::vector<std::pair<std::string, Bytes>>& chunks);

Bytes bytes_of(std::string_view text);
Bytes operator+(Bytes a, const Bytes& b);

}  // namespace rill::test
