// SPDX-License-Identifier: Apache-2.0
#include "format/safetensors.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "base/json.h"
#include "base/str_cat.h"
#include "format/byte_reader.h"

namespace rill::format {
namespace {

constexpr uint64_t kMaxHeaderBytes = 100'000'000;
constexpr size_t kMaxSize = std::numeric_limits<size_t>::max();

// The format's element types; those without a DType are kept as raw bytes.
struct ElementType {
  std::string_view name;
  size_t bytes;
  std::optional<DType> dtype;
};
constexpr ElementType kElementTypes[] = {
    {"F32", 4, DType::kF32},   {"F16", 2, DType::kF16},      {"BF16", 2, DType::kBF16},
    {"F64", 8, DType::kF64},   {"I8", 1, DType::kI8},        {"I16", 2, DType::kI16},
    {"I32", 4, DType::kI32},   {"I64", 8, DType::kI64},      {"U8", 1, std::nullopt},
    {"BOOL", 1, std::nullopt}, {"U16", 2, std::nullopt},     {"U32", 4, std::nullopt},
    {"U64", 8, std::nullopt},  {"F8_E4M3", 1, std::nullopt}, {"F8_E5M2", 1, std::nullopt}};

// Messages of one tensor (or of the header): "load safetensors: FILE: tensor NAME: FIELD: got X,
// expected Y".
struct Place {
  std::string what;
  std::string where;

  [[nodiscard]] Error fail(std::string_view field, std::string_view got, std::string_view expected,
                           ErrorCode code = ErrorCode::kInvalidFormat) const {
    return Error{code, cat(what, ": ", where, ": ", field, ": got ", got, ", expected ", expected)};
  }
};

// A member's text form, cut to fit a message.
std::string shown(const Json& value) { return printable(value.dump(true), 60); }

struct Entry {
  std::string name;
  const ElementType* type = nullptr;
  Shape shape;
  uint64_t begin = 0;
  uint64_t end = 0;
};

Result<const ElementType*> parse_dtype(const Place& place, const Json& value) {
  if (!value.is_string()) return place.fail("dtype", shown(value), "a string");
  for (const ElementType& known : kElementTypes) {
    if (known.name == value.as_string()) return &known;
  }
  return place.fail(
      "dtype", printable(value.as_string()),
      "F64, F32, F16, BF16, F8_E4M3, F8_E5M2, I64, I32, I16, I8, U64, U32, U16, U8 or BOOL",
      ErrorCode::kUnsupported);
}

Result<Shape> parse_shape(const Place& place, const Json& value) {
  if (!value.is_array()) return place.fail("shape", shown(value), "an array");
  if (value.items().size() > Shape::kMaxRank) {
    return place.fail("shape", cat(value.items().size(), " dimensions"),
                      cat("at most ", Shape::kMaxRank), ErrorCode::kUnsupported);
  }
  Shape shape;
  for (const Json& dim : value.items()) {
    if (!dim.is_int() || dim.as_int() < 0 || static_cast<uint64_t>(dim.as_int()) > kMaxSize) {
      return place.fail("shape", shown(value), "integers from 0 up");
    }
    shape.append(static_cast<size_t>(dim.as_int()));
  }
  return shape;
}

Status parse_offsets(const Place& place, const Json& value, Entry& entry) {
  const bool pair = value.is_array() && value.items().size() == 2 && value.items()[0].is_int() &&
                    value.items()[1].is_int();
  if (!pair || value.items()[0].as_int() < 0 ||
      value.items()[1].as_int() < value.items()[0].as_int()) {
    return place.fail("data_offsets", shown(value), "[begin, end] with 0 <= begin <= end");
  }
  entry.begin = static_cast<uint64_t>(value.items()[0].as_int());
  entry.end = static_cast<uint64_t>(value.items()[1].as_int());
  return {};
}

// Bytes that the shape needs, or nothing when they do not fit the address space.
std::optional<uint64_t> shape_bytes(const Entry& entry) {
  size_t bytes = entry.type->bytes;
  // A zero dimension makes the whole product zero, whatever the others are.
  for (size_t i = 0; i < entry.shape.rank(); ++i) {
    if (entry.shape.dim(i) == 0) return 0;
  }
  for (size_t i = 0; i < entry.shape.rank(); ++i) {
    if (entry.shape.dim(i) > kMaxSize / bytes) return std::nullopt;
    bytes *= entry.shape.dim(i);
  }
  return bytes;
}

Result<Entry> parse_entry(std::string_view what, const std::string& name, const Json& value,
                          uint64_t data_bytes) {
  const Place place{std::string(what), cat("tensor ", printable(name))};
  if (!value.is_object()) return place.fail("header entry", shown(value), "an object");
  for (const auto& [key, member] : value.members()) {
    if (key != "dtype" && key != "shape" && key != "data_offsets") {
      return place.fail("header entry", cat("the member ", printable(key)),
                        "dtype, shape and data_offsets");
    }
  }
  const Json* dtype = value.find("dtype");
  const Json* shape = value.find("shape");
  const Json* offsets = value.find("data_offsets");
  if (dtype == nullptr || shape == nullptr || offsets == nullptr) {
    return place.fail("header entry", shown(value), "dtype, shape and data_offsets");
  }
  Entry entry;
  entry.name = name;
  RILL_ASSIGN_OR_RETURN(entry.type, parse_dtype(place, *dtype));
  RILL_ASSIGN_OR_RETURN(entry.shape, parse_shape(place, *shape));
  RILL_RETURN_IF_ERROR(parse_offsets(place, *offsets, entry));
  if (entry.end > data_bytes) {
    return place.fail("data_offsets", shown(*offsets), cat("an end of at most ", data_bytes));
  }
  const std::optional<uint64_t> needed = shape_bytes(entry);
  if (!needed) return place.fail("shape", shown(*shape), "a tensor that fits the address space");
  if (*needed != entry.end - entry.begin) {
    return place.fail("data_offsets", cat(entry.end - entry.begin, " bytes"),
                      cat(*needed, " for ", entry.type->name, " ", entry.shape.to_string()));
  }
  return entry;
}

// The format wants every byte of the data to belong to exactly one tensor.
Status check_cover(std::string_view what, const std::vector<Entry>& entries, uint64_t data_bytes) {
  std::vector<const Entry*> order;
  order.reserve(entries.size());
  for (const Entry& entry : entries) order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const Entry* a, const Entry* b) {
    return a->begin != b->begin ? a->begin < b->begin : a->end < b->end;
  });
  uint64_t next = 0;
  for (const Entry* entry : order) {
    if (entry->begin != next) {
      return Place{std::string(what), cat("tensor ", printable(entry->name))}.fail(
          "data_offsets", cat("a begin of ", entry->begin), cat(next, " (no gap and no overlap)"));
    }
    next = entry->end;
  }
  if (next != data_bytes)
    return Place{std::string(what), "data"}.fail("size", cat(data_bytes, " bytes"), cat(next));
  return {};
}

Result<std::vector<std::pair<std::string, std::string>>> parse_notes(std::string_view what,
                                                                     const Json& value) {
  const Place place{std::string(what), "__metadata__"};
  if (!value.is_object()) return place.fail("value", shown(value), "an object of strings");
  std::vector<std::pair<std::string, std::string>> notes;
  for (const auto& [key, note] : value.members()) {
    if (!note.is_string()) return place.fail(printable(key), shown(note), "a string");
    notes.emplace_back(key, note.as_string());
  }
  return notes;
}

Result<Json> read_header(ByteReader& reader) {
  RILL_ASSIGN_OR_RETURN(const uint64_t size, reader.read<uint64_t>("header size"));
  const uint64_t limit = std::min<uint64_t>(kMaxHeaderBytes, reader.remaining());
  if (size > limit) return reader.fail(0, "header size", cat(size), cat("at most ", limit));
  RILL_ASSIGN_OR_RETURN(const std::string_view text, reader.read_text(size, "header"));
  if (text.empty() || text[0] != '{') {
    return reader.fail(8, "header", cat('"', printable(text.substr(0, 1)), '"'), "\"{\"");
  }
  JsonLimits limits;
  limits.max_depth = 4;
  limits.max_values = size_t{1} << 22;
  Result<Json> header = parse_json(text, limits);
  if (!header)
    return std::move(header).error().with_context(cat(reader.what(), ": header (from byte 8)"));
  return header;
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::open(const std::string& path) {
  Result<MappedFile> mapping = MappedFile::open(path);
  if (!mapping) return std::move(mapping).error().with_context("load safetensors");
  RILL_ASSIGN_OR_RETURN(SafetensorsFile file, parse(mapping->bytes(), path));
  file.mapping_ = std::move(mapping).value();
  return file;
}

Result<SafetensorsFile> SafetensorsFile::parse(std::span<const std::byte> bytes, std::string name) {
  ByteReader reader(bytes, cat("load safetensors: ", printable(name, 4096)));
  RILL_ASSIGN_OR_RETURN(const Json header, read_header(reader));
  SafetensorsFile file;
  file.name_ = std::move(name);
  const size_t data_begin = reader.offset();
  const uint64_t data_bytes = reader.remaining();
  std::vector<Entry> entries;
  for (const auto& [key, value] : header.members()) {
    if (key == "__metadata__") {
      RILL_ASSIGN_OR_RETURN(file.metadata_, parse_notes(reader.what(), value));
      continue;
    }
    RILL_ASSIGN_OR_RETURN(Entry entry, parse_entry(reader.what(), key, value, data_bytes));
    entries.push_back(std::move(entry));
  }
  RILL_RETURN_IF_ERROR(check_cover(reader.what(), entries, data_bytes));
  for (Entry& entry : entries) {
    const size_t offset = data_begin + static_cast<size_t>(entry.begin);
    if (!entry.type->dtype) {
      file.raw_tensors_.push_back(
          {std::move(entry.name), std::string(entry.type->name), entry.shape,
           bytes.subspan(offset, static_cast<size_t>(entry.end - entry.begin))});
      continue;
    }
    // parse_json has refused duplicate keys, so no name can be taken.
    file.tensors_.add(
        {std::move(entry.name), {bytes.data() + offset, *entry.type->dtype, entry.shape}, offset});
  }
  return file;
}

Result<const NamedTensor*> SafetensorsFile::get(std::string_view name) const {
  if (const NamedTensor* tensor = tensors_.find(name)) return tensor;
  const Place place{cat("load safetensors: ", printable(name_, 4096)),
                    cat("tensor ", printable(name))};
  for (const RawTensor& raw : raw_tensors_) {
    if (raw.name == name) {
      return place.fail("dtype", raw.dtype, "F64, F32, F16, BF16, I64, I32, I16 or I8",
                        ErrorCode::kUnsupported);
    }
  }
  return place.fail("name", "no such tensor", "it in the file", ErrorCode::kNotFound);
}

}  // namespace rill::format
