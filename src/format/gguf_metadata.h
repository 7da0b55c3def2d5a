// SPDX-License-Identifier: Apache-2.0
// The key/value part of a GGUF file, with the limits that keep a hostile file from claiming memory.
#pragma once

#include <cstdint>

#include "base/result.h"
#include "format/byte_reader.h"
#include "format/metadata.h"

namespace rill::format {

inline constexpr uint64_t kMaxGgufEntries = uint64_t{1} << 20;        // keys, and tensors
inline constexpr uint64_t kMaxGgufNameBytes = 65535;                  // a key or a tensor name
inline constexpr uint64_t kMaxGgufStringBytes = uint64_t{1} << 26;    // a string value
inline constexpr uint64_t kMaxGgufArrayElements = uint64_t{1} << 24;  // of one array
inline constexpr std::string_view kGgufAlignmentKey = "general.alignment";
inline constexpr uint64_t kDefaultGgufAlignment = 32;
inline constexpr uint64_t kMinGgufAlignment = 8;
inline constexpr uint64_t kMaxGgufAlignment = uint64_t{1} << 20;

/// Reads a key or tensor name: 1 to 65535 bytes of UTF-8.
Result<std::string> read_gguf_name(ByteReader& reader, std::string_view field);

/// Reads `count` key/value pairs. general.alignment must be a u32 and a power of two within the
/// bounds above. Errors: kInvalidFormat.
Status read_gguf_metadata(ByteReader& reader, uint64_t count, Metadata& metadata);

}  // namespace rill::format
