// SPDX-License-Identifier: Apache-2.0
// Opens audio of any kind that this build reads. What the bytes are decides, never a name or a
// declared type.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "audio/byte_source.h"
#include "audio/pcm.h"
#include "base/result.h"

namespace rill::codec {

/// What the first bytes of some data are.
enum class FileKind {
  kEmpty,
  kWav,      ///< RIFF, RIFX, RF64, BW64, Wave64: audio/wav.h
  kSndfile,  ///< FLAC, Ogg Vorbis and FLAC, MP3, AIFF, AU, CAF: through libsndfile
  kOggOpus,  ///< through opusfile
  kOther,    ///< known and not taken
  kUnknown,
};

/// A FileKind and its name for messages: "FLAC", "GGUF model file", "HTML page", "text", ...
struct SniffedFile {
  FileKind kind = FileKind::kUnknown;
  std::string name;
};

/// Recognises data by its first bytes (kSniffBytes are enough; ID3 tags count as MP3).
[[nodiscard]] SniffedFile sniff_audio(std::span<const std::byte> head);
inline constexpr size_t kSniffBytes = 512;

/// Compressed audio from a source without random access is read into memory first, up to this size.
inline constexpr uint64_t kMaxCompressedBytes = uint64_t{2} << 30;

/// Opens an audio stream for reading. WAV streams as it comes; other kinds are decoded from where
/// they lie, or read into memory first if they come through a pipe. Errors: kInvalidFormat
/// (nothing, no audio, or damaged; the message names what was found and what is taken);
///         kUnsupported (a codec that is not built in, or too long); kIo.
Result<std::unique_ptr<audio::AudioReader>> open_audio(std::unique_ptr<audio::ByteSource> source);

/// Opens a file; "-" is standard input.
/// Errors: as above, and kNotFound; the path is named.
Result<std::unique_ptr<audio::AudioReader>> open_audio_file(const std::string& path);

}  // namespace rill::codec
