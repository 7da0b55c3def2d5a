// SPDX-License-Identifier: Apache-2.0
// Arbitrary request bodies: an error that names the field, or a request within the limits of its
// options. The first byte chooses chat or completion.
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "base/utf8.h"
#include "tasks/openai_request.h"

namespace {

void require(bool condition) {
  if (!condition) std::abort();
}

template <typename Request, typename Read>
void read_body(const rill::Json& body, Read read) {
  Request request;
  std::vector<std::string> ignored;
  const rill::Status status = read(body, request, ignored);
  if (!status.has_value()) {
    require(!status.error().message.empty() && rill::is_valid_utf8(status.error().message));
    return;
  }
  for (const std::string& field : ignored) require(body.find(field) != nullptr);
  // Reading the same body again changes nothing about whether it is one.
  Request again;
  std::vector<std::string> ignored_again;
  require(read(body, again, ignored_again).has_value() && ignored_again == ignored);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 1) return 0;
  const auto body = rill::parse_json({reinterpret_cast<const char*>(data) + 1, size - 1});
  if (!body) return 0;
  if ((data[0] & 1) == 0) {
    read_body<rill::tasks::ChatRequest>(*body, rill::tasks::read_chat_body);
  } else {
    read_body<rill::tasks::CompleteRequest>(*body, rill::tasks::read_completion_body);
  }
  return 0;
}
