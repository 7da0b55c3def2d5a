// SPDX-License-Identifier: Apache-2.0
// Reads a GGUF file by step: header, metadata, tensor infos, then the place of each tensor's data.
#include "format/gguf.h"

#include <algorithm>
#include <limits>
#include <optional>
#include <unordered_set>

#include "base/str_cat.h"
#include "format/byte_reader.h"
#include "format/gguf_metadata.h"

namespace rill::format {
namespace {

// Keys, names and tokens of real models take some megabytes. Memory for them grows with the
// header's bytes (at most eightfold), so a bound on the header bounds it.
constexpr size_t kMaxHeaderBytes = size_t{1} << 28;
constexpr uint64_t kMinPairBytes = 8 + 1 + 4 + 1;  // key length, key, type, value
constexpr uint64_t kMinTensorBytes =
    8 + 1 + 4 + 8 + 4 + 8;  // name length, name, rank, one dim, type, offset
constexpr uint64_t kMaxSize = std::numeric_limits<size_t>::max();

struct Header {
  uint32_t version = 0;
  uint64_t num_tensors = 0;
  uint64_t num_pairs = 0;
};

// A tensor info as the file states it, checked as far as it can be without the data section.
struct TensorInfo {
  std::string name;
  DType dtype = DType::kF32;
  Shape shape;
  uint64_t size_bytes = 0;
  uint64_t offset = 0;      // from the start of the data section
  size_t offset_field = 0;  // where the file states it
};

Error unsupported(const ByteReader& reader, std::string_view field, size_t offset,
                  std::string_view got, std::string_view expected) {
  return field_error(ErrorCode::kUnsupported, reader.what(), field, offset, got, expected);
}

uint32_t swap_bytes(uint32_t value) {
  return value >> 24 | (value >> 8 & 0xFF00) | (value << 8 & 0xFF0000) | value << 24;
}

Status check_count(const ByteReader& reader, std::string_view field, size_t offset, uint64_t count,
                   uint64_t min_bytes) {
  const uint64_t limit = std::min<uint64_t>(kMaxGgufEntries, reader.remaining() / min_bytes);
  if (count > limit) return reader.fail(offset, field, cat(count), cat("at most ", limit));
  return {};
}

Result<Header> read_header(ByteReader& reader) {
  RILL_ASSIGN_OR_RETURN(const std::string_view magic, reader.read_text(4, "magic"));
  if (magic == "FUGG")
    return unsupported(reader, "magic", 0, "a big-endian file (FUGG)", "little-endian GGUF");
  if (magic != "GGUF") return reader.fail(0, "magic", cat('"', printable(magic), '"'), "\"GGUF\"");
  Header header;
  RILL_ASSIGN_OR_RETURN(header.version, reader.read<uint32_t>("version"));
  const uint32_t swapped = swap_bytes(header.version);
  if (header.version > 0xFFFF && swapped >= 1 && swapped <= 0xFFFF) {
    return unsupported(reader, "version", 4, cat("a big-endian file (version ", swapped, ")"),
                       "a little-endian file");
  }
  if (header.version != 2 && header.version != 3) {
    return unsupported(reader, "version", 4, cat(header.version), "2 or 3");
  }
  RILL_ASSIGN_OR_RETURN(header.num_tensors, reader.read<uint64_t>("tensor count"));
  RILL_ASSIGN_OR_RETURN(header.num_pairs, reader.read<uint64_t>("key count"));
  RILL_RETURN_IF_ERROR(check_count(reader, "tensor count", 8, header.num_tensors, kMinTensorBytes));
  RILL_RETURN_IF_ERROR(check_count(reader, "key count", 16, header.num_pairs, kMinPairBytes));
  return header;
}

// general.alignment, which read_gguf_metadata has checked, or its default.
size_t find_alignment(const Metadata& metadata) {
  const MetadataValue* value = metadata.find(kGgufAlignmentKey);
  return static_cast<size_t>(value == nullptr ? kDefaultGgufAlignment
                                              : *std::get_if<uint64_t>(&value->value));
}

Result<Shape> read_shape(ByteReader& reader, const std::string& label) {
  const size_t rank_offset = reader.offset();
  RILL_ASSIGN_OR_RETURN(const uint32_t rank, reader.read<uint32_t>(cat(label, " rank")));
  if (rank < 1 || rank > Shape::kMaxRank) {
    return reader.fail(rank_offset, cat(label, " rank"), cat(rank), cat("1 to ", Shape::kMaxRank));
  }
  size_t dims[Shape::kMaxRank] = {};
  for (uint32_t i = 0; i < rank; ++i) {
    const size_t offset = reader.offset();
    RILL_ASSIGN_OR_RETURN(const uint64_t dim, reader.read<uint64_t>(cat(label, " dimension ", i)));
    if (dim == 0 || dim > kMaxSize) {
      return reader.fail(offset, cat(label, " dimension ", i), cat(dim), cat("1 to ", kMaxSize));
    }
    dims[i] = static_cast<size_t>(dim);
  }
  Shape shape;  // the file stores the fastest dimension first
  for (uint32_t i = rank; i-- > 0;) shape.append(dims[i]);
  return shape;
}

Result<DType> read_dtype(ByteReader& reader, const std::string& label) {
  const size_t offset = reader.offset();
  RILL_ASSIGN_OR_RETURN(const uint32_t number, reader.read<uint32_t>(cat(label, " type")));
  if (const std::optional<DType> dtype = dtype_from_gguf(number)) return *dtype;
  const std::string_view name = gguf_type_name(number);
  return unsupported(reader, cat(label, " type"), offset,
                     name.empty() ? cat("type ", number) : cat(name, " (type ", number, ")"),
                     "a type that this build knows (docs/portable-format.md)");
}

// Bytes of a tensor, or nothing when the product does not fit the address space.
std::optional<uint64_t> tensor_bytes(DType dtype, const Shape& shape) {
  const DTypeInfo& info = dtype_info(dtype);
  size_t elements = 1;
  for (size_t i = 0; i < shape.rank(); ++i) {
    if (shape.dim(i) > kMaxSize / elements) return std::nullopt;
    elements *= shape.dim(i);
  }
  const size_t blocks = elements / info.block_values;
  if (blocks > kMaxSize / info.block_bytes) return std::nullopt;
  return blocks * info.block_bytes;
}

Result<TensorInfo> read_tensor_info(ByteReader& reader, uint64_t index) {
  TensorInfo info;
  RILL_ASSIGN_OR_RETURN(info.name, read_gguf_name(reader, cat("tensor ", index, " name")));
  const std::string label = cat("tensor ", printable(info.name));
  const size_t shape_offset = reader.offset();
  RILL_ASSIGN_OR_RETURN(info.shape, read_shape(reader, label));
  RILL_ASSIGN_OR_RETURN(info.dtype, read_dtype(reader, label));
  const DTypeInfo& type = dtype_info(info.dtype);
  if (info.shape.cols() % type.block_values != 0) {
    return reader.fail(shape_offset, cat(label, " shape"),
                       cat("rows of ", info.shape.cols(), " values"),
                       cat("a multiple of ", type.block_values, " for ", type.name));
  }
  const std::optional<uint64_t> size_bytes = tensor_bytes(info.dtype, info.shape);
  if (!size_bytes) {
    return reader.fail(shape_offset, cat(label, " shape"), info.shape.to_string(),
                       "a tensor that fits the address space");
  }
  info.size_bytes = *size_bytes;
  info.offset_field = reader.offset();
  RILL_ASSIGN_OR_RETURN(info.offset, reader.read<uint64_t>(cat(label, " offset")));
  return info;
}

// Each tensor aligned and inside the data section, and no two sharing a byte.
Status check_placement(const ByteReader& reader, const std::vector<TensorInfo>& infos,
                       uint64_t data_bytes, size_t alignment) {
  for (const TensorInfo& info : infos) {
    const std::string field = cat("tensor ", printable(info.name), " offset");
    if (info.offset % alignment != 0) {
      return reader.fail(info.offset_field, field, cat(info.offset),
                         cat("a multiple of ", alignment));
    }
    if (info.offset > data_bytes || info.size_bytes > data_bytes - info.offset) {
      return reader.fail(info.offset_field, field, cat(info.size_bytes, " bytes at ", info.offset),
                         cat("to fit the data section of ", data_bytes, " bytes"));
    }
  }
  std::vector<const TensorInfo*> order;
  order.reserve(infos.size());
  for (const TensorInfo& info : infos) order.push_back(&info);
  std::sort(order.begin(), order.end(),
            [](const TensorInfo* a, const TensorInfo* b) { return a->offset < b->offset; });
  for (size_t i = 1; i < order.size(); ++i) {
    const TensorInfo& before = *order[i - 1];
    if (order[i]->offset < before.offset + before.size_bytes) {
      return reader.fail(order[i]->offset_field,
                         cat("tensor ", printable(order[i]->name), " offset"),
                         cat(order[i]->offset, ", which overlaps tensor ", printable(before.name)),
                         cat("at least ", before.offset + before.size_bytes));
    }
  }
  return {};
}

Result<std::vector<TensorInfo>> read_tensor_infos(ByteReader& reader, uint64_t count) {
  std::vector<TensorInfo> infos;
  infos.reserve(static_cast<size_t>(count));  // never moved, so that the set may point into it
  std::unordered_set<std::string_view> names;
  for (uint64_t i = 0; i < count; ++i) {
    const size_t offset = reader.offset();
    RILL_ASSIGN_OR_RETURN(TensorInfo info, read_tensor_info(reader, i));
    infos.push_back(std::move(info));
    if (!names.insert(infos.back().name).second) {
      return reader.fail(offset, cat("tensor ", i, " name"),
                         cat(printable(infos.back().name), " a second time"), "each name once");
    }
  }
  return infos;
}

// Where the data section begins; a file without tensors may end before its padding.
Result<size_t> find_data(const ByteReader& reader, size_t file_bytes, size_t alignment,
                         bool any_tensor) {
  const size_t end = reader.offset();
  const size_t padding = (alignment - end % alignment) % alignment;
  if (padding <= file_bytes - end) return end + padding;
  if (!any_tensor) return file_bytes;
  return reader.fail(end, "padding", cat("the end after ", file_bytes - end, " bytes"),
                     cat(padding, " bytes"));
}

}  // namespace

Result<GgufFile> GgufFile::open(const std::string& path) {
  Result<MappedFile> mapping = MappedFile::open(path);
  if (!mapping) return std::move(mapping).error().with_context("load gguf");
  RILL_ASSIGN_OR_RETURN(GgufFile file, parse(mapping->bytes(), path));
  file.mapping_ = std::move(mapping).value();
  return file;
}

Result<GgufFile> GgufFile::parse(std::span<const std::byte> bytes, std::string name) {
  ByteReader reader(bytes.first(std::min(bytes.size(), kMaxHeaderBytes)),
                    cat("load gguf: ", printable(name, 4096)));
  GgufFile file;
  file.size_bytes_ = bytes.size();
  file.metadata_ = Metadata(name);
  file.name_ = std::move(name);
  RILL_ASSIGN_OR_RETURN(const Header header, read_header(reader));
  file.version_ = header.version;
  RILL_RETURN_IF_ERROR(read_gguf_metadata(reader, header.num_pairs, file.metadata_));
  file.alignment_ = find_alignment(file.metadata_);
  // Once more, now that fewer bytes remain.
  RILL_RETURN_IF_ERROR(check_count(reader, "tensor count", 8, header.num_tensors, kMinTensorBytes));
  RILL_ASSIGN_OR_RETURN(std::vector<TensorInfo> infos,
                        read_tensor_infos(reader, header.num_tensors));
  RILL_ASSIGN_OR_RETURN(const size_t data_begin,
                        find_data(reader, bytes.size(), file.alignment_, !infos.empty()));
  RILL_RETURN_IF_ERROR(check_placement(reader, infos, bytes.size() - data_begin, file.alignment_));
  for (TensorInfo& info : infos) {
    const size_t offset = data_begin + static_cast<size_t>(info.offset);
    file.tensors_.add(
        {std::move(info.name), {bytes.data() + offset, info.dtype, info.shape}, offset});
  }
  return file;
}

void GgufFile::release(const NamedTensor& tensor) const {
  mapping_.release_pages(tensor.file_offset, tensor.view.size_bytes());
}

}  // namespace rill::format
