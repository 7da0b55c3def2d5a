// SPDX-License-Identifier: Apache-2.0
#include "support/test_data.h"

#include <unistd.h>

#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <filesystem>
#include <fstream>
#include <iterator>

#include "base/mapped_file.h"
#include "base/str_cat.h"

namespace rill::test {
namespace {

[[noreturn]] void give_up(const std::string& message) {
  std::fprintf(stderr, "test data: %s\n", message.c_str());
  std::exit(1);
}

float half_to_float(uint16_t half) {
  const int exponent = half >> 10 & 31;
  const int fraction = half & 1023;
  double value = 0;
  if (exponent == 31) {
    value = fraction == 0 ? HUGE_VAL : std::nan("");
  } else if (exponent == 0) {
    value = std::ldexp(fraction, -24);
  } else {
    value = std::ldexp(1024 + fraction, exponent - 25);
  }
  return static_cast<float>((half & 0x8000) != 0 ? -value : value);
}

template <typename Stored>
Stored load(const std::byte* data, size_t index) {
  Stored value;
  std::memcpy(&value, data + index * sizeof(Stored), sizeof(Stored));
  return value;
}

double element(const TensorView& view, size_t i) {
  switch (view.dtype) {
    case DType::kF32:
      return static_cast<double>(load<float>(view.data, i));
    case DType::kF64:
      return load<double>(view.data, i);
    case DType::kF16:
      return static_cast<double>(half_to_float(load<uint16_t>(view.data, i)));
    case DType::kBF16: {
      const uint32_t bits = static_cast<uint32_t>(load<uint16_t>(view.data, i)) << 16;
      float value;
      std::memcpy(&value, &bits, sizeof value);
      return static_cast<double>(value);
    }
    case DType::kI8:
      return load<int8_t>(view.data, i);
    case DType::kI16:
      return load<int16_t>(view.data, i);
    case DType::kI32:
      return load<int32_t>(view.data, i);
    case DType::kI64:
      return static_cast<double>(load<int64_t>(view.data, i));
    default:
      give_up("a quantized tensor has no plain elements");
  }
}

const TensorView& view_of(const format::SafetensorsFile& file, std::string_view name) {
  const Result<const NamedTensor*> tensor = file.get(name);
  if (!tensor) give_up(tensor.error().message);
  return (*tensor)->view;
}

format::SafetensorsFile open_or_give_up(const std::string& path) {
  Result<format::SafetensorsFile> file = format::SafetensorsFile::open(path);
  if (!file) give_up(file.error().message);
  return std::move(file).value();
}

}  // namespace

std::string data_path(std::string_view relative) { return cat(RILL_TEST_DATA, "/", relative); }

std::vector<std::byte> read_file(const std::string& path) {
  const Result<MappedFile> file = MappedFile::open(path);
  if (!file) give_up(file.error().message);
  return {file->bytes().begin(), file->bytes().end()};
}

std::vector<std::byte> to_bytes(std::string_view text) {
  const auto* begin = reinterpret_cast<const std::byte*>(text.data());
  return {begin, begin + text.size()};
}

std::string_view to_text(std::span<const std::byte> bytes) {
  return {reinterpret_cast<const char*>(bytes.data()), bytes.size()};
}

std::string temp_path(std::string_view name) {
  return (std::filesystem::temp_directory_path() /
          cat("rill_test_", static_cast<long long>(::getpid()), "_", name))
      .string();
}

void write_file(const std::string& path, std::span<const std::byte> bytes) {
  std::ofstream out(path, std::ios::binary);
  out.write(reinterpret_cast<const char*>(bytes.data()),
            static_cast<std::streamsize>(bytes.size()));
  if (!out.flush()) give_up(cat("cannot write ", path));
}

Vectors::Vectors(const std::string& path) : file_(open_or_give_up(path)) {}

bool Vectors::has(std::string_view name) const {
  const Result<const NamedTensor*> tensor = file_.get(name);
  return tensor.has_value() || tensor.error().code == ErrorCode::kUnsupported;
}

Shape Vectors::shape(std::string_view name) const {
  for (const format::RawTensor& raw : file_.raw_tensors()) {
    if (raw.name == name) return raw.shape;
  }
  return view_of(file_, name).shape;
}

std::vector<float> Vectors::floats(std::string_view name) const {
  const TensorView& view = view_of(file_, name);
  std::vector<float> values(view.shape.num_elements());
  for (size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(element(view, i));
  return values;
}

std::vector<int64_t> Vectors::ints(std::string_view name) const {
  const TensorView& view = view_of(file_, name);
  std::vector<int64_t> values(view.shape.num_elements());
  for (size_t i = 0; i < values.size(); ++i) {
    values[i] = view.dtype == DType::kI64 ? load<int64_t>(view.data, i)
                                          : static_cast<int64_t>(element(view, i));
  }
  return values;
}

std::vector<std::byte> Vectors::bytes(std::string_view name) const {
  for (const format::RawTensor& raw : file_.raw_tensors()) {
    if (raw.name == name) return {raw.bytes.begin(), raw.bytes.end()};
  }
  const TensorView& view = view_of(file_, name);
  return {view.data, view.data + view.size_bytes()};
}

double relative_rms(std::span<const float> got, std::span<const float> want) {
  if (got.size() != want.size()) return HUGE_VAL;
  double error = 0;
  double norm = 0;
  for (size_t i = 0; i < got.size(); ++i) {
    const double difference = static_cast<double>(got[i]) - static_cast<double>(want[i]);
    error += difference * difference;
    norm += static_cast<double>(want[i]) * static_cast<double>(want[i]);
  }
  if (norm == 0) return std::sqrt(error);
  return std::sqrt(error / norm);
}

}  // namespace rill::test
