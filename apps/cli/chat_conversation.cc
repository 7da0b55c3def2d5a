// SPDX-License-Identifier: Apache-2.0
#include "chat_conversation.h"

#include "exit_codes.h"
#include "output.h"
#include "text_flags.h"

namespace rill::cli {
namespace {

using Messages = nlohmann::ordered_json;

bool has_role(const Messages& message, const char* role) {
  return message.is_object() && message.contains("role") && message["role"] == role;
}

std::string text_of(const Messages& message) {
  return message.contains("content") && message["content"].is_string()
             ? message["content"].get<std::string>()
             : std::string();
}

}  // namespace

void Conversation::set_system(const std::string& text) {
  if (!messages_.empty() && has_role(messages_.front(), "system")) messages_.erase(0);
  if (!text.empty())
    messages_.insert(messages_.begin(), Messages{{"role", "system"}, {"content", text}});
}

std::string Conversation::system() const {
  return !messages_.empty() && has_role(messages_.front(), "system") ? text_of(messages_.front())
                                                                     : "";
}

void Conversation::add_user(const std::string& text) {
  messages_.push_back(Messages{{"role", "user"}, {"content", text}});
}

void Conversation::add_reply(const rill_result* result) {
  StringHandle json;
  if (rill_result_json(result, Out(json), nullptr) != RILL_OK) return;
  const auto whole = Messages::parse(rill_string_data(json.get()), nullptr, false);
  if (whole.is_object() && !whole["choices"].empty())
    messages_.push_back(whole["choices"][0]["message"]);
}

bool Conversation::drop_reply() {
  if (messages_.empty() || !has_role(messages_.back(), "assistant")) return false;
  messages_.erase(messages_.size() - 1);
  return true;
}

std::optional<std::string> Conversation::drop_turn() {
  for (size_t i = messages_.size(); i-- > 0;) {
    if (!has_role(messages_[i], "user")) continue;
    const std::string text = text_of(messages_[i]);
    messages_.erase(messages_.begin() + static_cast<std::ptrdiff_t>(i), messages_.end());
    return text;
  }
  return std::nullopt;
}

void Conversation::clear() {
  const std::string kept = system();
  messages_ = Messages::array();
  set_system(kept);
}

bool Conversation::ends_with_user() const {
  return !messages_.empty() && has_role(messages_.back(), "user");
}

size_t Conversation::num_turns() const {
  size_t turns = 0;
  for (const auto& message : messages_) turns += has_role(message, "user") ? 1 : 0;
  return turns;
}

int Conversation::load(const std::string& path) {
  std::string text;
  const int exit_code = read_input(path, text);
  if (exit_code != kExitOk) return exit_code;
  auto parsed = Messages::parse(text, nullptr, false);
  if (!parsed.is_array())
    return report(kExitUnreadable, path + ": expected a JSON array of messages");
  messages_ = std::move(parsed);
  return kExitOk;
}

int Conversation::save(const std::string& path) const {
  return write_file(path, messages_.dump(2) + "\n");
}

}  // namespace rill::cli
