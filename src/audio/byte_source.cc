// SPDX-License-Identifier: Apache-2.0
#include "audio/byte_source.h"

#include <algorithm>
#include <array>
#include <cstring>

#include "base/str_cat.h"

namespace rill::audio {

Error ByteSource::no_random_access() const {
  return Error{ErrorCode::kUnsupported, cat("read audio: ", printable(name(), 4096),
                                            ": can only be read from its beginning on")};
}

Result<size_t> MemorySource::read_at(uint64_t offset, std::span<std::byte> out) {
  if (offset >= bytes_.size()) return size_t{0};
  const auto rest = bytes_.subspan(static_cast<size_t>(offset));
  const size_t count = std::min(out.size(), rest.size());
  if (count > 0) std::memcpy(out.data(), rest.data(), count);
  return count;
}

Result<size_t> MemorySource::read(std::span<std::byte> out) {
  const size_t count = std::min(out.size(), bytes_.size() - position_);
  if (count > 0) std::memcpy(out.data(), bytes_.data() + position_, count);
  position_ += count;
  return count;
}

Result<std::span<const std::byte>> BufferedSource::peek(size_t count) {
  while (buffer_.size() - begin_ < count) {
    if (begin_ > 0) {
      buffer_.erase(buffer_.begin(), buffer_.begin() + static_cast<std::ptrdiff_t>(begin_));
      begin_ = 0;
    }
    const size_t held = buffer_.size();
    buffer_.resize(count);
    auto got = source_->read(std::span(buffer_).subspan(held));
    if (!got) {
      buffer_.resize(held);
      return std::move(got).error();
    }
    buffer_.resize(held + *got);
    if (*got == 0) break;
  }
  return std::span<const std::byte>(buffer_).subspan(begin_,
                                                     std::min(count, buffer_.size() - begin_));
}

Result<size_t> BufferedSource::read(std::span<std::byte> out) {
  size_t count = std::min(out.size(), buffer_.size() - begin_);
  if (count > 0) {
    std::memcpy(out.data(), buffer_.data() + begin_, count);
    begin_ += count;
  } else {
    RILL_ASSIGN_OR_RETURN(count, source_->read(out));
  }
  position_ += count;
  return count;
}

Result<size_t> BufferedSource::read_fully(std::span<std::byte> out) {
  size_t done = 0;
  while (done < out.size()) {
    RILL_ASSIGN_OR_RETURN(const size_t got, read(out.subspan(done)));
    if (got == 0) break;
    done += got;
  }
  return done;
}

Result<uint64_t> BufferedSource::skip(uint64_t count) {
  std::array<std::byte, 4096> discarded;
  uint64_t done = 0;
  while (done < count) {
    const size_t step = static_cast<size_t>(std::min<uint64_t>(count - done, discarded.size()));
    RILL_ASSIGN_OR_RETURN(const size_t got, read(std::span(discarded).first(step)));
    if (got == 0) break;
    done += got;
  }
  return done;
}

}  // namespace rill::audio
