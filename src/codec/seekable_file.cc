// SPDX-License-Identifier: Apache-2.0
#include <cstdio>

#include "codec/compressed_readers.h"

namespace rill::codec {

bool SeekableFile::seek(int64_t offset, int whence) {
  const int64_t base = whence == SEEK_CUR ? position_ : whence == SEEK_END ? size_ : 0;
  if (offset < -base || offset > size_ - base) return false;
  position_ = base + offset;
  return true;
}

size_t SeekableFile::read(std::span<std::byte> out) {
  size_t done = 0;
  while (done < out.size()) {
    auto got = source_->read_at(static_cast<uint64_t>(position_), out.subspan(done));
    if (!got) {
      status_ = std::move(got).error();
      break;
    }
    if (*got == 0) break;
    done += *got;
    position_ += static_cast<int64_t>(*got);
  }
  return done;
}

}  // namespace rill::codec
