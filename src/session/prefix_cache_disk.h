// SPDX-License-Identifier: Apache-2.0
// PrefixCacheDisk: the folder of a prefix cache. A file holds the last steps of a kept state (kind
// 2 of docs/state-format.md) and is named by what it holds, so that processes that share the folder
// need nothing else. Trouble with the disk costs time, never a result: it is counted.
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/mapped_file.h"
#include "base/result.h"
#include "model/lfm2/backbone.h"
#include "session/content_hash.h"
#include "session/sequence.h"
#include "session/snapshot_format.h"

namespace rill::session {

/// Threading: one thread; other processes may use the folder at the same time.
class PrefixCacheDisk {
 public:
  /// Makes the folder if it is missing. Errors: kIo, naming it.
  static Result<PrefixCacheDisk> open(std::string directory, uint64_t max_bytes,
                                      std::string tokenizer);

  /// Looks at the files that the folder has now for states of this kind.
  void scan(const model::lfm2::Backbone& backbone, DType kv_type);
  /// The same unless the last scan was for this kind.
  void select(const model::lfm2::Backbone& backbone, DType kv_type) {
    if (prefix(backbone, kv_type) != prefix_) scan(backbone, kv_type);
  }

  /// Positions of the files by their content, as of the last scan.
  [[nodiscard]] const std::map<ContentHash, size_t>& files() const { return files_; }

  /// Writes the steps of a sequence from first_position (0, or the end of a block whose file is
  /// there) on, unless there is such a file. False if it could not be written.
  bool store(const Sequence& sequence, size_t first_position);

  /// The kept state with that content in memory, or null.
  using Known = std::function<const Sequence*(const ContentHash&)>;
  /// Reads the state after contents.size() - 1 steps, and the ones on the way to it: each continues
  /// the one before, the last is the one asked for. Empty if a file of the chain is not there or
  /// not right; such files are forgotten, and damaged ones removed. Shape: contents [position + 1],
  /// the content hash before each step and after the last.
  std::vector<Sequence> load(std::span<const ContentHash> contents,
                             const model::lfm2::Backbone& backbone, DType kv_type,
                             const Known& known);

  /// Marks a state's file as used now.
  void mark_used(const ContentHash& content) const;

  /// Whether something has been written since the last trim().
  [[nodiscard]] bool has_grown() const { return has_grown_; }
  /// Removes the files that have not been used for the longest time until the folder's size is
  /// within its limit, and what crashed writers left.
  void trim();

  [[nodiscard]] size_t damaged_files() const { return damaged_files_; }
  [[nodiscard]] size_t failed_writes() const { return failed_writes_; }

 private:
  /// One file of a chain, open: parts are views into it.
  struct Link {
    std::string path;
    MappedFile file;
    SnapshotParts parts;
  };

  PrefixCacheDisk(std::string directory, uint64_t max_bytes, std::string tokenizer);
  [[nodiscard]] std::string prefix(const model::lfm2::Backbone& backbone, DType kv_type) const;
  std::optional<Link> open_link(std::span<const ContentHash> contents, size_t position,
                                const model::lfm2::Backbone& backbone);
  [[nodiscard]] std::string path(const ContentHash& content, size_t position) const;

  std::string directory_;
  uint64_t max_bytes_;
  std::string tokenizer_;
  std::string prefix_;  // of the names of the last scan's states
  std::map<ContentHash, size_t> files_;
  bool has_grown_ = false;
  size_t damaged_files_ = 0;
  size_t failed_writes_ = 0;
};

}  // namespace rill::session
