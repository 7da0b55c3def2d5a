// SPDX-License-Identifier: Apache-2.0
#include "talk_history.h"

#include <array>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iostream>
#include <iterator>
#include <nlohmann/json.hpp>
#include <system_error>

#include "exit_codes.h"
#include "handles.h"
#include "output.h"

namespace rill::cli {
namespace {

constexpr const char* kQuestionId = "lfm2_audio.question";
constexpr const char* kQuestionKind = "custom";
constexpr const char* kReplyId = "lfm2_audio.reply";
constexpr const char* kReplyKind = "acoustic_tokens";

int add_artifact(rill_request* request, const char* id, const char* kind,
                 const std::string& payload, size_t& index) {
  ErrorSlot error;
  const rill_status status = rill_request_add_artifact(request, id, kind, payload.data(),
                                                       payload.size(), &index, error.out());
  return status == RILL_OK ? kExitOk : report(status, error);
}

}  // namespace

int read_bytes(const std::string& path, std::string& bytes) {
  if (path == "-") {
    bytes.assign(std::istreambuf_iterator<char>(std::cin), {});
    return kExitOk;
  }
  std::ifstream file(path, std::ios::binary);
  std::error_code ignored;
  if (!file || std::filesystem::is_directory(path, ignored)) {
    return report(kExitUnreadable, path + ": cannot be opened");
  }
  bytes.assign(std::istreambuf_iterator<char>(file), {});
  return file.bad() ? report(kExitUnreadable, path + ": cannot be read") : kExitOk;
}

std::string TalkHistory::turn_path(size_t number, const char* extension) const {
  std::array<char, 32> name{};
  std::snprintf(name.data(), name.size(), "turn-%04zu", number);
  return directory_ + "/" + name.data() + extension;
}

int TalkHistory::load_turn(size_t number, Turn& turn) const {
  int exit_code = read_bytes(turn_path(number, ".question"), turn.question);
  if (exit_code == kExitOk) exit_code = read_bytes(turn_path(number, ".reply"), turn.reply);
  if (exit_code != kExitOk) return exit_code;
  const std::string path = turn_path(number, ".json");
  std::ifstream file(path);
  const auto meta = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!meta.is_object()) return report(kExitUnreadable, path + ": not a JSON object");
  for (const auto& [key, value] : meta.items()) {
    if (!value.is_string()) return report(kExitUnreadable, path + ": " + key + " is not a string");
    turn.meta.emplace_back(key, value.get<std::string>());
  }
  return kExitOk;
}

int TalkHistory::load() {
  while (!directory_.empty() &&
         std::filesystem::exists(turn_path(turns_.size() + 1, ".question"))) {
    Turn turn;
    const int exit_code = load_turn(turns_.size() + 1, turn);
    if (exit_code != kExitOk) return exit_code;
    turns_.push_back(std::move(turn));
  }
  return kExitOk;
}

int TalkHistory::add_turns(rill_request* request) const {
  for (const Turn& turn : turns_) {
    size_t index = 0;
    int exit_code = add_artifact(request, kQuestionId, kQuestionKind, turn.question, index);
    if (exit_code == kExitOk)
      exit_code = add_artifact(request, kReplyId, kReplyKind, turn.reply, index);
    if (exit_code != kExitOk) return exit_code;
    for (const auto& [key, value] : turn.meta) {
      ErrorSlot error;
      const rill_status status =
          rill_request_set_artifact_meta(request, index, key.c_str(), value.c_str(), error.out());
      if (status != RILL_OK) return report(status, error);
    }
  }
  return kExitOk;
}

int TalkHistory::save_turn(size_t number, const Turn& turn) const {
  std::error_code failure;
  std::filesystem::create_directories(directory_, failure);
  if (failure) return report(kExitFailed, directory_ + ": " + failure.message());
  nlohmann::json meta = nlohmann::json::object();
  for (const auto& [key, value] : turn.meta) meta[key] = value;
  // The question comes last: a turn counts once it is whole.
  int exit_code = write_file(turn_path(number, ".reply"), turn.reply);
  if (exit_code == kExitOk) exit_code = write_file(turn_path(number, ".json"), meta.dump(2) + "\n");
  if (exit_code == kExitOk) exit_code = write_file(turn_path(number, ".question"), turn.question);
  return exit_code;
}

int TalkHistory::append_turn(const std::string& question, const rill_result* result) {
  ErrorSlot error;
  rill_artifact reply = {};
  rill_status status = rill_result_artifact(result, 0, &reply, error.out());
  Turn turn{question, {}, {}};
  for (size_t i = 0; status == RILL_OK && i < reply.num_meta; ++i) {
    const char* key = nullptr;
    const char* value = nullptr;
    status = rill_result_artifact_meta(result, 0, i, &key, &value, error.out());
    if (status == RILL_OK) turn.meta.emplace_back(key, value);
  }
  if (status != RILL_OK) return report(status, error);
  turn.reply.assign(static_cast<const char*>(reply.payload), reply.size);
  turns_.push_back(std::move(turn));
  return directory_.empty() ? kExitOk : save_turn(num_forgotten_ + turns_.size(), turns_.back());
}

void TalkHistory::forget_oldest() {
  const size_t count = (turns_.size() + 1) / 2;
  turns_.erase(turns_.begin(), turns_.begin() + static_cast<std::ptrdiff_t>(count));
  num_forgotten_ += count;
}

}  // namespace rill::cli
