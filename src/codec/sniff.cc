// SPDX-License-Identifier: Apache-2.0
// sniff_audio: what some data is, by its first bytes.
#include <algorithm>
#include <string_view>

#include "audio/wav.h"
#include "base/str_cat.h"
#include "base/utf8.h"
#include "codec/audio_reader.h"

namespace rill::codec {
namespace {

struct Magic {
  size_t offset;
  std::string_view bytes;
  FileKind kind;
  std::string_view name;
};

using namespace std::string_view_literals;

constexpr Magic kMagics[] = {
    {0, "fLaC"sv, FileKind::kSndfile, "FLAC"},
    {0, "ID3"sv, FileKind::kSndfile, "MP3"},
    {0, ".snd"sv, FileKind::kSndfile, "AU"},
    {0, "caff"sv, FileKind::kSndfile, "CAF"},
    {8, "AIFF"sv, FileKind::kSndfile, "AIFF"},
    {8, "AIFC"sv, FileKind::kSndfile, "AIFC"},
    {4, "ftyp"sv, FileKind::kOther, "MP4 or M4A file"},
    {0, "\x1A\x45\xDF\xA3"sv, FileKind::kOther, "WebM or Matroska file"},
    {0, "GGUF"sv, FileKind::kOther, "GGUF model file"},
    {8, "{\""sv, FileKind::kOther, "safetensors model file"},
    {0, "\x30\x26\xB2\x75"sv, FileKind::kOther, "Windows Media (ASF) file"},
    {0, "#!AMR"sv, FileKind::kOther, "AMR file"},
    {0, "wvpk"sv, FileKind::kOther, "WavPack file"},
    {0, "MAC "sv, FileKind::kOther, "Monkey's Audio file"},
    {0, "MThd"sv, FileKind::kOther, "MIDI file"},
    {0, "FLV\x01"sv, FileKind::kOther, "Flash video"},
    {0, "PK\x03\x04"sv, FileKind::kOther, "ZIP archive"},
    {0, "\x1F\x8B"sv, FileKind::kOther, "gzip file"},
    {0, "%PDF"sv, FileKind::kOther, "PDF document"},
    {0, "\x89PNG"sv, FileKind::kOther, "PNG image"},
    {0, "\xFF\xD8\xFF"sv, FileKind::kOther, "JPEG image"},
    {0, "GIF8"sv, FileKind::kOther, "GIF image"},
    {0,
     "\x7F"
     "ELF"sv,
     FileKind::kOther, "ELF program"},
};

bool has_at(std::string_view text, size_t offset, std::string_view part) {
  return text.size() >= offset && text.substr(offset, part.size()) == part;
}

SniffedFile sniff_ogg(std::string_view text) {
  const std::string_view page = text.substr(0, 128);
  if (page.find("OpusHead") != page.npos) return {FileKind::kOggOpus, "Ogg Opus"};
  if (page.find("\x01vorbis"sv) != page.npos) return {FileKind::kSndfile, "Ogg Vorbis"};
  if (page.find("\x7F"
                "FLAC"sv) != page.npos)
    return {FileKind::kSndfile, "Ogg FLAC"};
  if (page.find("Speex   ") != page.npos) return {FileKind::kOther, "Ogg Speex"};
  return {FileKind::kOther, "Ogg file of another codec"};
}

// The four bytes of an MPEG audio frame header, or of AAC's ADTS, which shares the sync word.
SniffedFile sniff_mpeg(std::string_view text) {
  if (text.size() < 4) return {};
  auto byte = [&](size_t i) { return static_cast<unsigned>(static_cast<unsigned char>(text[i])); };
  if (byte(0) != 0xFF || (byte(1) & 0xE0) != 0xE0) return {};
  const unsigned version = (byte(1) >> 3) & 3;
  const unsigned layer = (byte(1) >> 1) & 3;
  if ((byte(1) & 0xF6) == 0xF0) return {FileKind::kOther, "AAC stream (ADTS)"};
  const bool valid =
      version != 1 && layer != 0 && (byte(2) >> 4) != 15 && ((byte(2) >> 2) & 3) != 3;
  return valid ? SniffedFile{FileKind::kSndfile, "MP3"} : SniffedFile{};
}

std::string lower(std::string_view text) {
  std::string out;
  for (const char c : text) out += static_cast<char>(c >= 'A' && c <= 'Z' ? c - 'A' + 'a' : c);
  return out;
}

// Text without control characters; a character cut at the end of the head is fine.
bool is_text(std::string_view text) {
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    if (!c.valid) return c.incomplete;
    const bool blank = c.code_point == '\n' || c.code_point == '\r' || c.code_point == '\t' ||
                       c.code_point == '\f';
    if (c.code_point < 0x20 && !blank) return false;
    text.remove_prefix(c.bytes);
  }
  return true;
}

SniffedFile sniff_text(std::string_view text) {
  if (has_at(text, 0, "\xEF\xBB\xBF")) text.remove_prefix(3);
  if (!is_text(text)) return {};
  const size_t start = text.find_first_not_of(" \t\r\n");
  const std::string begin = lower(start == text.npos ? "" : text.substr(start, 64));
  if (begin.starts_with("<!doctype html") || begin.starts_with("<html"))
    return {FileKind::kOther, "HTML page"};
  if (begin.starts_with("<?xml") || begin.starts_with("<svg"))
    return {FileKind::kOther, "XML document"};
  if (begin.starts_with("{") || begin.starts_with("[")) return {FileKind::kOther, "JSON text"};
  if (begin.starts_with("version https://git-lfs")) return {FileKind::kOther, "Git LFS pointer"};
  return {FileKind::kOther, "text"};
}

}  // namespace

SniffedFile sniff_audio(std::span<const std::byte> head) {
  if (head.empty()) return {FileKind::kEmpty, "no bytes at all"};
  if (audio::looks_like_wav(head)) return {FileKind::kWav, "WAV"};
  const std::string_view text(reinterpret_cast<const char*>(head.data()), head.size());
  if (has_at(text, 0, "OggS")) return sniff_ogg(text);
  for (const Magic& magic : kMagics) {
    if (has_at(text, magic.offset, magic.bytes)) return {magic.kind, std::string(magic.name)};
  }
  if (SniffedFile mpeg = sniff_mpeg(text); mpeg.kind != FileKind::kUnknown) return mpeg;
  if (SniffedFile kind = sniff_text(text); kind.kind != FileKind::kUnknown) return kind;
  return {FileKind::kUnknown, "data of no known kind"};
}

}  // namespace rill::codec
