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

int add_meta(rill_request* request, size_t index, const std::string& path) {
  std::ifstream file(path);
  const auto meta = nlohmann::json::parse(file, nullptr, /*allow_exceptions=*/false);
  if (!meta.is_object()) return report(kExitUnreadable, path + ": not a JSON object");
  for (const auto& [key, value] : meta.items()) {
    if (!value.is_string()) return report(kExitUnreadable, path + ": " + key + " is not a string");
    ErrorSlot error;
    const rill_status status = rill_request_set_artifact_meta(
        request, index, key.c_str(), value.get<std::string>().c_str(), error.out());
    if (status != RILL_OK) return report(status, error);
  }
  return kExitOk;
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

int TalkHistory::add_turns(rill_request* request) {
  while (std::filesystem::exists(turn_path(num_turns_ + 1, ".question"))) {
    ++num_turns_;
    std::string question;
    std::string reply;
    size_t index = 0;
    int exit_code = read_bytes(turn_path(num_turns_, ".question"), question);
    if (exit_code == kExitOk) exit_code = read_bytes(turn_path(num_turns_, ".reply"), reply);
    if (exit_code == kExitOk)
      exit_code = add_artifact(request, kQuestionId, kQuestionKind, question, index);
    if (exit_code == kExitOk) exit_code = add_artifact(request, kReplyId, kReplyKind, reply, index);
    if (exit_code == kExitOk) exit_code = add_meta(request, index, turn_path(num_turns_, ".json"));
    if (exit_code != kExitOk) return exit_code;
  }
  return kExitOk;
}

int TalkHistory::append_turn(const std::string& question, const rill_result* result) const {
  std::error_code failure;
  std::filesystem::create_directories(directory_, failure);
  if (failure) return report(kExitFailed, directory_ + ": " + failure.message());
  ErrorSlot error;
  rill_artifact reply = {};
  rill_status status = rill_result_artifact(result, 0, &reply, error.out());
  nlohmann::json meta = nlohmann::json::object();
  for (size_t i = 0; status == RILL_OK && i < reply.num_meta; ++i) {
    const char* key = nullptr;
    const char* value = nullptr;
    status = rill_result_artifact_meta(result, 0, i, &key, &value, error.out());
    if (status == RILL_OK) meta[key] = value;
  }
  if (status != RILL_OK) return report(status, error);
  const size_t number = num_turns_ + 1;
  const std::string payload(static_cast<const char*>(reply.payload), reply.size);
  // The question comes last: a turn counts once it is whole.
  int exit_code = write_file(turn_path(number, ".reply"), payload);
  if (exit_code == kExitOk) exit_code = write_file(turn_path(number, ".json"), meta.dump(2) + "\n");
  if (exit_code == kExitOk) exit_code = write_file(turn_path(number, ".question"), question);
  return exit_code;
}

}  // namespace rill::cli
