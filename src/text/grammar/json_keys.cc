// SPDX-License-Identifier: Apache-2.0
#include "text/grammar/json_keys.h"

namespace rill::text::grammar {

/// The containers after some bytes more, beside those that stay as they are.
class JsonKeys::Trial {
 public:
  explicit Trial(const std::vector<Container>& below) : below_(&below), num_below_(below.size()) {}

  void open(bool is_object) { above_.push_back({is_object, {}}); }
  void close() {
    if (!above_.empty()) {
      above_.pop_back();
    } else if (num_below_ > 0) {
      --num_below_;
      added_.clear();
    }
  }
  [[nodiscard]] bool in_object() const {
    if (!above_.empty()) return above_.back().is_object;
    return num_below_ > 0 && (*below_)[num_below_ - 1].is_object;
  }
  bool add_key(const std::string& key) {
    if (!above_.empty()) return above_.back().keys.insert(key).second;
    if (num_below_ == 0) return true;
    return !(*below_)[num_below_ - 1].keys.contains(key) && added_.insert(key).second;
  }

 private:
  const std::vector<Container>* below_;
  size_t num_below_;             // of which so many are still open
  std::set<std::string> added_;  // to the innermost of them
  std::vector<Container> above_;
};

template <typename Containers>
bool JsonKeys::run(std::string_view bytes, Position& position, Containers& containers) {
  for (const char c : bytes) {
    if (position.in_string) {
      const bool ends = c == '"' && !position.is_escaped;
      position.is_escaped = c == '\\' && !position.is_escaped;
      if (!ends) {
        if (position.in_key) position.key += c;
        continue;
      }
      position.in_string = false;
      if (position.in_key && !containers.add_key(position.key)) return false;
      position.in_key = false;
    } else if (c == '"') {
      position.in_string = true;
      position.in_key = position.wants_key;
      position.wants_key = false;
      position.key.clear();
    } else if (c == '{' || c == '[') {
      containers.open(c == '{');
      position.wants_key = c == '{';
    } else if (c == '}' || c == ']') {
      containers.close();
      position.wants_key = false;
    } else if (c == ',') {
      position.wants_key = containers.in_object();
    }
  }
  return true;
}

bool JsonKeys::accepts(std::string_view bytes) const {
  Position position = position_;
  Trial trial(open_);
  return run(bytes, position, trial);
}

void JsonKeys::push(std::string_view bytes) { run(bytes, position_, *this); }

}  // namespace rill::text::grammar
