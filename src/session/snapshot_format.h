// SPDX-License-Identifier: Apache-2.0
// The bytes of saved states: a header that says what follows, the parts, and a hash over all of
// it. Snapshots hold a whole sequence; the prefix cache's files hold the last steps of one. Used
// by snapshot.cc and prefix_cache_disk.cc alone.
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <string>
#include <string_view>
#include <vector>

#include "base/result.h"
#include "session/content_hash.h"
#include "session/sequence.h"

namespace rill::session {

inline constexpr uint32_t kSnapshotVersion = 1;
/// "RILLSTAT"
inline constexpr uint64_t kSnapshotMagic = 0x544154534C4C4952;
inline constexpr size_t kSnapshotHashBytes = 32;

enum class SnapshotKind : uint32_t {
  kSequence = 1,  ///< all steps
  kTail = 2,      ///< the steps after some full block, and the state after them
};

/// The first bytes of a file, little endian, as they are in memory.
struct SnapshotHeader {
  uint64_t magic = kSnapshotMagic;
  uint32_t version = kSnapshotVersion;
  SnapshotKind kind = SnapshotKind::kSequence;
  std::array<uint8_t, 32> model = {};      // Backbone::fingerprint
  std::array<uint8_t, 32> tokenizer = {};  // SHA-256 of SnapshotOptions::tokenizer
  ContentHash content = {};                // of all steps
  uint32_t kv_bits = 32;                   // of a value in the KV cache: 32 or 16
  uint32_t hidden_size = 0;                // D
  uint64_t first_position = 0;             // of the stored keys; a multiple of the block size
  uint64_t position = 0;                   // steps of the sequence
  uint64_t kv_step_bytes = 0;              // keys and values of a step
  uint64_t conv_values = 0;                // inputs of the short convolutions
  uint64_t generation_bytes = 0;           // 0: no reply was being generated
};
static_assert(sizeof(SnapshotHeader) == 160);

/// Takes bytes in order; both a file and a buffer are one.
using ByteSink = std::function<Status(std::span<const std::byte>)>;

/// The header of a sequence's steps from first_position on. Errors: kInvalidArgument,
/// kUnsupported as save_snapshot.
Result<SnapshotHeader> snapshot_header(const Sequence& sequence, SnapshotKind kind,
                                       size_t first_position, std::string_view tokenizer);

/// All bytes of a file with that header, the hash included; 0 if they do not fit 64 bits.
[[nodiscard]] uint64_t snapshot_bytes(const SnapshotHeader& header);

/// Writes a file. Shape: generation [header.generation_bytes]. Errors: those of the sink,
/// kOutOfMemory.
Status write_snapshot(const SnapshotHeader& header, const Sequence& sequence,
                      std::span<const std::byte> generation, const ByteSink& sink);

/// A file whose size and hash are right, taken apart; views into its bytes.
struct SnapshotParts {
  SnapshotHeader header;
  std::span<const std::byte> block_contents;  // [blocks, 32], see snapshot_blocks
  std::span<const std::byte> conv;            // [conv_values] F32
  std::span<const std::byte> hidden;          // [D] F32; empty at position 0
  std::span<const std::byte> kv;              // block after block, SequenceState::copy_steps
  std::span<const std::byte> generation;
};

/// What a file must be for its reader.
struct SnapshotExpectation {
  const model::lfm2::Backbone* backbone = nullptr;
  SnapshotKind kind = SnapshotKind::kSequence;
  std::string_view tokenizer;
};

/// Checks everything that does not depend on the keys and values themselves. Nothing is allocated.
/// Errors: those of restore_snapshot.
Result<SnapshotParts> read_snapshot(std::span<const std::byte> bytes,
                                    const SnapshotExpectation& expected, const std::string& name);

/// Appends the stored keys and values to a state that has first_position steps, and sets its
/// convolution inputs. Errors: kOutOfMemory.
Status apply_snapshot(const SnapshotParts& parts, model::lfm2::SequenceState& state);

/// The hidden state of the parts.
[[nodiscard]] std::vector<float> snapshot_hidden(const SnapshotParts& parts);

}  // namespace rill::session
