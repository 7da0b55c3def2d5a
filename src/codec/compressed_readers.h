// SPDX-License-Identifier: Apache-2.0
// The readers that other libraries stand behind; internal to codec/. Their output is as exact as
// those libraries are: MP3, Vorbis and Opus decoders do not promise the same bits on each machine,
// FLAC does.
#pragma once

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <utility>

#include "audio/byte_source.h"
#include "audio/pcm.h"
#include "base/result.h"

namespace rill::codec {

/// Where a library is in a source with random access; what its callbacks work on. A failed read
/// looks like the end of the file to the library, so it is kept here.
class SeekableFile {
 public:
  explicit SeekableFile(std::unique_ptr<audio::ByteSource> source)
      : source_(std::move(source)),
        size_(static_cast<int64_t>(source_->size_bytes().value_or(0))) {}

  [[nodiscard]] int64_t size() const { return size_; }
  [[nodiscard]] int64_t position() const { return position_; }
  /// As fseek; false if the place is outside the file.
  bool seek(int64_t offset, int whence);
  /// As fread, in bytes.
  size_t read(std::span<std::byte> out);
  /// Why a read failed, if one did.
  [[nodiscard]] const Status& status() const { return status_; }

 private:
  std::unique_ptr<audio::ByteSource> source_;
  int64_t size_;
  int64_t position_ = 0;
  Status status_;
};

/// The sources below must have random access.
/// FLAC, Ogg Vorbis, MP3, AIFF, AU, CAF through libsndfile. `kind` names the data in messages.
/// Errors: kInvalidFormat, kUnsupported, kIo.
Result<std::unique_ptr<audio::AudioReader>> open_sndfile(std::unique_ptr<audio::ByteSource> source,
                                                         const std::string& kind);

/// Ogg Opus through opusfile; always 48 kHz.
/// Errors: kInvalidFormat, kIo.
Result<std::unique_ptr<audio::AudioReader>> open_opus(std::unique_ptr<audio::ByteSource> source);

}  // namespace rill::codec
