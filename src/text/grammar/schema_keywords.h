// SPDX-License-Identifier: Apache-2.0
// SchemaKeywords: what a JSON schema says, with $ref beside other keywords and allOf taken apart
// into one flat list; every keyword keeps its JSON pointer for messages.
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/result.h"

namespace rill::text::grammar {

struct SchemaKeyword {
  std::string_view name;
  const Json* value = nullptr;
  std::string path;
};

/// Types of JSON values as a set.
enum SchemaType : unsigned {
  kTypeNull = 1,
  kTypeBoolean = 2,
  kTypeInteger = 4,
  kTypeNumber = 8,
  kTypeString = 16,
  kTypeArray = 32,
  kTypeObject = 64,
};

/// The document that references point into.
class SchemaDocument {
 public:
  /// `path` is what messages call the root. Lifetime: the root outlives this.
  SchemaDocument(const Json& root, std::string path) : root_(&root), path_(std::move(path)) {}

  /// The target of "#/..."; `path` is where the reference stands.
  /// Errors: kUnsupported (not within the document), kInvalidArgument (no such place).
  Result<const Json*> resolve(const Json& reference, const std::string& path) const;
  [[nodiscard]] const std::string& path() const { return path_; }
  [[nodiscard]] const Json& root() const { return *root_; }

 private:
  const Json* root_;
  std::string path_;
};

class SchemaKeywords {
 public:
  /// Appends the keywords of a schema. Annotations are left out.
  /// Errors: kUnsupported (a keyword, by its path), kInvalidArgument (no schema).
  Status add(const SchemaDocument& document, const Json& schema, const std::string& path,
             size_t depth = 0);

  [[nodiscard]] const std::vector<SchemaKeyword>& list() const { return list_; }
  [[nodiscard]] bool is_empty() const { return list_.empty(); }
  [[nodiscard]] bool has(std::string_view name) const;
  /// The keyword if it comes once, or always with the same value; nullptr if it does not come.
  /// Errors: kUnsupported (different values).
  Result<const SchemaKeyword*> find(std::string_view name) const;
  /// All of that name.
  [[nodiscard]] std::vector<const SchemaKeyword*> all(std::string_view name) const;
  void remove(std::string_view name);
  /// Whether a part of an allOf says false, or a "type" leaves none.
  [[nodiscard]] bool is_nothing() const { return is_nothing_; }
  /// A non-negative integer. Errors: kInvalidArgument.
  Result<std::optional<uint32_t>> count(std::string_view name) const;
  /// The set of types that "type" allows; 0: it does not say.
  Result<unsigned> types() const;

 private:
  std::vector<SchemaKeyword> list_;
  bool is_nothing_ = false;
  size_t num_schemas_ = 0;  // that were taken apart
};

/// "json schema: path: message".
Error schema_error(ErrorCode code, const std::string& path, const std::string& message);

/// A path with one more step.
std::string schema_path(const std::string& path, std::string_view step);

[[nodiscard]] bool is_schema_annotation(std::string_view keyword);

/// Whether two values are the same; numbers by their value, objects whatever the order of keys.
[[nodiscard]] bool same_json(const Json& a, const Json& b);

/// The type of a value; an integer is kTypeInteger | kTypeNumber.
[[nodiscard]] unsigned type_of_json(const Json& value);

/// Whether no value can be valid under both schemas, as far as types, constants and constants of
/// required properties tell.
[[nodiscard]] bool are_disjoint(const SchemaDocument& document, const Json& a, const Json& b);

}  // namespace rill::text::grammar
