// SPDX-License-Identifier: Apache-2.0
// A conversation of rill chat: its messages in OpenAI's form, and the file that keeps them.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>

#include "handles.h"

namespace rill::cli {

class Conversation {
 public:
  void set_system(const std::string& text);
  [[nodiscard]] std::string system() const;
  void add_user(const std::string& text);
  /// Adds the first reply of a result.
  void add_reply(const rill_result* result);
  /// Takes back the last reply; false: the last message is none.
  bool drop_reply();
  /// Takes back the last message of the user and all after it; nothing: there is none.
  std::optional<std::string> drop_turn();
  /// All but the system prompt.
  void clear();

  [[nodiscard]] bool ends_with_user() const;
  [[nodiscard]] size_t num_turns() const;
  [[nodiscard]] std::string dump(int indent = -1) const { return messages_.dump(indent); }

  /// Reads and writes the messages. Returns 0, or an exit code after printing why.
  int load(const std::string& path);
  int save(const std::string& path) const;

 private:
  nlohmann::ordered_json messages_ = nlohmann::ordered_json::array();
};

}  // namespace rill::cli
