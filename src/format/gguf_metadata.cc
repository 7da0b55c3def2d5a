// SPDX-License-Identifier: Apache-2.0
#include "format/gguf_metadata.h"

#include <algorithm>
#include <limits>

#include "base/utf8.h"

namespace rill::format {
namespace {

// The fewest bytes that one array element takes in the file; 0 for types that no array may hold.
uint64_t min_element_bytes(GgufType type) {
  switch (type) {
    case GgufType::kU8:
    case GgufType::kI8:
    case GgufType::kBool:
      return 1;
    case GgufType::kU16:
    case GgufType::kI16:
      return 2;
    case GgufType::kU32:
    case GgufType::kI32:
    case GgufType::kF32:
      return 4;
    case GgufType::kU64:
    case GgufType::kI64:
    case GgufType::kF64:
    case GgufType::kString:  // its length
      return 8;
    case GgufType::kArray:
      break;
  }
  return 0;
}

Result<bool> read_bool(ByteReader& reader, std::string_view field) {
  const size_t offset = reader.offset();
  RILL_ASSIGN_OR_RETURN(const uint8_t value, reader.read<uint8_t>(field));
  if (value > 1) return reader.fail(offset, field, cat(value), "0 or 1 for a bool");
  return value == 1;
}

Result<std::string> read_string(ByteReader& reader, std::string_view field) {
  const size_t offset = reader.offset();
  RILL_ASSIGN_OR_RETURN(const uint64_t size, reader.read<uint64_t>(field));
  if (size > kMaxGgufStringBytes || size > reader.remaining()) {
    return reader.fail(
        offset, field, cat("a string of ", size, " bytes"),
        cat("at most ", std::min<uint64_t>(kMaxGgufStringBytes, reader.remaining())));
  }
  RILL_ASSIGN_OR_RETURN(const std::string_view text, reader.read_text(size, field));
  return std::string(text);
}

template <typename T>
Status read_scalar(ByteReader& reader, std::string_view field, MetadataValue& out) {
  RILL_ASSIGN_OR_RETURN(const T value, reader.read<T>(field));
  if constexpr (std::is_floating_point_v<T>) {
    out.value = static_cast<double>(value);
  } else if constexpr (std::is_signed_v<T>) {
    out.value = static_cast<int64_t>(value);
  } else {
    out.value = static_cast<uint64_t>(value);
  }
  return {};
}

template <typename T>
Status read_ints(ByteReader& reader, uint64_t count, std::string_view field, MetadataValue& out) {
  MetadataValue::Ints values(static_cast<size_t>(count));
  for (int64_t& value : values) {
    const size_t offset = reader.offset();
    RILL_ASSIGN_OR_RETURN(const T number, reader.read<T>(field));
    if constexpr (std::is_same_v<T, uint64_t>) {
      if (number > static_cast<uint64_t>(std::numeric_limits<int64_t>::max())) {
        return reader.fail(offset, field, cat(number), "integers below 2^63");
      }
    }
    value = static_cast<int64_t>(number);
  }
  out.value = std::move(values);
  return {};
}

template <typename T>
Status read_floats(ByteReader& reader, uint64_t count, std::string_view field, MetadataValue& out) {
  MetadataValue::Doubles values(static_cast<size_t>(count));
  for (double& value : values) {
    RILL_ASSIGN_OR_RETURN(const T number, reader.read<T>(field));
    value = static_cast<double>(number);
  }
  out.value = std::move(values);
  return {};
}

Status read_bools(ByteReader& reader, uint64_t count, std::string_view field, MetadataValue& out) {
  MetadataValue::Bools values(static_cast<size_t>(count));
  for (size_t i = 0; i < values.size(); ++i) {
    RILL_ASSIGN_OR_RETURN(values[i], read_bool(reader, field));
  }
  out.value = std::move(values);
  return {};
}

Status read_strings(ByteReader& reader, uint64_t count, std::string_view field,
                    MetadataValue& out) {
  MetadataValue::Strings values;
  values.reserve(static_cast<size_t>(count));
  for (uint64_t i = 0; i < count; ++i) {
    RILL_ASSIGN_OR_RETURN(std::string value, read_string(reader, field));
    values.push_back(std::move(value));
  }
  out.value = std::move(values);
  return {};
}

Status read_elements(ByteReader& reader, uint64_t count, std::string_view field,
                     MetadataValue& out) {
  switch (static_cast<GgufType>(out.element_type)) {
    case GgufType::kU8:
      return read_ints<uint8_t>(reader, count, field, out);
    case GgufType::kI8:
      return read_ints<int8_t>(reader, count, field, out);
    case GgufType::kU16:
      return read_ints<uint16_t>(reader, count, field, out);
    case GgufType::kI16:
      return read_ints<int16_t>(reader, count, field, out);
    case GgufType::kU32:
      return read_ints<uint32_t>(reader, count, field, out);
    case GgufType::kI32:
      return read_ints<int32_t>(reader, count, field, out);
    case GgufType::kU64:
      return read_ints<uint64_t>(reader, count, field, out);
    case GgufType::kI64:
      return read_ints<int64_t>(reader, count, field, out);
    case GgufType::kF32:
      return read_floats<float>(reader, count, field, out);
    case GgufType::kF64:
      return read_floats<double>(reader, count, field, out);
    case GgufType::kBool:
      return read_bools(reader, count, field, out);
    case GgufType::kString:
      return read_strings(reader, count, field, out);
    case GgufType::kArray:
      break;
  }
  return reader.fail(reader.offset(), field, "an array of arrays",
                     "an array of numbers, bools or strings");
}

Status read_array(ByteReader& reader, const std::string& key, MetadataValue& out) {
  const size_t type_offset = reader.offset();
  RILL_ASSIGN_OR_RETURN(out.element_type, reader.read<uint32_t>(cat(key, " element type")));
  const uint64_t element_bytes = min_element_bytes(static_cast<GgufType>(out.element_type));
  if (element_bytes == 0) {
    const bool nested = static_cast<GgufType>(out.element_type) == GgufType::kArray;
    return reader.fail(type_offset, cat(key, " element type"),
                       nested ? "an array of arrays" : cat("type ", out.element_type),
                       "an array of numbers, bools or strings");
  }
  const size_t count_offset = reader.offset();
  RILL_ASSIGN_OR_RETURN(const uint64_t count, reader.read<uint64_t>(cat(key, " length")));
  const uint64_t limit =
      std::min<uint64_t>(kMaxGgufArrayElements, reader.remaining() / element_bytes);
  if (count > limit) {
    return reader.fail(count_offset, cat(key, " length"), cat(count, " elements"),
                       cat("at most ", limit));
  }
  return read_elements(reader, count, cat(key, " value"), out);
}

Result<MetadataValue> read_value(ByteReader& reader, const std::string& key) {
  MetadataValue out;
  const size_t type_offset = reader.offset();
  RILL_ASSIGN_OR_RETURN(out.type, reader.read<uint32_t>(cat(key, " type")));
  const std::string field = cat(key, " value");
  Status status;
  switch (static_cast<GgufType>(out.type)) {
    case GgufType::kU8:
      status = read_scalar<uint8_t>(reader, field, out);
      break;
    case GgufType::kI8:
      status = read_scalar<int8_t>(reader, field, out);
      break;
    case GgufType::kU16:
      status = read_scalar<uint16_t>(reader, field, out);
      break;
    case GgufType::kI16:
      status = read_scalar<int16_t>(reader, field, out);
      break;
    case GgufType::kU32:
      status = read_scalar<uint32_t>(reader, field, out);
      break;
    case GgufType::kI32:
      status = read_scalar<int32_t>(reader, field, out);
      break;
    case GgufType::kU64:
      status = read_scalar<uint64_t>(reader, field, out);
      break;
    case GgufType::kI64:
      status = read_scalar<int64_t>(reader, field, out);
      break;
    case GgufType::kF32:
      status = read_scalar<float>(reader, field, out);
      break;
    case GgufType::kF64:
      status = read_scalar<double>(reader, field, out);
      break;
    case GgufType::kBool: {
      RILL_ASSIGN_OR_RETURN(out.value, read_bool(reader, field));
      break;
    }
    case GgufType::kString: {
      RILL_ASSIGN_OR_RETURN(out.value, read_string(reader, field));
      break;
    }
    case GgufType::kArray:
      status = read_array(reader, key, out);
      break;
    default:
      return reader.fail(type_offset, cat(key, " type"), cat("type ", out.type),
                         "a type from 0 to 12");
  }
  RILL_RETURN_IF_ERROR(std::move(status));
  return out;
}

// The key that the reader itself obeys.
Status check_alignment(const ByteReader& reader, size_t offset, const MetadataValue& value) {
  if (static_cast<GgufType>(value.type) != GgufType::kU32) {
    return reader.fail(offset, kGgufAlignmentKey, metadata_type_name(value.type), "u32");
  }
  const uint64_t number = *std::get_if<uint64_t>(&value.value);
  if ((number & (number - 1)) != 0 || number < kMinGgufAlignment || number > kMaxGgufAlignment) {
    return reader.fail(offset, kGgufAlignmentKey, cat(number),
                       cat("a power of two from ", kMinGgufAlignment, " to ", kMaxGgufAlignment));
  }
  return {};
}

}  // namespace

Result<std::string> read_gguf_name(ByteReader& reader, std::string_view field) {
  const size_t offset = reader.offset();
  RILL_ASSIGN_OR_RETURN(const uint64_t size, reader.read<uint64_t>(field));
  if (size == 0 || size > kMaxGgufNameBytes) {
    return reader.fail(offset, field, cat("a name of ", size, " bytes"),
                       cat("1 to ", kMaxGgufNameBytes));
  }
  const size_t text_offset = reader.offset();
  RILL_ASSIGN_OR_RETURN(const std::string_view name, reader.read_text(size, field));
  if (!is_valid_utf8(name)) return reader.fail(text_offset, field, printable(name), "UTF-8");
  return std::string(name);
}

Status read_gguf_metadata(ByteReader& reader, uint64_t count, Metadata& metadata) {
  for (uint64_t i = 0; i < count; ++i) {
    const size_t offset = reader.offset();
    RILL_ASSIGN_OR_RETURN(std::string key, read_gguf_name(reader, cat("key ", i)));
    const std::string shown = printable(key);
    const size_t value_offset = reader.offset();
    RILL_ASSIGN_OR_RETURN(MetadataValue value, read_value(reader, shown));
    if (key == kGgufAlignmentKey)
      RILL_RETURN_IF_ERROR(check_alignment(reader, value_offset, value));
    if (!metadata.add(std::move(key), std::move(value))) {
      return reader.fail(offset, cat("key ", i), cat(shown, " a second time"), "each key once");
    }
  }
  return {};
}

}  // namespace rill::format
