// SPDX-License-Identifier: Apache-2.0
#include "format/gguf_writer.h"

#include <cmath>
#include <limits>
#include <unordered_set>

#include "base/atomic_file.h"
#include "base/str_cat.h"
#include "base/utf8.h"
#include "format/gguf_metadata.h"

namespace rill::format {
namespace {

using Bytes = std::vector<std::byte>;

Error refuse(std::string_view field, std::string_view got, std::string_view expected) {
  return Error{ErrorCode::kInvalidArgument,
               cat("write gguf: ", field, ": got ", got, ", expected ", expected)};
}

template <typename T>
void put(T value, Bytes& out) {
  const auto* begin = reinterpret_cast<const std::byte*>(&value);
  out.insert(out.end(), begin, begin + sizeof value);
}

void put_string(std::string_view text, Bytes& out) {
  put(uint64_t{text.size()}, out);
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  out.insert(out.end(), begin, begin + text.size());
}

size_t padding_after(size_t size, size_t alignment) {
  return (alignment - size % alignment) % alignment;
}

// A number of the folded type, narrowed to the file's type; false if it does not fit (or is of
// another kind).
template <typename Folded>
bool put_number(Folded value, uint32_t type, Bytes& out) {
  const auto exactly = [&]<typename T>(T narrow) {
    if (static_cast<Folded>(narrow) != value || (narrow < T{}) != (value < Folded{})) return false;
    put(narrow, out);
    return true;
  };
  switch (static_cast<GgufType>(type)) {
    case GgufType::kU8:
      return exactly(static_cast<uint8_t>(value));
    case GgufType::kI8:
      return exactly(static_cast<int8_t>(value));
    case GgufType::kU16:
      return exactly(static_cast<uint16_t>(value));
    case GgufType::kI16:
      return exactly(static_cast<int16_t>(value));
    case GgufType::kU32:
      return exactly(static_cast<uint32_t>(value));
    case GgufType::kI32:
      return exactly(static_cast<int32_t>(value));
    case GgufType::kU64:
      return exactly(static_cast<uint64_t>(value));
    case GgufType::kI64:
      return exactly(static_cast<int64_t>(value));
    default:
      return false;
  }
}

bool put_float(double value, uint32_t type, Bytes& out) {
  if (type == static_cast<uint32_t>(GgufType::kF32)) {
    if (std::isfinite(value) && std::fabs(value) > double{std::numeric_limits<float>::max()})
      return false;
    put(static_cast<float>(value), out);
  } else if (type == static_cast<uint32_t>(GgufType::kF64)) {
    put(value, out);
  } else {
    return false;
  }
  return true;
}

// Writes one value after its type; false if the variant and the type disagree.
struct ValueWriter {
  uint32_t type;
  uint32_t element_type;
  Bytes& out;

  [[nodiscard]] bool is(GgufType wanted) const { return type == static_cast<uint32_t>(wanted); }

  bool operator()(uint64_t value) const { return put_number(value, type, out); }
  bool operator()(int64_t value) const { return put_number(value, type, out); }
  bool operator()(double value) const { return put_float(value, type, out); }
  bool operator()(bool value) const {
    put(uint8_t{value}, out);
    return is(GgufType::kBool);
  }
  bool operator()(const std::string& value) const {
    put_string(value, out);
    return is(GgufType::kString) && value.size() <= kMaxGgufStringBytes;
  }

  // Arrays: element type, count, then each element as a scalar of that type.
  template <typename T>
  bool operator()(const std::vector<T>& values) const {
    put(element_type, out);
    put(uint64_t{values.size()}, out);
    const ValueWriter element{element_type, 0, out};
    for (size_t i = 0; i < values.size(); ++i) {
      const T value = values[i];
      if (!element(value)) return false;
    }
    return is(GgufType::kArray) && element_fits<T>(element_type) &&
           values.size() <= kMaxGgufArrayElements;
  }

  // An empty array has no element to prove its type.
  template <typename T>
  static bool element_fits(uint32_t type) {
    Bytes scratch;
    return ValueWriter{type, 0, scratch}(T{});
  }
};

Status check_name(std::string_view what, std::string_view name) {
  if (name.empty() || name.size() > kMaxGgufNameBytes || !is_valid_utf8(name)) {
    return refuse(what, printable(name), cat("1 to ", kMaxGgufNameBytes, " bytes of UTF-8"));
  }
  return {};
}

Status put_pairs(const Metadata& metadata, Bytes& out) {
  for (const auto& [key, value] : metadata.all()) {
    RILL_RETURN_IF_ERROR(check_name("key", key));
    put_string(key, out);
    put(value.type, out);
    if (!std::visit(ValueWriter{value.type, value.element_type, out}, value.value)) {
      return refuse(printable(key), "a value that does not fit its type",
                    metadata_type_name(value.type));
    }
  }
  return {};
}

Result<size_t> alignment_of(const Metadata& metadata) {
  const MetadataValue* value = metadata.find(kGgufAlignmentKey);
  if (value == nullptr) return static_cast<size_t>(kDefaultGgufAlignment);
  const auto* number = std::get_if<uint64_t>(&value->value);
  if (number == nullptr || value->type != static_cast<uint32_t>(GgufType::kU32) ||
      (*number & (*number - 1)) != 0 || *number < kMinGgufAlignment ||
      *number > kMaxGgufAlignment) {
    return refuse(kGgufAlignmentKey, number == nullptr ? std::string("another type") : cat(*number),
                  cat("a u32, a power of two from ", kMinGgufAlignment, " to ", kMaxGgufAlignment));
  }
  return static_cast<size_t>(*number);
}

// Bytes that the tensor will take.
Result<size_t> check_tensor(const GgufTensor& tensor) {
  RILL_RETURN_IF_ERROR(check_name("tensor name", tensor.name));
  const std::string label = cat("tensor ", printable(tensor.name));
  const DTypeInfo& type = dtype_info(tensor.dtype);
  const Shape& shape = tensor.shape;
  if (shape.rank() == 0) return refuse(label, "rank 0", "1 to 4 dimensions");
  size_t elements = 1;
  for (size_t i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) == 0) return refuse(label, shape.to_string(), "no zero dimension");
    if (shape.dim(i) > static_cast<size_t>(-1) / type.block_bytes / elements) {
      return refuse(label, shape.to_string(), "a size that fits the address space");
    }
    elements *= shape.dim(i);
  }
  if (shape.cols() % type.block_values != 0) {
    return refuse(label, cat("rows of ", shape.cols()), cat("a multiple of ", type.block_values));
  }
  return elements / type.block_values * type.block_bytes;
}

// Everything before the data, padded.
Result<Bytes> make_header(const Metadata& metadata, std::span<const GgufTensor> tensors,
                          size_t alignment) {
  Bytes out;
  for (char c : std::string_view("GGUF")) out.push_back(static_cast<std::byte>(c));
  put(uint32_t{3}, out);
  put(uint64_t{tensors.size()}, out);
  put(uint64_t{metadata.all().size()}, out);
  RILL_RETURN_IF_ERROR(put_pairs(metadata, out));
  std::unordered_set<std::string_view> names;
  uint64_t offset = 0;
  for (const GgufTensor& tensor : tensors) {
    RILL_ASSIGN_OR_RETURN(const size_t size_bytes, check_tensor(tensor));
    if (!names.insert(tensor.name).second) {
      return refuse("tensor name", cat(printable(tensor.name), " a second time"), "each name once");
    }
    put_string(tensor.name, out);
    put(static_cast<uint32_t>(tensor.shape.rank()), out);
    for (size_t i = tensor.shape.rank(); i-- > 0;) put(uint64_t{tensor.shape.dim(i)}, out);
    put(static_cast<uint32_t>(tensor.dtype), out);
    put(offset, out);
    offset += size_bytes + padding_after(size_bytes, alignment);
  }
  out.resize(out.size() + padding_after(out.size(), alignment));
  return out;
}

// Sends the whole file to write(span), in order.
template <typename Write>
Status emit(const Metadata& metadata, std::span<const GgufTensor> tensors, const Write& write) {
  RILL_ASSIGN_OR_RETURN(const size_t alignment, alignment_of(metadata));
  RILL_ASSIGN_OR_RETURN(const Bytes header, make_header(metadata, tensors, alignment));
  RILL_RETURN_IF_ERROR(write(std::span<const std::byte>(header)));
  const Bytes zeros(alignment);
  for (const GgufTensor& tensor : tensors) {
    std::span<const std::byte> data = tensor.data;
    if (tensor.make_data) {
      RILL_ASSIGN_OR_RETURN(data, tensor.make_data());
    }
    RILL_ASSIGN_OR_RETURN(const size_t size_bytes, check_tensor(tensor));
    if (data.size() != size_bytes) {
      return refuse(cat("tensor ", printable(tensor.name)), cat(data.size(), " bytes of data"),
                    cat(size_bytes));
    }
    RILL_RETURN_IF_ERROR(write(data));
    RILL_RETURN_IF_ERROR(
        write(std::span<const std::byte>(zeros).first(padding_after(size_bytes, alignment))));
  }
  return {};
}

}  // namespace

Result<std::vector<std::byte>> write_gguf(const Metadata& metadata,
                                          std::span<const GgufTensor> tensors) {
  Bytes out;
  RILL_RETURN_IF_ERROR(emit(metadata, tensors, [&](std::span<const std::byte> bytes) {
    out.insert(out.end(), bytes.begin(), bytes.end());
    return Status();
  }));
  return out;
}

Status write_gguf_file(const std::string& path, const Metadata& metadata,
                       std::span<const GgufTensor> tensors) {
  RILL_ASSIGN_OR_RETURN(AtomicFile file, AtomicFile::create(path));
  RILL_RETURN_IF_ERROR(
      emit(metadata, tensors, [&](std::span<const std::byte> bytes) { return file.write(bytes); }));
  return file.commit();
}

}  // namespace rill::format
