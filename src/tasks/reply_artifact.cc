// SPDX-License-Identifier: Apache-2.0
#include "tasks/reply_artifact.h"

#include <algorithm>
#include <array>
#include <string_view>

#include "base/parse_number.h"
#include "base/str_cat.h"

namespace rill::tasks {
namespace {

// All keys that the format has, in the order in which they are checked.
constexpr std::array<std::string_view, 7> kMetaKeys = {
    "format", "language", "codebooks", "audio_vocab_size", "text_vocab_size", "steps", "ended"};

void append_int32(int32_t value, std::vector<std::byte>& out) {
  const auto bits = static_cast<uint32_t>(value);
  for (int shift = 0; shift < 32; shift += 8)
    out.push_back(static_cast<std::byte>(bits >> shift & 0xFF));
}

int32_t int32_at(const std::vector<std::byte>& bytes, size_t index) {
  uint32_t bits = 0;
  for (size_t i = 0; i < 4; ++i) bits |= static_cast<uint32_t>(bytes[4 * index + i]) << (8 * i);
  return static_cast<int32_t>(bits);
}

std::string artifact_name(size_t index, const Artifact& artifact) {
  return cat("input artifact ", index, " (", printable(artifact.id), ")");
}

Error bad(size_t index, const Artifact& artifact, std::string_view what) {
  return Error{ErrorCode::kInvalidArgument,
               cat("LFM2-Audio ", artifact_name(index, artifact), " ", what)};
}

const std::string* find_meta(const Artifact& artifact, std::string_view key) {
  for (const auto& [name, value] : artifact.meta) {
    if (name == key) return &value;
  }
  return nullptr;
}

Status check_keys(const Artifact& reply, size_t index) {
  const std::string* format = find_meta(reply, "format");
  if (format != nullptr && *format != kReplyFormat) {
    return bad(index, reply,
               cat("has format ", printable(*format), "; this build reads ", kReplyFormat));
  }
  for (const std::string_view key : kMetaKeys) {
    if (find_meta(reply, key) == nullptr) return bad(index, reply, cat("has no meta ", key));
  }
  for (const auto& [key, value] : reply.meta) {
    if (std::find(kMetaKeys.begin(), kMetaKeys.end(), key) == kMetaKeys.end()) {
      return bad(index, reply,
                 cat("has meta ", printable(key), ", which ", kReplyFormat, " does not have"));
    }
  }
  if (reply.meta.size() != kMetaKeys.size()) return bad(index, reply, "has a meta key twice");
  return {};
}

Result<size_t> meta_number(const Artifact& reply, size_t index, std::string_view key) {
  const std::string& text = *find_meta(reply, key);
  const auto number = parse_uint(text);
  if (!number || *number > 1'000'000'000) {
    return bad(index, reply,
               cat("has ", key, " ", printable(text), ", which is not a whole number"));
  }
  return static_cast<size_t>(*number);
}

Status check_count(const Artifact& reply, size_t index, std::string_view key, size_t own) {
  RILL_ASSIGN_OR_RETURN(const size_t theirs, meta_number(reply, index, key));
  if (theirs == own) return {};
  return bad(index, reply, cat("has ", key, " ", theirs, ", and this checkpoint ", own));
}

}  // namespace

ReplyShape reply_shape(const model::lfm2_audio::Model& model) {
  const auto& config = model.speech()->depthformer().config();
  return {std::string(model::lfm2_audio::language_code(model.language())), config.num_codebooks,
          config.audio_vocab_size, model.backbone().config().vocab_size};
}

Artifact encode_reply(std::span<const ReplyStep> steps, bool ended, const ReplyShape& shape) {
  Artifact reply{kReplyId, kReplyKind, {}, {}};
  for (const ReplyStep& step : steps) {
    append_int32(step.token, reply.payload);
    for (const int32_t code : step.codes) append_int32(code, reply.payload);
  }
  reply.meta = {{"format", kReplyFormat},
                {"language", shape.language},
                {"codebooks", cat(shape.num_codebooks)},
                {"audio_vocab_size", cat(shape.audio_vocab_size)},
                {"text_vocab_size", cat(shape.text_vocab_size)},
                {"steps", cat(steps.size())},
                {"ended", ended ? "true" : "false"}};
  return reply;
}

Result<size_t> check_reply_meta(const Artifact& reply, size_t index, const ReplyShape& shape) {
  RILL_RETURN_IF_ERROR(check_keys(reply, index));
  const std::string& language = *find_meta(reply, "language");
  if (language != shape.language) {
    return bad(
        index, reply,
        cat("comes from a ", printable(language), " checkpoint, and this one is ", shape.language));
  }
  RILL_RETURN_IF_ERROR(check_count(reply, index, "codebooks", shape.num_codebooks));
  RILL_RETURN_IF_ERROR(check_count(reply, index, "audio_vocab_size", shape.audio_vocab_size));
  RILL_RETURN_IF_ERROR(check_count(reply, index, "text_vocab_size", shape.text_vocab_size));
  const std::string& ended = *find_meta(reply, "ended");
  if (ended != "true" && ended != "false") {
    return bad(index, reply,
               cat("has ended ", printable(ended), ", which is neither true nor false"));
  }
  return meta_number(reply, index, "steps");
}

Result<std::vector<ReplyStep>> decode_reply(const Artifact& reply, size_t index,
                                            const ReplyShape& shape) {
  RILL_ASSIGN_OR_RETURN(const size_t stated, meta_number(reply, index, "steps"));
  if (reply.payload.size() % 4 != 0)
    return bad(index, reply, "has a payload that is not a multiple of 4 bytes");
  const size_t count = reply.payload.size() / 4;
  std::vector<ReplyStep> steps;
  for (size_t at = 0; at < count;) {
    ReplyStep step{int32_at(reply.payload, at++), {}};
    if (step.token < -1 ||
        (step.token >= 0 && static_cast<size_t>(step.token) >= shape.text_vocab_size)) {
      return bad(index, reply, cat("has token ", step.token, ", outside the vocabulary"));
    }
    if (step.is_frame()) {
      if (count - at < shape.num_codebooks)
        return bad(index, reply, "has a payload that ends inside a step");
      for (size_t i = 0; i < shape.num_codebooks; ++i) {
        const int32_t code = int32_at(reply.payload, at++);
        if (code < 0 || static_cast<size_t>(code) >= shape.audio_vocab_size) {
          return bad(index, reply,
                     cat("has code ", code, ", outside 0 to ", shape.audio_vocab_size - 1));
        }
        step.codes.push_back(code);
      }
    }
    steps.push_back(std::move(step));
  }
  if (steps.size() != stated) {
    return bad(index, reply, cat("has ", steps.size(), " steps, and its meta says ", stated));
  }
  return steps;
}

}  // namespace rill::tasks
