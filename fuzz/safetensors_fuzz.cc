// SPDX-License-Identifier: Apache-2.0
// safetensors bytes: whatever parses must lie inside the input.
#include <cstddef>
#include <cstdint>
#include <cstdlib>

#include "format/safetensors.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const rill::Result<rill::format::SafetensorsFile> file = rill::format::SafetensorsFile::parse(
      {reinterpret_cast<const std::byte*>(data), size}, "fuzz");
  if (!file) return 0;
  size_t total = 0;
  unsigned sum = 0;
  for (const rill::NamedTensor& tensor : file->tensors().all()) {
    total += tensor.view.size_bytes();
    for (size_t i = 0; i < tensor.view.size_bytes(); ++i)
      sum += static_cast<unsigned>(tensor.view.data[i]);
  }
  for (const rill::format::RawTensor& tensor : file->raw_tensors()) {
    total += tensor.bytes.size();
    for (std::byte byte : tensor.bytes) sum += static_cast<unsigned>(byte);
  }
  volatile unsigned sink = sum;
  static_cast<void>(sink);
  if (total > size) std::abort();
  return 0;
}
