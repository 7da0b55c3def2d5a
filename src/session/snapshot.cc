// SPDX-License-Identifier: Apache-2.0
#include "session/snapshot.h"

#include <cstring>
#include <utility>
#include <vector>

#include "base/atomic_file.h"
#include "base/mapped_file.h"
#include "base/str_cat.h"
#include "session/snapshot_format.h"

namespace rill::session {
namespace {

/// Sizes in front of a generation's lists.
struct GenerationHeader {
  uint64_t step = 0;
  uint64_t num_tokens = 0;
  int32_t pending = -1;
  uint32_t num_window = 0;   // i32 each
  uint32_t num_seen = 0;     // (i32 token, u32 count) each
  uint32_t num_replied = 0;  // (i32 token, u32 count) each
};
static_assert(sizeof(GenerationHeader) == 32);
static_assert(sizeof(SamplerHistory::Counts::value_type) == 8);

template <typename T>
void append_values(const std::vector<T>& values, std::vector<std::byte>& out) {
  const auto* bytes = reinterpret_cast<const std::byte*>(values.data());
  out.insert(out.end(), bytes, bytes + values.size() * sizeof(T));
}

std::vector<std::byte> encode(const GenerationState& generation) {
  const SamplerHistory& sampler = generation.sampler;
  const GenerationHeader header = {sampler.step,
                                   generation.num_tokens,
                                   generation.pending,
                                   static_cast<uint32_t>(sampler.window.size()),
                                   static_cast<uint32_t>(sampler.seen.size()),
                                   static_cast<uint32_t>(sampler.replied.size())};
  std::vector<std::byte> out(sizeof(header));
  std::memcpy(out.data(), &header, sizeof(header));
  append_values(sampler.window, out);
  append_values(sampler.seen, out);
  append_values(sampler.replied, out);
  return out;
}

/// Takes values from the front of bytes that are long enough.
template <typename T>
std::vector<T> take_values(std::span<const std::byte>& bytes, size_t count) {
  std::vector<T> values(count);
  if (count > 0) std::memcpy(static_cast<void*>(values.data()), bytes.data(), count * sizeof(T));
  bytes = bytes.subspan(count * sizeof(T));
  return values;
}

Result<GenerationState> decode(std::span<const std::byte> bytes, size_t vocab_size,
                               const std::string& name) {
  const auto refuse = [&](const char* field, auto got, auto expected) {
    return Error{ErrorCode::kInvalidFormat, cat("restore state: ", printable(name, 4096), ": ",
                                                field, ": got ", got, ", expected ", expected)};
  };
  GenerationHeader header;
  if (bytes.size() < sizeof(header))
    return refuse("generation", cat(bytes.size(), " bytes"), cat("at least ", sizeof(header)));
  std::memcpy(&header, bytes.data(), sizeof(header));
  bytes = bytes.subspan(sizeof(header));
  const uint64_t size =
      uint64_t{header.num_window} * 4 + (uint64_t{header.num_seen} + header.num_replied) * 8;
  if (size != bytes.size()) return refuse("generation lists", cat(bytes.size(), " bytes"), size);
  if (header.pending >= 0 && static_cast<size_t>(header.pending) >= vocab_size)
    return refuse("pending token", header.pending, cat("at most ", vocab_size - 1));
  GenerationState generation;
  generation.pending = header.pending < 0 ? -1 : header.pending;
  generation.num_tokens = header.num_tokens;
  generation.sampler.step = header.step;
  using Count = SamplerHistory::Counts::value_type;
  generation.sampler.window = take_values<int32_t>(bytes, header.num_window);
  generation.sampler.seen = take_values<Count>(bytes, header.num_seen);
  generation.sampler.replied = take_values<Count>(bytes, header.num_replied);
  return generation;
}

/// The header and the bytes of the generation part.
struct Prepared {
  SnapshotHeader header;
  std::vector<std::byte> generation;
};

Result<Prepared> prepare(const Sequence& sequence, const GenerationState* generation,
                         const SnapshotOptions& options) {
  Prepared prepared;
  RILL_ASSIGN_OR_RETURN(prepared.header,
                        snapshot_header(sequence, SnapshotKind::kSequence, 0, options.tokenizer));
  if (generation != nullptr) prepared.generation = encode(*generation);
  prepared.header.generation_bytes = prepared.generation.size();
  return prepared;
}

}  // namespace

Result<AlignedBuffer> save_snapshot(const Sequence& sequence, const GenerationState* generation,
                                    const SnapshotOptions& options) {
  RILL_ASSIGN_OR_RETURN(const Prepared prepared, prepare(sequence, generation, options));
  RILL_ASSIGN_OR_RETURN(AlignedBuffer out, AlignedBuffer::create(snapshot_bytes(prepared.header)));
  size_t offset = 0;
  const auto sink = [&](std::span<const std::byte> bytes) -> Status {
    if (!bytes.empty()) std::memcpy(out.data() + offset, bytes.data(), bytes.size());
    offset += bytes.size();
    return {};
  };
  RILL_RETURN_IF_ERROR(write_snapshot(prepared.header, sequence, prepared.generation, sink));
  RILL_CHECK(offset == out.size_bytes(), "a snapshot is as long as its header says");
  return out;
}

Status save_snapshot_file(const std::string& path, const Sequence& sequence,
                          const GenerationState* generation, const SnapshotOptions& options) {
  RILL_ASSIGN_OR_RETURN(const Prepared prepared, prepare(sequence, generation, options));
  RILL_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  const auto sink = [&](std::span<const std::byte> bytes) { return file.write(bytes); };
  RILL_RETURN_IF_ERROR(write_snapshot(prepared.header, sequence, prepared.generation, sink));
  return file.commit();
}

Result<Snapshot> restore_snapshot(const model::lfm2::Backbone& backbone,
                                  std::span<const std::byte> bytes, const SnapshotOptions& options,
                                  const std::string& name) {
  const SnapshotExpectation expected = {&backbone, SnapshotKind::kSequence, options.tokenizer};
  RILL_ASSIGN_OR_RETURN(const SnapshotParts parts, read_snapshot(bytes, expected, name));
  const DType kv_type = parts.header.kv_bits == 16 ? DType::kF16 : DType::kF32;
  if (options.kv_type && *options.kv_type != kv_type) {
    return Error{ErrorCode::kInvalidArgument,
                 cat("restore state: ", printable(name, 4096), ": kv type: got ",
                     dtype_name(kv_type), ", expected ", dtype_name(*options.kv_type))};
  }
  std::optional<GenerationState> generation;
  if (!parts.generation.empty()) {
    RILL_ASSIGN_OR_RETURN(generation, decode(parts.generation, backbone.config().vocab_size, name));
  }
  RILL_ASSIGN_OR_RETURN(auto state, model::lfm2::SequenceState::create(backbone.config(), kv_type));
  RILL_RETURN_IF_ERROR(apply_snapshot(parts, state));
  std::span<const std::byte> contents = parts.block_contents;
  const size_t blocks = contents.size() / sizeof(ContentHash);
  Sequence::Parts whole = {std::move(state), snapshot_hidden(parts), parts.header.content,
                           take_values<ContentHash>(contents, blocks)};
  return Snapshot{Sequence::assemble(backbone, std::move(whole)), std::move(generation)};
}

Result<Snapshot> restore_snapshot_file(const model::lfm2::Backbone& backbone,
                                       const std::string& path, const SnapshotOptions& options) {
  RILL_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path));
  return restore_snapshot(backbone, file.bytes(), options, path);
}

}  // namespace rill::session
