// SPDX-License-Identifier: Apache-2.0
#include "convert/file_type.h"

#include "base/check.h"
#include "base/str_cat.h"

namespace rill::convert {
namespace {

struct FileTypeRow {
  FileType type;
  std::string_view name;
  DType base;
};

constexpr FileTypeRow kFileTypes[] = {
    {FileType::kF32, "F32", DType::kF32},        {FileType::kF16, "F16", DType::kF16},
    {FileType::kBF16, "BF16", DType::kBF16},     {FileType::kQ8_0, "Q8_0", DType::kQ8_0},
    {FileType::kQ6_K, "Q6_K", DType::kQ6_K},     {FileType::kQ5_K_M, "Q5_K_M", DType::kQ5_K},
    {FileType::kQ4_K_M, "Q4_K_M", DType::kQ4_K}, {FileType::kQ4_0, "Q4_0", DType::kQ4_0},
};

const FileTypeRow& row_of(FileType type) {
  for (const FileTypeRow& row : kFileTypes) {
    if (row.type == type) return row;
  }
  panic(__FILE__, __LINE__, "file type outside the enumeration");
}

std::string upper(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'a' && c <= 'z') c = static_cast<char>(c - 'a' + 'A');
  }
  return out;
}

}  // namespace

std::string_view file_type_name(FileType type) { return row_of(type).name; }

DType base_dtype(FileType type) { return row_of(type).base; }

Result<FileType> file_type_by_name(std::string_view name) {
  const std::string wanted = upper(name);
  std::string known;
  for (const FileTypeRow& row : kFileTypes) {
    if (row.name == wanted) return row.type;
    known += cat(known.empty() ? "" : ", ", row.name);
  }
  return Error{ErrorCode::kInvalidArgument,
               cat("type: got '", printable(name), "', expected one of ", known)};
}

}  // namespace rill::convert
