// SPDX-License-Identifier: Apache-2.0
#include "tasks/complete.h"

#include <utility>

#include "tasks/reply_rule.h"

namespace rill::tasks {

Result<ReplyStream> start_completion(const TextModel& model, const CompleteRequest& request,
                                     const TextRun& run) {
  std::vector<int32_t> tokens;
  if (request.tokens) {
    tokens = *request.tokens;
  } else {
    text::EncodeOptions encode;
    encode.add_bos = model.tokenizer().add_bos_default() && model.tokenizer().bos_id().has_value();
    RILL_ASSIGN_OR_RETURN(tokens, model.tokenizer().encode(request.prompt, encode));
  }
  ReplySetup setup;
  if (request.options.echo) {
    setup.echo = model.tokenizer().decode(tokens, /*skip_special=*/true);
    setup.echo_logprobs = request.options.top_logprobs.has_value();
  }
  RILL_ASSIGN_OR_RETURN(setup.rule, make_reply_rule(model, request.options, Json()));
  return ReplyStream::start(model, std::move(tokens), std::move(setup), request.options, run);
}

}  // namespace rill::tasks
