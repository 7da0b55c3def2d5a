// SPDX-License-Identifier: Apache-2.0
// The steps of a spoken reply as an artifact: what a client sends back so that a conversation goes
// on. Payload: little-endian int32; a text token is its id, a frame is -1 and its codes.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "base/result.h"
#include "model/lfm2_audio/package.h"

namespace rill::tasks {

/// A named piece of data that goes with a request or a result.
struct Artifact {
  std::string id;
  std::string kind;
  std::vector<std::byte> payload;
  std::vector<std::pair<std::string, std::string>> meta;
};

inline constexpr const char* kQuestionId = "lfm2_audio.question";
inline constexpr const char* kQuestionKind = "custom";
inline constexpr const char* kReplyId = "lfm2_audio.reply";
inline constexpr const char* kReplyKind = "acoustic_tokens";
inline constexpr const char* kReplyFormat = "lfm2_audio.reply/1";

/// One step of a reply: a text token, or the codes of a frame.
struct ReplyStep {
  int32_t token = -1;          ///< -1: a frame
  std::vector<int32_t> codes;  ///< [Q] for a frame

  [[nodiscard]] bool is_frame() const { return token < 0; }
};

/// Sizes that a reply must agree with.
struct ReplyShape {
  std::string language;
  size_t num_codebooks = 0;
  size_t audio_vocab_size = 0;
  size_t text_vocab_size = 0;
};
[[nodiscard]] ReplyShape reply_shape(const model::lfm2_audio::Model& model);

[[nodiscard]] Artifact encode_reply(std::span<const ReplyStep> steps, bool ended,
                                    const ReplyShape& shape);

/// The step count that a reply's meta states, after all checks of the meta.
/// Errors: kInvalidArgument, in the order and words of the format's description (spec: audio,
/// section 20.3); `index` is the artifact's place in the request.
Result<size_t> check_reply_meta(const Artifact& reply, size_t index, const ReplyShape& shape);

/// The steps of a reply whose meta passed check_reply_meta. Errors: kInvalidArgument.
Result<std::vector<ReplyStep>> decode_reply(const Artifact& reply, size_t index,
                                            const ReplyShape& shape);

}  // namespace rill::tasks
