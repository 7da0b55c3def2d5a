// SPDX-License-Identifier: Apache-2.0
#include "verify/set_files.h"

#include <algorithm>
#include <cstring>
#include <filesystem>
#include <system_error>

#include "base/mapped_file.h"
#include "base/sha256.h"
#include "base/str_cat.h"
#include "quant/quantize.h"

namespace rill::verify {
namespace {

namespace fs = std::filesystem;

Error missing_key(std::string_view where, std::string_view key, std::string_view expected) {
  return Error{ErrorCode::kInvalidFormat,
               cat("read set: ", where, ": '", key, "' is missing or not ", expected)};
}

/// True if a path of the set stays inside it.
bool stays_inside(const std::string& path) {
  const fs::path p(path);
  if (path.empty() || p.is_absolute()) return false;
  return std::none_of(p.begin(), p.end(), [](const fs::path& part) { return part == ".."; });
}

Status add_hash(const std::string& where, std::string path, std::string hex,
                std::vector<std::pair<std::string, std::string>>& out) {
  std::transform(hex.begin(), hex.end(), hex.begin(), [](char c) {
    return c >= 'A' && c <= 'F' ? static_cast<char>(c - 'A' + 'a') : c;
  });
  if (!stays_inside(path) || hex.size() != 64) {
    return Error{ErrorCode::kInvalidFormat, cat("read set: ", where, ": '", printable(path),
                                                "' is not a path inside the set with a SHA-256")};
  }
  out.emplace_back(std::move(path), std::move(hex));
  return {};
}

Status add_manifest_hashes(const std::string& set_dir, const std::string& folder,
                           std::vector<std::pair<std::string, std::string>>& out) {
  const std::string path = cat(set_dir, "/", folder, "manifest.json");
  if (!is_file(path)) return {};
  RILL_ASSIGN_OR_RETURN(const Json manifest, read_json(path));
  const Json* hashes = manifest.find("sha256");
  if (hashes == nullptr || !hashes->is_object()) return {};
  for (const auto& [file, hex] : hashes->members()) {
    if (!hex.is_string()) return missing_key(path, cat("sha256.", printable(file)), "a string");
    RILL_RETURN_IF_ERROR(add_hash(path, file, hex.as_string(), out));
  }
  return {};
}

Status add_sums(const std::string& set_dir, std::vector<std::pair<std::string, std::string>>& out) {
  const std::string path = set_dir + "/SHA256SUMS";
  if (!is_file(path)) return {};
  RILL_ASSIGN_OR_RETURN(const std::string text, read_text(path));
  for (size_t begin = 0; begin < text.size();) {
    const size_t end = std::min(text.find('\n', begin), text.size());
    const std::string line = text.substr(begin, end - begin);
    begin = end + 1;
    if (line.empty()) continue;
    // "<hex>  <path>" or "<hex> *<path>", as sha256sum writes.
    if (line.size() < 67 || line[64] != ' ') {
      return Error{ErrorCode::kInvalidFormat,
                   cat("read set: ", path, ": malformed line '", printable(line), "'")};
    }
    std::string file = line.substr(66);
    if (file.starts_with("./")) file = file.substr(2);
    RILL_RETURN_IF_ERROR(add_hash(path, std::move(file), line.substr(0, 64), out));
  }
  return {};
}

}  // namespace

Result<ExpectedTensors> ExpectedTensors::open(const std::string& path) {
  ExpectedTensors tensors;
  RILL_ASSIGN_OR_RETURN(tensors.file_, format::SafetensorsFile::open(path));
  return tensors;
}

bool ExpectedTensors::has(std::string_view name) const {
  if (file_.tensors().find(name) != nullptr) return true;
  const auto& raw = file_.raw_tensors();
  return std::any_of(raw.begin(), raw.end(),
                     [&](const format::RawTensor& t) { return t.name == name; });
}

Result<ExpectedTensor> ExpectedTensors::floats(std::string_view name) const {
  const NamedTensor* tensor = file_.tensors().find(name);
  if (tensor == nullptr) {
    return Error{ErrorCode::kNotFound, cat("read set: ", file_.name(), ": no tensor '", name, "'")};
  }
  const DType type = tensor->view.dtype;
  if (type != DType::kF32 && type != DType::kF16 && type != DType::kBF16) {
    return Error{ErrorCode::kUnsupported,
                 cat("read set: ", file_.name(), ": tensor '", name, "': got type ",
                     dtype_name(type), ", expected F32, F16 or BF16")};
  }
  ExpectedTensor out;
  out.shape = tensor->view.shape;
  out.values.resize(out.shape.num_elements());
  quant::dequantize_row(type, tensor->view.data, out.values);
  return out;
}

Result<std::vector<int32_t>> ExpectedTensors::ints(std::string_view name) const {
  const NamedTensor* tensor = file_.tensors().find(name);
  if (tensor == nullptr || tensor->view.dtype != DType::kI32) {
    return Error{ErrorCode::kNotFound,
                 cat("read set: ", file_.name(), ": no I32 tensor '", name, "'")};
  }
  std::vector<int32_t> out(tensor->view.shape.num_elements());
  if (!out.empty()) std::memcpy(out.data(), tensor->view.data, out.size() * sizeof(int32_t));
  return out;
}

Result<std::vector<std::byte>> ExpectedTensors::bytes(std::string_view name) const {
  for (const format::RawTensor& tensor : file_.raw_tensors()) {
    if (tensor.name == name)
      return std::vector<std::byte>(tensor.bytes.begin(), tensor.bytes.end());
  }
  return Error{ErrorCode::kNotFound,
               cat("read set: ", file_.name(), ": no byte tensor '", name, "'")};
}

bool is_file(const std::string& path) {
  std::error_code ignored;
  return fs::is_regular_file(path, ignored);
}

bool is_directory(const std::string& path) {
  std::error_code ignored;
  return fs::is_directory(path, ignored);
}

Result<std::vector<std::string>> list_directory(const std::string& path) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(path, error), end; !error && it != end; it.increment(error)) {
    names.push_back(it->path().filename().string());
  }
  if (error)
    return Error{ErrorCode::kIo, cat("list directory: ", printable(path), ": ", error.message())};
  std::sort(names.begin(), names.end());
  return names;
}

Result<std::string> read_text(const std::string& path) {
  RILL_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path));
  const auto bytes = file.bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<Json> read_json(const std::string& path) {
  RILL_ASSIGN_OR_RETURN(const std::string text, read_text(path));
  auto json = parse_json(text);
  if (!json) return std::move(json).error().with_context(cat("read set: ", path));
  return json;
}

Result<std::vector<int32_t>> json_ids(const Json& object, std::string_view key,
                                      std::string_view where) {
  const Json* list = object.find(key);
  if (list == nullptr || !list->is_array()) return missing_key(where, key, "an array of integers");
  std::vector<int32_t> out;
  out.reserve(list->items().size());
  for (const Json& item : list->items()) {
    if (!item.is_int() || item.as_int() < INT32_MIN || item.as_int() > INT32_MAX) {
      return missing_key(where, key, "an array of 32-bit integers");
    }
    out.push_back(static_cast<int32_t>(item.as_int()));
  }
  return out;
}

Result<std::string> json_string(const Json& object, std::string_view key, std::string_view where) {
  const Json* value = object.find(key);
  if (value == nullptr || !value->is_string()) return missing_key(where, key, "a string");
  return value->as_string();
}

Result<std::vector<std::pair<std::string, std::string>>> named_hashes(const std::string& set_dir) {
  std::vector<std::pair<std::string, std::string>> out;
  for (const char* folder : {"", "vectors/", "gguf/"}) {
    RILL_RETURN_IF_ERROR(add_manifest_hashes(set_dir, folder, out));
  }
  RILL_RETURN_IF_ERROR(add_sums(set_dir, out));
  return out;
}

Result<std::string> hash_file(const std::string& path) {
  RILL_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path));
  return sha256_hex(file.bytes());
}

}  // namespace rill::verify
