// SPDX-License-Identifier: Apache-2.0
// JsonKeys: the keys of the objects that a JSON text has open, so that none comes twice in one
// object. No grammar can say that. It looks at quotes and brackets only and takes it that the text
// is JSON, with one spelling for each key.
#pragma once

#include <cstddef>
#include <set>
#include <string>
#include <string_view>
#include <vector>

namespace rill::text::grammar {

class JsonKeys {
 public:
  /// Whether the text may go on with these bytes without repeating a key.
  [[nodiscard]] bool accepts(std::string_view bytes) const;
  /// Moves on.
  void push(std::string_view bytes);

 private:
  struct Container {
    bool is_object = false;
    std::set<std::string> keys;
  };
  struct Position {
    bool in_string = false;
    bool is_escaped = false;  // the next byte is
    bool in_key = false;
    bool wants_key = false;  // the next string is one
    std::string key;         // so far
  };
  class Trial;

  // What run() needs of a place that keeps containers.
  void open(bool is_object) { open_.push_back({is_object, {}}); }
  void close() {
    if (!open_.empty()) open_.pop_back();
  }
  [[nodiscard]] bool in_object() const { return !open_.empty() && open_.back().is_object; }
  bool add_key(const std::string& key) {
    return open_.empty() || open_.back().keys.insert(key).second;
  }

  template <typename Containers>
  static bool run(std::string_view bytes, Position& position, Containers& containers);

  std::vector<Container> open_;
  Position position_;
};

}  // namespace rill::text::grammar
