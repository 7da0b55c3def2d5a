// SPDX-License-Identifier: Apache-2.0
// WAV reader: RIFF, RIFX, RF64, BW64 and Wave64 files, streamed from any ByteSource (a pipe of
// 1-byte reads included). It takes what recorders and pipes really write; docs of the lenient rules
// are with WavReader::open.
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "audio/byte_source.h"
#include "audio/pcm.h"
#include "audio/wav_format.h"
#include "base/result.h"

namespace rill::audio {

/// Whether bytes (12 are enough) begin one of the forms that WavReader reads, or another RIFF form
/// that it names.
[[nodiscard]] bool looks_like_wav(std::span<const std::byte> head);

/// Reads the samples of a WAV file.
class WavReader final : public AudioReader {
 public:
  /// Reads up to the first sample. Rules for what real files do:
  /// - Chunks come in any order; unknown ones are skipped by their size. An odd chunk is followed
  /// by a pad byte,
  ///   or not: both are taken.
  /// - The RIFF size is ignored. The data size is an upper bound: samples end with the file if that
  /// is earlier, and
  ///   a partial last frame is dropped. The data sizes that streaming writers leave (0x7FFFF000 to
  ///   0x7FFFFFFF and 0xFFFFFF00 to 0xFFFFFFFF) mean "to the end of the file".
  /// - Data size 0 means the same, unless the next bytes are the id of a well-known chunk: then
  /// that data chunk is
  ///   empty, and the walk goes on (a later data chunk is then the audio; none means no samples).
  /// - Of several data chunks with samples the first is the audio; what follows it is not read.
  /// - A data chunk before the fmt chunk is held in memory (at most kMaxEarlyDataBytes) until the
  /// fmt chunk comes.
  /// - A second fmt chunk must equal the first.
  /// Memory never grows with a declared size, only with bytes that are really there.
  /// Errors: kInvalidFormat (message: chunk and field), kUnsupported (codec, early data too long),
  /// kIo.
  static Result<std::unique_ptr<WavReader>> open(std::unique_ptr<ByteSource> source);

  static constexpr uint64_t kMaxEarlyDataBytes = uint64_t{1} << 30;

  /// Where the samples are, once the chunks before them have been read.
  struct Body {
    std::unique_ptr<BufferedSource> source;
    std::vector<std::byte> early_data;  // of a data chunk that came before the fmt chunk
    bool use_early_data = false;
    uint64_t bytes_left = 0;
    ByteOrder order = ByteOrder::kLittle;
    WavFormat format;
  };

 private:
  WavReader(AudioFormat format, Body body)
      : AudioReader(std::move(format)), body_(std::move(body)) {}
  Result<size_t> read_frames(std::span<float> interleaved) override;
  Result<size_t> read_bytes(std::span<std::byte> out);

  Body body_;
  size_t early_position_ = 0;
  std::vector<std::byte> buffer_;
};

}  // namespace rill::audio
