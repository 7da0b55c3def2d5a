// SPDX-License-Identifier: Apache-2.0
// What the tests of audio/ and codec/ share: awkward sources, reading whole streams, test tones.
#pragma once

#include <cmath>
#include <memory>
#include <string>
#include <vector>

#include "audio/byte_source.h"
#include "audio/pcm.h"

namespace rill::test {

/// Memory that behaves like a pipe: gives at most `step` bytes at a time and knows no size.
class PipeSource final : public audio::ByteSource {
 public:
  PipeSource(std::vector<std::byte> bytes, size_t step)
      : memory_(std::move(bytes), "pipe"), step_(step) {}
  Result<size_t> read(std::span<std::byte> out) override {
    return memory_.read(out.first(out.size() < step_ ? out.size() : step_));
  }
  [[nodiscard]] const std::string& name() const override { return memory_.name(); }
  [[nodiscard]] std::optional<uint64_t> size_bytes() const override { return std::nullopt; }

 private:
  audio::MemorySource memory_;
  size_t step_;
};

/// A source that fails after its bytes.
class FailingSource final : public audio::ByteSource {
 public:
  explicit FailingSource(std::vector<std::byte> bytes) : memory_(std::move(bytes), "broken disk") {}
  Result<size_t> read(std::span<std::byte> out) override {
    auto got = memory_.read(out);
    if (got && *got == 0)
      return Error{ErrorCode::kIo, "read audio: broken disk: Input/output error"};
    return got;
  }
  [[nodiscard]] const std::string& name() const override { return memory_.name(); }
  [[nodiscard]] std::optional<uint64_t> size_bytes() const override { return std::nullopt; }

 private:
  audio::MemorySource memory_;
};

/// All samples of a reader, `frames` frames at a time.
inline Result<std::vector<float>> read_samples(audio::AudioReader& reader, size_t frames = 1000) {
  std::vector<float> samples;
  std::vector<float> piece(frames * reader.channels());
  while (true) {
    RILL_ASSIGN_OR_RETURN(const size_t got, reader.read(piece));
    if (got == 0) return samples;
    samples.insert(samples.end(), piece.begin(),
                   piece.begin() + static_cast<std::ptrdiff_t>(got * reader.channels()));
  }
}

inline std::vector<float> sine(double hz, double rate_hz, size_t count, double level = 0.5) {
  std::vector<float> out(count);
  for (size_t i = 0; i < count; ++i) {
    out[i] = static_cast<float>(
        level * std::sin(2.0 * 3.14159265358979323846 * hz * static_cast<double>(i) / rate_hz));
  }
  return out;
}

/// Noise in [-0.5, 0.5), the same on every machine.
inline std::vector<float> noise(size_t count, uint32_t seed = 1) {
  std::vector<float> out(count);
  for (float& value : out) {
    seed = seed * 1664525u + 1013904223u;
    value = static_cast<float>(seed >> 8) * 0x1p-24f - 0.5f;
  }
  return out;
}

}  // namespace rill::test
