// SPDX-License-Identifier: Apache-2.0
// JSON text: what parses must read back equal from its own text form.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string>

#include "base/json.h"

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  const rill::Result<rill::Json> json =
      rill::parse_json({reinterpret_cast<const char*>(data), size});
  if (!json) return 0;
  const std::string text = json->dump();
  const rill::Result<rill::Json> again = rill::parse_json(text);
  if (!again || again->dump() != text) std::abort();
  const rill::Result<rill::Json> spaced = rill::parse_json(json->dump(true));
  if (!spaced || spaced->dump() != text) std::abort();
  return 0;
}
