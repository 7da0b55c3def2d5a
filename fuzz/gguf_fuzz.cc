// SPDX-License-Identifier: Apache-2.0
// GGUF bytes: whatever parses must lie inside the input, survive the portable-format check, and
// read back equal after being written again.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <vector>

#include "format/gguf.h"
#include "format/gguf_writer.h"
#include "format/portable.h"

namespace {

using rill::NamedTensor;
using rill::Result;
using rill::format::GgufFile;

void require(bool condition) {
  if (!condition) std::abort();
}

// Reads every byte of every tensor, so that the address sanitizer sees a wrong place or size.
unsigned touch(const GgufFile& file) {
  unsigned sum = 0;
  for (const NamedTensor& tensor : file.tensors().all()) {
    for (size_t i = 0; i < tensor.view.size_bytes(); ++i)
      sum += static_cast<unsigned>(tensor.view.data[i]);
  }
  return sum;
}

void check_round_trip(const GgufFile& file) {
  std::vector<rill::format::GgufTensor> tensors;
  for (const NamedTensor& tensor : file.tensors().all()) {
    tensors.push_back({tensor.name,
                       tensor.view.dtype,
                       tensor.view.shape,
                       {tensor.view.data, tensor.view.size_bytes()},
                       {}});
  }
  const Result<std::vector<std::byte>> written = rill::format::write_gguf(file.metadata(), tensors);
  require(written.has_value());
  const Result<GgufFile> again = GgufFile::parse(*written, "again");
  require(again.has_value());
  require(again->metadata().all().size() == file.metadata().all().size());
  require(again->tensors().all().size() == tensors.size());
  require(touch(*again) == touch(file));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const Result<GgufFile> file =
      GgufFile::parse({reinterpret_cast<const std::byte*>(data), size}, "fuzz");
  if (!file) return 0;
  for (const auto& [key, value] : file->metadata().all()) {
    static_cast<void>(file->metadata().get_u32(key));
    static_cast<void>(file->metadata().get_float(key));
    static_cast<void>(file->metadata().get_strings(key));
    static_cast<void>(file->metadata().get_ints(key));
  }
  static_cast<void>(rill::format::check_portable(*file));
  static_cast<void>(rill::format::unknown_portable_keys(file->metadata()));
  check_round_trip(*file);
  return 0;
}
