// SPDX-License-Identifier: Apache-2.0
// Snapshot: a sequence as bytes, to continue it later, in another process or on another machine,
// with the bits of an uninterrupted run. Format: docs/state-format.md.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

#include "base/aligned_buffer.h"
#include "base/result.h"
#include "model/lfm2/backbone.h"
#include "session/generator.h"
#include "session/sequence.h"

namespace rill::session {

struct SnapshotOptions {
  /// Names the tokenizer, such as text::Tokenizer::content_hash: states of one model with different
  /// tokenizers are told apart. Empty is a value like others.
  std::string tokenizer;
  /// Restoring: refuse a state whose keys and values have another type. Saving ignores it.
  std::optional<DType> kv_type;
};

struct Snapshot {
  Sequence sequence;
  std::optional<GenerationState> generation;
};

/// The state as bytes. Checkpoints that the sequence keeps are left out.
/// Errors: kInvalidArgument (a sequence that is not usable), kUnsupported (a model with a sliding
/// window: its early keys are gone), kOutOfMemory.
Result<AlignedBuffer> save_snapshot(const Sequence& sequence, const GenerationState* generation,
                                    const SnapshotOptions& options);

/// The same to a file, which appears when it is complete. Errors: also kIo, kNotFound (folder).
Status save_snapshot_file(const std::string& path, const Sequence& sequence,
                          const GenerationState* generation, const SnapshotOptions& options);

/// A sequence that continues where the saved one stood. `name` stands for the file in messages.
/// Errors: kInvalidFormat (no snapshot, truncated or changed bytes, values that contradict each
/// other), kUnsupported (another version, another kind of file), kInvalidArgument (another model,
/// tokenizer or type of keys and values), kContextFull (a longer context than the model has now),
/// kOutOfMemory; the field is named.
Result<Snapshot> restore_snapshot(const model::lfm2::Backbone& backbone,
                                  std::span<const std::byte> bytes, const SnapshotOptions& options,
                                  const std::string& name = "snapshot");

/// Errors: also kNotFound, kIo.
Result<Snapshot> restore_snapshot_file(const model::lfm2::Backbone& backbone,
                                       const std::string& path, const SnapshotOptions& options);

}  // namespace rill::session
