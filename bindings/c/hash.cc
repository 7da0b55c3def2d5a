// SPDX-License-Identifier: Apache-2.0
// Hashes of files, for whoever fetches and keeps models.
#include <algorithm>
#include <cerrno>
#include <cstdio>
#include <cstring>
#include <memory>
#include <vector>

#include "base/sha256.h"
#include "base/str_cat.h"
#include "objects.h"

using namespace rill;
using namespace rill::c_api;

namespace {

constexpr size_t kPieceBytes = size_t{1} << 20;

struct CloseFile {
  void operator()(std::FILE* file) const { std::fclose(file); }
};
using File = std::unique_ptr<std::FILE, CloseFile>;

Error read_error(const char* path) {
  const ErrorCode code = errno == ENOENT ? ErrorCode::kNotFound : ErrorCode::kIo;
  return Error{code, cat("hash: ", printable(path), ": ", std::strerror(errno))};
}

/// Bytes of an open file; 0 if it cannot tell.
double file_bytes(std::FILE* file) {
  if (std::fseek(file, 0, SEEK_END) != 0) return 0;
  const long size = std::ftell(file);
  std::rewind(file);
  return static_cast<double>(std::max(size, 0L));
}

}  // namespace

extern "C" {

rill_status rill_sha256_file(const char* path, rill_convert_progress_fn progress,
                             void* progress_user, rill_string** hex, rill_error** error) {
  if (path == nullptr || hex == nullptr)
    return fail(ErrorCode::kInvalidArgument, "hash: path or hex is NULL", error);
  const File file(std::fopen(path, "rb"));
  if (file == nullptr) return fail(read_error(path), error);
  const double total = file_bytes(file.get());
  Sha256 hash;
  std::vector<std::byte> piece(kPieceBytes);
  double done = 0;
  while (const size_t count = std::fread(piece.data(), 1, piece.size(), file.get())) {
    hash.update({piece.data(), count});
    done += static_cast<double>(count);
    if (progress != nullptr && progress(progress_user, total > 0 ? done / total : 1) == 0)
      return fail(ErrorCode::kCancelled, "hash: cancelled", error);
  }
  if (std::ferror(file.get()) != 0) return fail(read_error(path), error);
  *hex = new rill_string{to_hex(hash.finish())};
  return RILL_OK;
}

}  // extern "C"
