// SPDX-License-Identifier: Apache-2.0
#include "support/gguf_builder.h"

#include <cstring>
#include <utility>

namespace rill::test {

ByteSink& ByteSink::number(uint64_t value, int size) {
  for (int i = 0; i < size; ++i) bytes_.push_back(static_cast<std::byte>(value >> (8 * i) & 0xFF));
  return *this;
}

ByteSink& ByteSink::f32(float value) {
  uint32_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return u32(bits);
}

ByteSink& ByteSink::f64(double value) {
  uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  return u64(bits);
}

ByteSink& ByteSink::raw(std::string_view text) {
  for (char c : text) bytes_.push_back(static_cast<std::byte>(c));
  return *this;
}

ByteSink& ByteSink::raw(const std::vector<std::byte>& bytes) {
  bytes_.insert(bytes_.end(), bytes.begin(), bytes.end());
  return *this;
}

ByteSink& ByteSink::zeros(size_t count) {
  bytes_.resize(bytes_.size() + count);
  return *this;
}

GgufBuilder& GgufBuilder::raw_pair(std::string_view key, uint32_t type, const ByteSink& value) {
  pairs_.string(key).u32(type).raw(value.bytes());
  ++pair_count_;
  return *this;
}

GgufBuilder& GgufBuilder::u8(std::string_view key, uint8_t value) {
  return raw_pair(key, 0, ByteSink().u8(value));
}

GgufBuilder& GgufBuilder::u32(std::string_view key, uint32_t value) {
  return raw_pair(key, 4, ByteSink().u32(value));
}

GgufBuilder& GgufBuilder::i32(std::string_view key, int32_t value) {
  return raw_pair(key, 5, ByteSink().u32(static_cast<uint32_t>(value)));
}

GgufBuilder& GgufBuilder::u64(std::string_view key, uint64_t value) {
  return raw_pair(key, 10, ByteSink().u64(value));
}

GgufBuilder& GgufBuilder::f32(std::string_view key, float value) {
  return raw_pair(key, 6, ByteSink().f32(value));
}

GgufBuilder& GgufBuilder::boolean(std::string_view key, bool value) {
  return raw_pair(key, 7, ByteSink().u8(value ? 1 : 0));
}

GgufBuilder& GgufBuilder::string(std::string_view key, std::string_view value) {
  return raw_pair(key, 8, ByteSink().string(value));
}

GgufBuilder& GgufBuilder::strings(std::string_view key, const std::vector<std::string>& values) {
  ByteSink sink;
  sink.u32(8).u64(values.size());
  for (const std::string& value : values) sink.string(value);
  return raw_pair(key, 9, sink);
}

GgufBuilder& GgufBuilder::i32s(std::string_view key, const std::vector<int32_t>& values) {
  ByteSink sink;
  sink.u32(5).u64(values.size());
  for (int32_t value : values) sink.u32(static_cast<uint32_t>(value));
  return raw_pair(key, 9, sink);
}

GgufBuilder& GgufBuilder::tensor(BuilderTensor tensor) {
  tensors_.push_back(std::move(tensor));
  return *this;
}

GgufBuilder& GgufBuilder::f32_tensor(std::string_view name, const std::vector<uint64_t>& dims) {
  BuilderTensor tensor;
  tensor.name = name;
  tensor.dims = dims;
  size_t elements = 1;
  for (uint64_t dim : dims) elements *= dim;
  tensor.data.resize(elements * 4);
  return this->tensor(std::move(tensor));
}

std::vector<std::byte> GgufBuilder::build() {
  ByteSink out;
  out.raw(magic)
      .u32(version)
      .u64(num_tensors.value_or(tensors_.size()))
      .u64(num_keys.value_or(pair_count_));
  out.raw(pairs_.bytes());
  ByteSink data;
  for (const BuilderTensor& tensor : tensors_) {
    data.zeros((alignment - data.size() % alignment) % alignment);
    out.u64(tensor.name_length.value_or(tensor.name.size())).raw(tensor.name);
    out.u32(tensor.rank.value_or(static_cast<uint32_t>(tensor.dims.size())));
    for (uint64_t dim : tensor.dims) out.u64(dim);
    out.u32(tensor.type).u64(tensor.offset.value_or(data.size()));
    data.raw(tensor.data);
  }
  header_bytes_ = out.size();
  out.zeros((alignment - out.size() % alignment) % alignment).raw(data.bytes());
  return out.bytes();
}

}  // namespace rill::test
