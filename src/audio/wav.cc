// SPDX-License-Identifier: Apache-2.0
#include "audio/wav.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <limits>
#include <optional>
#include <string_view>

#include "base/str_cat.h"

namespace rill::audio {
namespace {

constexpr uint64_t kToTheEnd = std::numeric_limits<uint64_t>::max();

// Wave64 ids are GUIDs: four letters and a fixed tail.
constexpr uint8_t kW64RiffTail[12] = {0x2E, 0x91, 0xCF, 0x11, 0xA5, 0xD6,
                                      0x28, 0xDB, 0x04, 0xC1, 0x00, 0x00};
constexpr uint8_t kW64ChunkTail[12] = {0xF3, 0xAC, 0xD3, 0x11, 0x8C, 0xD1,
                                       0x00, 0xC0, 0x4F, 0x8E, 0xDB, 0x8A};

constexpr std::string_view kKnownIds[] = {
    "fmt ", "data", "LIST", "list", "INFO", "JUNK", "junk", "bext", "fact", "cue ",
    "id3 ", "ID3 ", "FLLR", "PEAK", "smpl", "inst", "plst", "ltxt", "labl", "note",
    "iXML", "axml", "chna", "ds64", "PAD ", "cart", "DISP", "acid", "LGWV", "umid",
    "afsp", "SAUR", "minf", "elm1", "regn", "strc", "mext", "levl", "link", "_PMX"};

std::string_view text_of(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

bool is_known_id(std::string_view id) {
  return std::find(std::begin(kKnownIds), std::end(kKnownIds), id) != std::end(kKnownIds);
}

bool is_printable(std::string_view id) {
  return std::all_of(id.begin(), id.end(), [](char c) { return c >= 0x20 && c <= 0x7E; });
}

bool equals(std::span<const std::byte> bytes, const uint8_t (&expected)[12]) {
  return bytes.size() >= 12 && std::memcmp(bytes.data(), expected, 12) == 0;
}

Error invalid(const std::string& what) { return {ErrorCode::kInvalidFormat, "wav: " + what}; }

bool is_streaming_size(uint32_t size) {
  return size >= 0xFFFFFF00u || (size >= 0x7FFFF000u && size <= 0x7FFFFFFFu);
}

enum class Container { kRiff, kRifx, kRf64, kBw64, kW64 };

std::string_view container_name(Container container) {
  switch (container) {
    case Container::kRiff:
      return "WAV";
    case Container::kRifx:
      return "WAV (RIFX)";
    case Container::kRf64:
      return "RF64";
    case Container::kBw64:
      return "BW64";
    case Container::kW64:
      return "Wave64";
  }
  return "";
}

struct Chunk {
  std::string id;
  uint64_t size = 0;
  bool unknown_size = false;  // one of the sizes that streaming writers leave
};

// Walks the chunks up to the first sample.
class Walker {
 public:
  explicit Walker(std::unique_ptr<ByteSource> source) {
    body_.source = std::make_unique<BufferedSource>(std::move(source));
  }

  Status walk();
  [[nodiscard]] AudioFormat audio_format() const;
  WavReader::Body take_body() { return std::move(body_); }

 private:
  BufferedSource& source() { return *body_.source; }
  Status read_container();
  Result<bool> read_chunk_header(Chunk& chunk);
  Status take_chunk(const Chunk& chunk);
  Status take_fmt(const Chunk& chunk);
  Status take_ds64(const Chunk& chunk);
  Status take_data(const Chunk& chunk);
  Result<bool> is_empty_data(const Chunk& chunk);
  Status hold_early_data(const Chunk& chunk);
  Status skip_payload(const Chunk& chunk, uint64_t already_read);
  Status skip_padding(uint64_t size);
  void start_samples(uint64_t size);

  WavReader::Body body_;
  Container container_ = Container::kRiff;
  std::optional<WavFormat> format_;
  std::optional<uint64_t> ds64_data_size_;
  bool saw_data_ = false;
  bool done_ = false;
};

Status Walker::read_container() {
  RILL_ASSIGN_OR_RETURN(auto head, source().peek(40));
  const std::string_view id = text_of(head.first(std::min<size_t>(4, head.size())));
  if (id == "riff" && head.size() >= 16 && equals(head.subspan(4), kW64RiffTail)) {
    if (head.size() < 40 || text_of(head.subspan(24, 4)) != "wave" ||
        !equals(head.subspan(28), kW64ChunkTail)) {
      return invalid("Wave64 header: expected the form 'wave'");
    }
    container_ = Container::kW64;
    RILL_RETURN_IF_ERROR(source().skip(40));
    return {};
  }
  if (id == "RIFF") {
    container_ = Container::kRiff;
  } else if (id == "RIFX") {
    container_ = Container::kRifx;
    body_.order = ByteOrder::kBig;
  } else if (id == "RF64") {
    container_ = Container::kRf64;
  } else if (id == "BW64") {
    container_ = Container::kBw64;
  } else {
    return invalid(
        cat("got '", printable(id), "' at byte 0, expected RIFF, RIFX, RF64, BW64 or Wave64"));
  }
  if (head.size() < 12)
    return invalid(cat("the file ends inside its header, after ", head.size(), " bytes"));
  const std::string_view form = text_of(head.subspan(8, 4));
  if (form != "WAVE")
    return invalid(cat("got the RIFF form '", printable(form), "', expected 'WAVE'"));
  RILL_RETURN_IF_ERROR(source().skip(12));
  return {};
}

// False at the end of the file; a header that is cut counts as the end.
Result<bool> Walker::read_chunk_header(Chunk& chunk) {
  const bool w64 = container_ == Container::kW64;
  std::array<std::byte, 24> header;
  const size_t header_size = w64 ? 24 : 8;
  RILL_ASSIGN_OR_RETURN(const size_t got,
                        source().read_fully(std::span(header).first(header_size)));
  if (got < header_size) return false;
  chunk = {};
  chunk.id = text_of(std::span(header).first(4));
  if (w64) {
    const uint64_t size = load_integer<uint64_t>(header.data() + 16, ByteOrder::kLittle);
    // An id with another tail is some other chunk; its letters mean nothing then.
    if (!equals(std::span<const std::byte>(header).subspan(4), kW64ChunkTail)) chunk.id = "guid";
    chunk.unknown_size = size >= kToTheEnd / 2;
    if (!chunk.unknown_size && size < 24) {
      return invalid(cat("chunk '", printable(chunk.id), "': got a size of ", size,
                         " bytes, expected at least 24"));
    }
    chunk.size = chunk.unknown_size ? 0 : size - 24;
    return true;
  }
  const uint32_t size = load_integer<uint32_t>(header.data() + 4, body_.order);
  chunk.size = size;
  chunk.unknown_size = is_streaming_size(size);
  return true;
}

Status Walker::skip_padding(uint64_t size) {
  if (container_ == Container::kW64) {
    RILL_RETURN_IF_ERROR(source().skip((8 - size % 8) % 8));
    return {};
  }
  if (size % 2 == 0) return {};
  RILL_ASSIGN_OR_RETURN(auto next, source().peek(5));
  // Some writers leave the pad byte out: then the next id begins right here.
  const std::string_view text = text_of(next);
  const bool id_after_pad = text.size() == 5 && is_known_id(text.substr(1));
  const bool id_here = text.size() >= 4 && is_printable(text.substr(0, 4));
  if (id_after_pad || !id_here) RILL_RETURN_IF_ERROR(source().skip(1));
  return {};
}

Status Walker::skip_payload(const Chunk& chunk, uint64_t already_read) {
  // A size that cannot be true ends the walk at the end of the file.
  RILL_RETURN_IF_ERROR(source().skip(chunk.size - already_read));
  return skip_padding(chunk.size);
}

Status Walker::take_fmt(const Chunk& chunk) {
  std::array<std::byte, 40> payload;
  const size_t wanted = static_cast<size_t>(std::min<uint64_t>(chunk.size, payload.size()));
  RILL_ASSIGN_OR_RETURN(const size_t got, source().read_fully(std::span(payload).first(wanted)));
  if (got < wanted)
    return invalid(cat("fmt chunk: the file ends after ", got, " of ", chunk.size, " bytes"));
  RILL_ASSIGN_OR_RETURN(const WavFormat format,
                        parse_wav_format(std::span(payload).first(got), body_.order));
  if (format_ && !(*format_ == format))
    return invalid("fmt chunk: a second one contradicts the first");
  format_ = format;
  RILL_RETURN_IF_ERROR(skip_payload(chunk, got));
  if (body_.use_early_data) {
    body_.format = format;
    done_ = true;
  }
  return {};
}

Status Walker::take_ds64(const Chunk& chunk) {
  std::array<std::byte, 16> payload;
  if (chunk.size < 24)
    return invalid(cat("ds64 chunk: got ", chunk.size, " bytes, expected at least 24"));
  RILL_ASSIGN_OR_RETURN(const size_t got, source().read_fully(payload));
  if (got < payload.size()) return invalid(cat("ds64 chunk: the file ends after ", got, " bytes"));
  ds64_data_size_ = load_integer<uint64_t>(payload.data() + 8, body_.order);
  return skip_payload(chunk, got);
}

Status Walker::hold_early_data(const Chunk& chunk) {
  if (chunk.unknown_size || chunk.size == 0) {
    return invalid("data chunk: it comes before the fmt chunk and has no size");
  }
  std::vector<std::byte>& held = body_.early_data;
  std::array<std::byte, 16384> piece;
  while (held.size() < chunk.size) {
    const uint64_t left = chunk.size - held.size();
    const size_t wanted = static_cast<size_t>(std::min<uint64_t>(left, piece.size()));
    RILL_ASSIGN_OR_RETURN(const size_t got, source().read_fully(std::span(piece).first(wanted)));
    held.insert(held.end(), piece.begin(), piece.begin() + static_cast<std::ptrdiff_t>(got));
    if (got < wanted) break;
    if (held.size() > WavReader::kMaxEarlyDataBytes) {
      return Error{ErrorCode::kUnsupported,
                   cat("wav: data chunk: it comes before the fmt chunk and is longer than ",
                       WavReader::kMaxEarlyDataBytes, " bytes")};
    }
  }
  body_.use_early_data = true;
  body_.bytes_left = held.size();
  return skip_padding(chunk.size);
}

void Walker::start_samples(uint64_t size) {
  body_.bytes_left = size;
  body_.format = *format_;
  done_ = true;
}

Result<bool> Walker::is_empty_data(const Chunk& chunk) {
  if (chunk.size != 0 || chunk.unknown_size) return false;
  RILL_ASSIGN_OR_RETURN(auto next, source().peek(4));
  return next.size() < 4 || is_known_id(text_of(next));
}

Status Walker::take_data(const Chunk& data_chunk) {
  saw_data_ = true;
  Chunk chunk = data_chunk;
  const bool has_ds64 = container_ == Container::kRf64 || container_ == Container::kBw64;
  if (has_ds64 && ds64_data_size_ && chunk.size == 0xFFFFFFFFu) {
    chunk.size = *ds64_data_size_;
    chunk.unknown_size = chunk.size >= kToTheEnd / 2;
  }
  RILL_ASSIGN_OR_RETURN(const bool empty, is_empty_data(chunk));
  if (empty || body_.use_early_data) return skip_payload(chunk, 0);
  if (!format_) return hold_early_data(chunk);
  start_samples(chunk.unknown_size || chunk.size == 0 ? kToTheEnd : chunk.size);
  return {};
}

Status Walker::take_chunk(const Chunk& chunk) {
  if (chunk.id == "fmt ") return take_fmt(chunk);
  if (chunk.id == "data") return take_data(chunk);
  if (chunk.id == "ds64") return take_ds64(chunk);
  return skip_payload(chunk, 0);
}

Status Walker::walk() {
  RILL_RETURN_IF_ERROR(read_container());
  std::string last_id = "the header";
  while (!done_) {
    Chunk chunk;
    RILL_ASSIGN_OR_RETURN(const bool more, read_chunk_header(chunk));
    if (!more) break;
    RILL_RETURN_IF_ERROR(take_chunk(chunk));
    last_id = cat("chunk '", printable(chunk.id), "'");
  }
  if (done_) return {};
  if (!format_) return invalid(cat("no fmt chunk: the file ends after ", last_id));
  if (!saw_data_) return invalid(cat("no data chunk: the file ends after ", last_id));
  start_samples(0);  // only empty data chunks
  return {};
}

AudioFormat Walker::audio_format() const {
  AudioFormat format;
  format.sample_rate_hz = body_.format.sample_rate_hz;
  format.channels = body_.format.channels;
  format.container = container_name(container_);
  format.codec = body_.format.codec_name();
  uint64_t bytes = body_.bytes_left;
  if (!body_.use_early_data && bytes != 0) {
    const std::optional<uint64_t> file_size = body_.source->size_bytes();
    if (!file_size) return format;  // a pipe's declared size proves nothing
    bytes = std::min(bytes, *file_size - std::min(*file_size, body_.source->position()));
  }
  format.total_frames = static_cast<int64_t>(bytes / body_.format.bytes_per_frame());
  return format;
}

}  // namespace

bool looks_like_wav(std::span<const std::byte> head) {
  if (head.size() < 4) return false;
  const std::string_view id = text_of(head.first(4));
  if (id == "riff") return head.size() >= 12 && std::memcmp(head.data() + 4, kW64RiffTail, 8) == 0;
  return id == "RIFF" || id == "RIFX" || id == "RF64" || id == "BW64";
}

Result<std::unique_ptr<WavReader>> WavReader::open(std::unique_ptr<ByteSource> source) {
  Walker walker(std::move(source));
  RILL_RETURN_IF_ERROR(walker.walk());
  AudioFormat format = walker.audio_format();
  return std::unique_ptr<WavReader>(new WavReader(std::move(format), walker.take_body()));
}

Result<size_t> WavReader::read_bytes(std::span<std::byte> out) {
  const size_t wanted = static_cast<size_t>(std::min<uint64_t>(out.size(), body_.bytes_left));
  size_t got = wanted;
  if (body_.use_early_data) {
    if (wanted > 0) std::memcpy(out.data(), body_.early_data.data() + early_position_, wanted);
    early_position_ += wanted;
  } else {
    RILL_ASSIGN_OR_RETURN(got, body_.source->read_fully(out.first(wanted)));
  }
  body_.bytes_left = got < wanted ? 0 : body_.bytes_left - got;
  return got;
}

Result<size_t> WavReader::read_frames(std::span<float> interleaved) {
  const size_t frame_bytes = body_.format.bytes_per_frame();
  const size_t wanted_frames =
      std::min<size_t>(interleaved.size() / channels(), 65536 / frame_bytes + 1);
  buffer_.resize(wanted_frames * frame_bytes);
  RILL_ASSIGN_OR_RETURN(const size_t got, read_bytes(buffer_));
  const size_t frames = got / frame_bytes;  // a partial last frame is dropped
  decode_wav_samples(body_.format, body_.order, std::span(buffer_).first(frames * frame_bytes),
                     interleaved.first(frames * channels()));
  return frames;
}

}  // namespace rill::audio
