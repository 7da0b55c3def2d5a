// SPDX-License-Identifier: Apache-2.0
// Fuzzes the WAV reader through the opener: the first input byte is the size of the reads, the rest
// is the file. Files of other kinds are left out, since they belong to other libraries.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "audio/mono.h"
#include "codec/audio_reader.h"

namespace {

using rill::Result;

// Gives a file in pieces of `step` bytes, as a pipe does.
class PiecewiseSource final : public rill::audio::ByteSource {
 public:
  PiecewiseSource(std::span<const std::byte> bytes, size_t step) : memory_(bytes), step_(step) {}
  Result<size_t> read(std::span<std::byte> out) override {
    return memory_.read(out.first(std::min(out.size(), step_)));
  }
  [[nodiscard]] const std::string& name() const override { return memory_.name(); }
  [[nodiscard]] std::optional<uint64_t> size_bytes() const override { return std::nullopt; }

 private:
  rill::audio::MemorySource memory_;
  size_t step_;
};

Result<std::vector<float>> read_all(std::unique_ptr<rill::audio::ByteSource> source) {
  RILL_ASSIGN_OR_RETURN(auto reader, rill::codec::open_audio(std::move(source)));
  std::vector<float> piece(size_t{100} * reader->channels());
  std::vector<float> samples;
  while (true) {
    RILL_ASSIGN_OR_RETURN(const size_t frames, reader->read(piece));
    if (frames == 0) break;
    samples.insert(samples.end(), piece.begin(),
                   piece.begin() + static_cast<std::ptrdiff_t>(frames * reader->channels()));
  }
  if (const auto total = reader->format().total_frames) {
    if (*total != static_cast<int64_t>(samples.size() / reader->channels())) std::abort();
  }
  return samples;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const size_t step = data[0] == 0 ? 4096 : data[0];
  const auto file = std::as_bytes(std::span(data + 1, size - 1));
  const auto kind =
      rill::codec::sniff_audio(file.first(std::min(file.size(), rill::codec::kSniffBytes))).kind;
  if (kind == rill::codec::FileKind::kSndfile || kind == rill::codec::FileKind::kOggOpus) return 0;
  const auto whole = read_all(std::make_unique<rill::audio::MemorySource>(file));
  const auto pieces = read_all(std::make_unique<PiecewiseSource>(file, step));
  // How the bytes arrive must not matter.
  if (whole.has_value() != pieces.has_value()) std::abort();
  if (whole && *whole != *pieces) std::abort();
  if (!whole && whole.error().message.empty()) std::abort();
  return 0;
}
