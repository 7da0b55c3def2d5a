// SPDX-License-Identifier: Apache-2.0
#include "session/snapshot_format.h"

#include <algorithm>
#include <bit>
#include <cstring>
#include <utility>

#include "base/aligned_buffer.h"
#include "base/str_cat.h"

namespace rill::session {
namespace {

using model::lfm2::Config;
using model::lfm2::SequenceState;
using ops::kKvBlockPositions;

static_assert(std::endian::native == std::endian::little,
              "state files assume a little-endian machine");

std::array<uint8_t, 32> hash_of(std::string_view text) {
  Sha256 hash;
  hash.update(std::as_bytes(std::span(text.data(), text.size())));
  return hash.finish();
}

/// Entries of block_contents: every full block of a sequence; of a tail, the one before it.
uint64_t num_contents(const SnapshotHeader& header) {
  if (header.kind == SnapshotKind::kTail) return header.first_position > 0 ? 1 : 0;
  return header.position / kKvBlockPositions;
}

uint64_t hidden_values(const SnapshotHeader& header) {
  return header.position > 0 ? header.hidden_size : 0;
}

uint32_t kv_bits(DType type) { return type == DType::kF16 ? 16 : 32; }

std::string short_hex(const std::array<uint8_t, 32>& hash) {
  return to_hex(std::span(hash).first(8));
}

/// Builds "restore state: NAME: field: got X, expected Y".
struct Refusal {
  const std::string& name;

  [[nodiscard]] Error operator()(ErrorCode code, std::string_view field, std::string_view got,
                                 std::string_view expected) const {
    return Error{code, cat("restore state: ", printable(name, 4096), ": ", field, ": got ", got,
                           ", expected ", expected)};
  }
  [[nodiscard]] Error number(std::string_view field, uint64_t got, uint64_t expected) const {
    return (*this)(ErrorCode::kInvalidFormat, field, cat(got), cat(expected));
  }
};

/// Magic, version, size and hash: whether these are the bytes that were written.
Status check_whole(std::span<const std::byte> bytes, const SnapshotHeader& header,
                   const Refusal& refuse) {
  if (header.magic != kSnapshotMagic) {
    return refuse(ErrorCode::kInvalidFormat, "magic", cat(header.magic), "that of a saved state");
  }
  if (header.version != kSnapshotVersion) {
    return refuse(ErrorCode::kUnsupported, "version", cat(header.version),
                  cat(kSnapshotVersion, "; save the state again with this version of rill"));
  }
  if (header.kind != SnapshotKind::kSequence && header.kind != SnapshotKind::kTail) {
    return refuse(ErrorCode::kInvalidFormat, "kind", cat(static_cast<uint32_t>(header.kind)),
                  "1 (a sequence) or 2 (the end of one)");
  }
  const uint64_t size = snapshot_bytes(header);
  if (size != bytes.size()) {
    return refuse(ErrorCode::kInvalidFormat, "size", cat(bytes.size(), " bytes"),
                  size > 0 ? cat(size, " by the header") : "what fits 64 bits by the header");
  }
  Sha256 hash;
  hash.update(bytes.first(bytes.size() - kSnapshotHashBytes));
  const auto digest = hash.finish();
  if (std::memcmp(digest.data(), bytes.last(kSnapshotHashBytes).data(), kSnapshotHashBytes) != 0) {
    return refuse(ErrorCode::kInvalidFormat, "hash", short_hex(digest),
                  "the one at its end; the file is damaged");
  }
  return {};
}

/// Whether the state is one of this model.
Status check_model(const SnapshotHeader& header, const SnapshotExpectation& expected,
                   const Refusal& refuse) {
  if (header.kind != expected.kind) {
    return refuse(ErrorCode::kUnsupported, "kind", cat(static_cast<uint32_t>(header.kind)),
                  cat(static_cast<uint32_t>(expected.kind)));
  }
  const model::lfm2::Fingerprint& model = expected.backbone->fingerprint();
  if (header.model != model) {
    return refuse(ErrorCode::kInvalidArgument, "model", cat("a state of ", short_hex(header.model)),
                  cat("one of ", short_hex(model), " (", expected.backbone->config().source, ")"));
  }
  if (header.tokenizer != hash_of(expected.tokenizer)) {
    return refuse(ErrorCode::kInvalidArgument, "tokenizer",
                  cat("a state of ", short_hex(header.tokenizer)),
                  cat("one of ", short_hex(hash_of(expected.tokenizer)),
                      ": the same id may mean another text"));
  }
  return {};
}

/// Whether the sizes are those that the model gives. With a right hash and model only a crafted
/// file gets here with others.
Status check_sizes(const SnapshotHeader& header, const Config& config, const Refusal& refuse) {
  if (header.kv_bits != 32 && header.kv_bits != 16)
    return refuse(ErrorCode::kInvalidFormat, "kv_bits", cat(header.kv_bits), "32 or 16");
  if (header.hidden_size != config.hidden_size)
    return refuse.number("hidden_size", header.hidden_size, config.hidden_size);
  const uint64_t step_bytes = config.num_attention_layers() * 2 * config.num_kv_heads *
                              config.head_dim * (header.kv_bits / 8);
  if (header.kv_step_bytes != step_bytes)
    return refuse.number("kv_step_bytes", header.kv_step_bytes, step_bytes);
  const uint64_t conv_values =
      config.num_conv_layers() * (config.conv_L_cache - 1) * config.hidden_size;
  if (header.conv_values != conv_values)
    return refuse.number("conv_values", header.conv_values, conv_values);
  if (header.position > config.context_length) {
    return refuse(ErrorCode::kContextFull, "position", cat(header.position),
                  cat("at most ", config.context_length, ", the context length"));
  }
  if (config.sliding_window > 0)
    return refuse(ErrorCode::kUnsupported, "model", "a sliding window", "none");
  const uint64_t first = header.first_position;
  if (header.kind == SnapshotKind::kSequence && first != 0)
    return refuse.number("first_position", first, 0);
  const bool is_tail = first % kKvBlockPositions == 0 && header.position > first;
  if (header.kind == SnapshotKind::kTail && !is_tail) {
    return refuse(ErrorCode::kInvalidFormat, "first_position", cat(first),
                  cat("the end of a block before ", header.position));
  }
  return {};
}

}  // namespace

Result<SnapshotHeader> snapshot_header(const Sequence& sequence, SnapshotKind kind,
                                       size_t first_position, std::string_view tokenizer) {
  const Config& config = sequence.backbone().config();
  if (!sequence.usable()) {
    return Error{ErrorCode::kInvalidArgument,
                 "save state: got a sequence whose last append failed or was cancelled, expected "
                 "it to be truncated or reset first"};
  }
  if (config.sliding_window > 0) {
    return Error{ErrorCode::kUnsupported, cat("save state: ", config.source,
                                              ": got a model with a sliding window, expected "
                                              "one that keeps all keys")};
  }
  SnapshotHeader header;
  header.kind = kind;
  header.model = sequence.backbone().fingerprint();
  header.tokenizer = hash_of(tokenizer);
  header.content = sequence.content();
  header.kv_bits = kv_bits(sequence.state().kv_type());
  header.hidden_size = static_cast<uint32_t>(config.hidden_size);
  header.first_position = first_position;
  header.position = sequence.position();
  header.kv_step_bytes = sequence.state().step_bytes();
  header.conv_values = sequence.state().conv_values().size();
  return header;
}

uint64_t snapshot_bytes(const SnapshotHeader& header) {
  uint64_t total = sizeof(SnapshotHeader) + kSnapshotHashBytes;
  bool fits = header.position >= header.first_position;
  const auto add = [&](uint64_t count, uint64_t size) {
    uint64_t bytes = 0;
    fits = fits && !__builtin_mul_overflow(count, size, &bytes) &&
           !__builtin_add_overflow(total, bytes, &total);
  };
  add(num_contents(header), sizeof(ContentHash));
  add(header.conv_values, sizeof(float));
  add(hidden_values(header), sizeof(float));
  add(header.position - header.first_position, header.kv_step_bytes);
  add(header.generation_bytes, 1);
  return fits ? total : 0;
}

Status write_snapshot(const SnapshotHeader& header, const Sequence& sequence,
                      std::span<const std::byte> generation, const ByteSink& sink) {
  const SequenceState& state = sequence.state();
  RILL_ASSIGN_OR_RETURN(AlignedBuffer block,
                        AlignedBuffer::create(kKvBlockPositions * header.kv_step_bytes));
  Sha256 hash;
  const auto write = [&](std::span<const std::byte> bytes) -> Status {
    hash.update(bytes);
    return sink(bytes);
  };
  RILL_RETURN_IF_ERROR(write(std::as_bytes(std::span(&header, 1))));
  const size_t contents = num_contents(header);
  const size_t first_content =
      header.kind == SnapshotKind::kTail ? header.first_position / kKvBlockPositions - contents : 0;
  RILL_RETURN_IF_ERROR(
      write(std::as_bytes(sequence.block_contents().subspan(first_content, contents))));
  RILL_RETURN_IF_ERROR(write(std::as_bytes(state.conv_values())));
  RILL_RETURN_IF_ERROR(write(std::as_bytes(sequence.hidden())));
  for (size_t first = header.first_position; first < header.position; first += kKvBlockPositions) {
    const size_t steps = std::min<size_t>(kKvBlockPositions, header.position - first);
    const std::span<std::byte> bytes(block.data(), steps * header.kv_step_bytes);
    state.copy_steps(first, steps, bytes);
    RILL_RETURN_IF_ERROR(write(bytes));
  }
  RILL_RETURN_IF_ERROR(write(generation));
  const auto digest = hash.finish();
  return sink(std::as_bytes(std::span(digest)));
}

Result<SnapshotParts> read_snapshot(std::span<const std::byte> bytes,
                                    const SnapshotExpectation& expected, const std::string& name) {
  const Refusal refuse = {name};
  SnapshotParts parts;
  if (bytes.size() < sizeof(SnapshotHeader)) {
    return refuse(ErrorCode::kInvalidFormat, "header", cat(bytes.size(), " bytes"),
                  cat("at least ", sizeof(SnapshotHeader)));
  }
  std::memcpy(&parts.header, bytes.data(), sizeof(SnapshotHeader));
  RILL_RETURN_IF_ERROR(check_whole(bytes, parts.header, refuse));
  RILL_RETURN_IF_ERROR(check_model(parts.header, expected, refuse));
  RILL_RETURN_IF_ERROR(check_sizes(parts.header, expected.backbone->config(), refuse));
  // The sizes fit: check_whole has added them up.
  size_t offset = sizeof(SnapshotHeader);
  const auto take = [&](uint64_t size) {
    const auto part = bytes.subspan(offset, size);
    offset += size;
    return part;
  };
  parts.block_contents = take(num_contents(parts.header) * sizeof(ContentHash));
  parts.conv = take(parts.header.conv_values * sizeof(float));
  parts.hidden = take(hidden_values(parts.header) * sizeof(float));
  parts.kv =
      take((parts.header.position - parts.header.first_position) * parts.header.kv_step_bytes);
  parts.generation = take(parts.header.generation_bytes);
  return parts;
}

Status apply_snapshot(const SnapshotParts& parts, SequenceState& state) {
  RILL_CHECK(state.position() == parts.header.first_position &&
                 parts.header.kv_bits == kv_bits(state.kv_type()),
             "a state that the stored steps continue");
  size_t offset = 0;
  while (state.position() < parts.header.position) {
    const size_t steps =
        std::min<size_t>(kKvBlockPositions, parts.header.position - state.position());
    const size_t size = steps * parts.header.kv_step_bytes;
    RILL_RETURN_IF_ERROR(state.append_stored(steps, parts.kv.subspan(offset, size)));
    offset += size;
  }
  std::memcpy(state.conv_values().data(), parts.conv.data(), parts.conv.size());
  return {};
}

std::vector<float> snapshot_hidden(const SnapshotParts& parts) {
  std::vector<float> hidden(parts.hidden.size() / sizeof(float));
  if (!hidden.empty()) std::memcpy(hidden.data(), parts.hidden.data(), parts.hidden.size());
  return hidden;
}

}  // namespace rill::session
