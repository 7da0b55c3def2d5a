// SPDX-License-Identifier: Apache-2.0
#include "text/tokenizer_json_fields.h"

#include <algorithm>

#include "base/str_cat.h"

namespace rill::text::json_fields {

Error wrong(const std::string& field, const std::string& got, const std::string& expected) {
  return {ErrorCode::kInvalidFormat, cat(field, ": got ", got, ", expected ", expected)};
}

Error unsupported(const std::string& field, const std::string& got, const std::string& expected) {
  return {ErrorCode::kUnsupported, cat(field, ": got ", got, ", this build knows ", expected)};
}

std::string shown(const Json* value) {
  return value == nullptr ? std::string("nothing") : printable(value->dump(true), 300);
}

Status expect_object(const std::string& field, const Json* value) {
  if (value != nullptr && value->is_object()) return {};
  return wrong(field, shown(value), "an object");
}

Status expect_known_keys(const std::string& field, const Json& object,
                         std::initializer_list<std::string_view> known) {
  for (const auto& member : object.members()) {
    if (std::find(known.begin(), known.end(), member.first) == known.end()) {
      return Error{ErrorCode::kUnsupported,
                   cat(field, ": unknown key \"", printable(member.first), "\"")};
    }
  }
  return {};
}

Status expect_off(const std::string& field, const Json* value) {
  if (value == nullptr || value->is_null()) return {};
  if (value->is_bool() && !value->as_bool()) return {};
  if (value->is_number() && value->as_double() == 0.0) return {};
  if (value->is_string() && value->as_string().empty()) return {};
  return unsupported(field, shown(value), "null or false");
}

std::string_view type_of(const Json* value) {
  const Json* type = value == nullptr ? nullptr : value->find("type");
  return type != nullptr && type->is_string() ? std::string_view(type->as_string())
                                              : std::string_view();
}

Result<bool> read_flag(const std::string& field, const Json& object, std::string_view key) {
  const Json* value = object.find(key);
  if (value == nullptr || value->is_null()) return false;
  if (!value->is_bool()) return wrong(cat(field, ".", key), shown(value), "true or false");
  return value->as_bool();
}

}  // namespace rill::text::json_fields
