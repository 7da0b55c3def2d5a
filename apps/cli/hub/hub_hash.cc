// SPDX-License-Identifier: Apache-2.0
#include "hub_hash.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>
#include <system_error>

#include "handles.h"
#include "hub_cache.h"
#include "hub_error.h"

namespace rill::cli::hub {
namespace {

uint32_t rotate_left(uint32_t x, int bits) { return x << bits | x >> (32 - bits); }

/// SHA-1 (FIPS 180-4): git names small files with it. It protects against damage, not against
/// forgery; large files have SHA-256.
class Sha1 {
 public:
  void update(const char* data, size_t size) {
    total_bytes_ += size;
    while (size > 0) {
      const size_t take = std::min(size, pending_.size() - pending_bytes_);
      std::memcpy(pending_.data() + pending_bytes_, data, take);
      pending_bytes_ += take;
      data += take;
      size -= take;
      if (pending_bytes_ < pending_.size()) return;
      compress();
      pending_bytes_ = 0;
    }
  }

  std::string finish() {
    const uint64_t bits = total_bytes_ * 8;
    update("\x80", 1);
    while (pending_bytes_ != 56) update("\0", 1);
    std::array<char, 8> length;
    for (size_t i = 0; i < 8; ++i) length[i] = static_cast<char>(bits >> (56 - 8 * i));
    update(length.data(), length.size());
    std::string hex;
    for (const uint32_t word : state_) {
      for (int shift = 28; shift >= 0; shift -= 4) hex += "0123456789abcdef"[(word >> shift) & 15];
    }
    return hex;
  }

 private:
  void compress() {
    std::array<uint32_t, 80> w;
    for (size_t i = 0; i < 16; ++i) {
      w[i] = uint32_t{pending_[4 * i]} << 24 | uint32_t{pending_[4 * i + 1]} << 16 |
             uint32_t{pending_[4 * i + 2]} << 8 | uint32_t{pending_[4 * i + 3]};
    }
    for (size_t i = 16; i < 80; ++i)
      w[i] = rotate_left(w[i - 3] ^ w[i - 8] ^ w[i - 14] ^ w[i - 16], 1);
    auto [a, b, c, d, e] = state_;
    for (size_t i = 0; i < 80; ++i) {
      const uint32_t mix = i < 20   ? ((b & c) | (~b & d))
                           : i < 40 ? (b ^ c ^ d)
                           : i < 60 ? ((b & c) | (b & d) | (c & d))
                                    : (b ^ c ^ d);
      constexpr std::array<uint32_t, 4> kRound = {0x5A827999, 0x6ED9EBA1, 0x8F1BBCDC, 0xCA62C1D6};
      const uint32_t next = rotate_left(a, 5) + mix + e + kRound[i / 20] + w[i];
      e = d;
      d = c;
      c = rotate_left(b, 30);
      b = a;
      a = next;
    }
    const std::array<uint32_t, 5> sum = {a, b, c, d, e};
    for (size_t i = 0; i < 5; ++i) state_[i] += sum[i];
  }

  std::array<uint32_t, 5> state_ = {0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  std::array<uint8_t, 64> pending_ = {};
  size_t pending_bytes_ = 0;
  uint64_t total_bytes_ = 0;
};

/// The name that git gives to the content of a file.
std::string git_blob_hash(const std::filesystem::path& path) {
  std::ifstream file(path, std::ios::binary);
  std::error_code error;
  const uint64_t size = std::filesystem::file_size(path, error);
  if (!file || error) throw_io("read", path, "the file cannot be opened");
  Sha1 hash;
  const std::string header = "blob " + std::to_string(size);
  hash.update(header.c_str(), header.size() + 1);
  std::array<char, 65536> piece;
  while (file.read(piece.data(), piece.size()) || file.gcount() > 0) {
    hash.update(piece.data(), static_cast<size_t>(file.gcount()));
  }
  return hash.finish();
}

int32_t forward_progress(void* user, double done) {
  const auto& progress = *static_cast<const HashProgress*>(user);
  return !progress || progress(done) ? 1 : 0;
}

}  // namespace

bool is_hash(const std::string& etag) {
  return (etag.size() == 64 || etag.size() == 40) &&
         etag.find_first_not_of("0123456789abcdef") == std::string::npos;
}

std::string hash_file(const std::filesystem::path& path, size_t digits,
                      const HashProgress& progress) {
  if (digits == 40) return git_blob_hash(path);
  ErrorSlot error;
  StringHandle hex;
  HashProgress tell = progress;
  const rill_status status =
      rill_sha256_file(path.c_str(), forward_progress, &tell, Out(hex), error.out());
  if (status == RILL_ERROR_CANCELLED) throw HubInterrupted();
  if (status != RILL_OK)
    throw HubError(rill_status_exit_code(status), rill_error_message(error.get()));
  return rill_string_data(hex.get());
}

}  // namespace rill::cli::hub
