// SPDX-License-Identifier: Apache-2.0
// ByteSource: where the bytes of an audio file come from (a file, standard input, memory). Nothing
// here knows about audio. Implementation: byte_source.cc,
// byte_source_posix.cc.
#pragma once

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "base/result.h"

namespace rill::audio {

/// A stream of bytes; some can also be read at any place.
class ByteSource {
 public:
  virtual ~ByteSource() = default;

  /// Reads up to out.size() bytes to the front of `out` and returns how many; 0 means the end (or
  /// an empty `out`). Fewer bytes than asked for are normal (pipes). Errors: kIo, naming the
  /// source.
  virtual Result<size_t> read(std::span<std::byte> out) = 0;
  /// The path, or what stands for it in messages ("standard input").
  [[nodiscard]] virtual const std::string& name() const = 0;
  /// Total size where it is known without reading (regular files, memory).
  [[nodiscard]] virtual std::optional<uint64_t> size_bytes() const = 0;

  /// Whether read_at() works (regular files, memory); the size is known then.
  [[nodiscard]] virtual bool has_random_access() const { return false; }
  /// Reads up to out.size() bytes from `offset` on, without touching where read() is; 0 means the
  /// end. Errors: kIo, naming the source; kUnsupported (no random access).
  virtual Result<size_t> read_at(uint64_t /*offset*/, std::span<std::byte> /*out*/) {
    return no_random_access();
  }

 private:
  // All virtual functions are inline, so that programs with RTTI can derive from the class though
  // the library is built without.
  [[nodiscard]] Error no_random_access() const;
};

/// A file or an open descriptor.
class FileSource final : public ByteSource {
 public:
  /// Opens a regular file or a named pipe.
  /// Errors: kNotFound (no such file), kIo (a directory, a device, no permission); the path is
  /// named.
  static Result<std::unique_ptr<FileSource>> open(const std::string& path);
  /// Reads an open descriptor, which the caller keeps and closes.
  static std::unique_ptr<FileSource> from_descriptor(int descriptor, std::string name);
  static std::unique_ptr<FileSource> standard_input();

  FileSource(const FileSource&) = delete;
  FileSource& operator=(const FileSource&) = delete;
  ~FileSource() override;

  /// Lets the flag end the wait for a pipe that delivers nothing. It may be null; it must outlive
  /// the source.
  void set_cancel(const std::atomic<bool>* cancel) { cancel_ = cancel; }

  /// Errors: also kCancelled.
  Result<size_t> read(std::span<std::byte> out) override;
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::optional<uint64_t> size_bytes() const override { return size_bytes_; }
  [[nodiscard]] bool has_random_access() const override { return size_bytes_.has_value(); }
  Result<size_t> read_at(uint64_t offset, std::span<std::byte> out) override;

 private:
  FileSource(int descriptor, bool owned, std::string name)
      : descriptor_(descriptor), owned_(owned), name_(std::move(name)) {}

  int descriptor_;
  bool owned_;
  std::string name_;
  std::optional<uint64_t> size_bytes_;
  const std::atomic<bool>* cancel_ = nullptr;
};

/// Bytes in memory.
class MemorySource final : public ByteSource {
 public:
  /// Reads bytes that the caller keeps alive.
  explicit MemorySource(std::span<const std::byte> bytes, std::string name = "audio data")
      : bytes_(bytes), name_(std::move(name)) {}
  /// Reads bytes that the source owns.
  explicit MemorySource(std::vector<std::byte> bytes, std::string name = "audio data")
      : owned_(std::move(bytes)), bytes_(owned_), name_(std::move(name)) {}
  MemorySource(const MemorySource&) = delete;
  MemorySource& operator=(const MemorySource&) = delete;

  Result<size_t> read(std::span<std::byte> out) override;
  [[nodiscard]] const std::string& name() const override { return name_; }
  [[nodiscard]] std::optional<uint64_t> size_bytes() const override { return bytes_.size(); }
  [[nodiscard]] bool has_random_access() const override { return true; }
  Result<size_t> read_at(uint64_t offset, std::span<std::byte> out) override;

 private:
  std::vector<std::byte> owned_;
  std::span<const std::byte> bytes_;
  size_t position_ = 0;
  std::string name_;
};

/// A ByteSource with a small buffer in front: peeking, exact reads and skipping, as parsers want
/// them.
class BufferedSource final : public ByteSource {
 public:
  explicit BufferedSource(std::unique_ptr<ByteSource> source) : source_(std::move(source)) {}

  /// The next bytes without consuming them: `count` of them, or fewer only if the source ends
  /// first. `count` is a parser's look-ahead, never a size that a file declares.
  Result<std::span<const std::byte>> peek(size_t count);
  /// Fills `out` unless the source ends first; returns how many bytes were read.
  Result<size_t> read_fully(std::span<std::byte> out);
  /// Skips up to `count` bytes; returns how many there were.
  Result<uint64_t> skip(uint64_t count);

  Result<size_t> read(std::span<std::byte> out) override;
  [[nodiscard]] const std::string& name() const override { return source_->name(); }
  [[nodiscard]] std::optional<uint64_t> size_bytes() const override {
    return source_->size_bytes();
  }
  [[nodiscard]] bool has_random_access() const override { return source_->has_random_access(); }
  Result<size_t> read_at(uint64_t offset, std::span<std::byte> out) override {
    return source_->read_at(offset, out);
  }
  /// Bytes consumed so far.
  [[nodiscard]] uint64_t position() const { return position_; }

 private:
  std::unique_ptr<ByteSource> source_;
  std::vector<std::byte> buffer_;
  size_t begin_ = 0;  // first byte of buffer_ that is not consumed
  uint64_t position_ = 0;
};

}  // namespace rill::audio
