// SPDX-License-Identifier: Apache-2.0
// ByteReader: walks little-endian bytes of an untrusted file; no step goes past the end, and every
// failure names the file, the field and the byte.
#pragma once

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>
#include <string>
#include <string_view>
#include <utility>

#include "base/result.h"
#include "base/str_cat.h"

namespace rill::format {

static_assert(std::endian::native == std::endian::little,
              "file readers assume a little-endian machine");

/// The error "WHAT: FIELD at byte N: got X, expected Y".
[[nodiscard]] inline Error field_error(ErrorCode code, std::string_view what,
                                       std::string_view field, uint64_t offset,
                                       std::string_view got, std::string_view expected) {
  return Error{code,
               cat(what, ": ", field, " at byte ", offset, ": got ", got, ", expected ", expected)};
}

/// A cursor over bytes that the caller keeps alive.
class ByteReader {
 public:
  /// `what` starts each message: "load gguf: model.gguf".
  ByteReader(std::span<const std::byte> bytes, std::string what)
      : bytes_(bytes), what_(std::move(what)) {}

  [[nodiscard]] size_t offset() const { return offset_; }
  [[nodiscard]] size_t remaining() const { return bytes_.size() - offset_; }
  [[nodiscard]] const std::string& what() const { return what_; }

  /// The next number. Errors: kInvalidFormat if the bytes end first.
  template <typename T>
  Result<T> read(std::string_view field) {
    if (remaining() < sizeof(T)) return ended(field, sizeof(T));
    T value;
    std::memcpy(&value, bytes_.data() + offset_, sizeof(T));
    offset_ += sizeof(T);
    return value;
  }

  /// The next `size` bytes as text, not copied. Errors: kInvalidFormat if the bytes end first.
  Result<std::string_view> read_text(uint64_t size, std::string_view field) {
    if (remaining() < size) return ended(field, size);
    const auto* begin = reinterpret_cast<const char*>(bytes_.data() + offset_);
    offset_ += static_cast<size_t>(size);
    return std::string_view(begin, static_cast<size_t>(size));
  }

  [[nodiscard]] Error fail(size_t offset, std::string_view field, std::string_view got,
                           std::string_view expected) const {
    return field_error(ErrorCode::kInvalidFormat, what_, field, offset, got, expected);
  }

 private:
  [[nodiscard]] Error ended(std::string_view field, uint64_t needed) const {
    return fail(offset_, field, cat("the end after ", remaining(), " bytes"),
                cat(needed, " bytes"));
  }

  std::span<const std::byte> bytes_;
  std::string what_;
  size_t offset_ = 0;
};

}  // namespace rill::format
