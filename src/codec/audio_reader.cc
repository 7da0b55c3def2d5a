// SPDX-License-Identifier: Apache-2.0
#include "codec/audio_reader.h"

#include <algorithm>
#include <utility>
#include <vector>

#include "audio/wav.h"
#include "base/str_cat.h"
#include "codec/compressed_readers.h"

namespace rill::codec {
namespace {

constexpr std::string_view kAccepted = "WAV, FLAC, Ogg Vorbis, Opus or MP3";

#ifdef RILL_HAVE_CODECS

Result<std::vector<std::byte>> read_everything(audio::ByteSource& source) {
  constexpr size_t kPiece = size_t{1} << 18;
  std::vector<std::byte> bytes;
  if (const auto size = source.size_bytes())
    bytes.reserve(static_cast<size_t>(std::min(*size, kMaxCompressedBytes)));
  while (true) {
    const size_t held = bytes.size();
    bytes.resize(held + kPiece);
    RILL_ASSIGN_OR_RETURN(const size_t got, source.read(std::span(bytes).subspan(held)));
    bytes.resize(held + got);
    if (got == 0) return bytes;
    if (bytes.size() > kMaxCompressedBytes) {
      return Error{ErrorCode::kUnsupported, cat("compressed audio of more than ",
                                                kMaxCompressedBytes, " bytes is not taken")};
    }
  }
}

Result<std::unique_ptr<audio::AudioReader>> open_compressed(
    std::unique_ptr<audio::BufferedSource> source, const SniffedFile& sniffed) {
  std::unique_ptr<audio::ByteSource> seekable = std::move(source);
  if (!seekable->has_random_access()) {
    RILL_ASSIGN_OR_RETURN(std::vector<std::byte> bytes, read_everything(*seekable));
    seekable = std::make_unique<audio::MemorySource>(std::move(bytes), seekable->name());
  }
  if (sniffed.kind == FileKind::kOggOpus) return open_opus(std::move(seekable));
  return open_sndfile(std::move(seekable), sniffed.name);
}

#else

Result<std::unique_ptr<audio::AudioReader>> open_compressed(
    const std::unique_ptr<audio::BufferedSource>&, const SniffedFile& sniffed) {
  return Error{ErrorCode::kUnsupported,
               cat("found ", sniffed.name,
                   ", but this build reads only WAV (it was made with RILL_BUILD_CODECS=OFF)")};
}

#endif

Result<std::unique_ptr<audio::AudioReader>> open_wav(std::unique_ptr<audio::ByteSource> source) {
  RILL_ASSIGN_OR_RETURN(std::unique_ptr<audio::AudioReader> reader,
                        audio::WavReader::open(std::move(source)));
  return reader;
}

Result<std::unique_ptr<audio::AudioReader>> open_sniffed(
    std::unique_ptr<audio::BufferedSource> source) {
  RILL_ASSIGN_OR_RETURN(auto head, source->peek(kSniffBytes));
  const SniffedFile sniffed = sniff_audio(head);
  switch (sniffed.kind) {
    case FileKind::kWav:
      return open_wav(std::move(source));
    case FileKind::kSndfile:
    case FileKind::kOggOpus:
      return open_compressed(std::move(source), sniffed);
    default:
      return Error{ErrorCode::kInvalidFormat,
                   cat("found ", sniffed.name, ", expected audio: ", kAccepted)};
  }
}

}  // namespace

Result<std::unique_ptr<audio::AudioReader>> open_audio(std::unique_ptr<audio::ByteSource> source) {
  const std::string name = printable(source->name(), 4096);
  auto reader = open_sniffed(std::make_unique<audio::BufferedSource>(std::move(source)));
  // Failed reads name the source themselves.
  if (!reader && reader.error().code != ErrorCode::kIo)
    return std::move(reader.error()).with_context(name);
  return reader;
}

Result<std::unique_ptr<audio::AudioReader>> open_audio_file(const std::string& path) {
  if (path == "-") return open_audio(audio::FileSource::standard_input());
  RILL_ASSIGN_OR_RETURN(std::unique_ptr<audio::ByteSource> source, audio::FileSource::open(path));
  return open_audio(std::move(source));
}

}  // namespace rill::codec
