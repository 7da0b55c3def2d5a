// SPDX-License-Identifier: Apache-2.0
#include "speech_request.h"

#include <CLI/CLI.hpp>

#include "exit_codes.h"
#include "interrupt.h"

namespace rill::cli {

void add_speech_flags(CLI::App& command, SpeechFlags& flags) {
  with_env(command.add_option("--language", flags.language, "auto, or the model's language"));
  with_env(
      command.add_option("-n,--max-tokens", flags.max_tokens,
                         "Most steps (80 ms of speech): of a chunk of text 512, of a reply 1024"));
  with_env(
      command.add_option("--temp,--temperature", flags.temperature,
                         "Temperature of the sampling; 0: greedy (default: the model's own, else "
                         "0.8, of a reply 1.0)"));
  with_env(
      command.add_option("--top-k", flags.top_k,
                         "Sample from the K most likely; 0: from all (default: the model's own, "
                         "else 64, of a reply 4)"));
  with_env(command.add_option("--seed", flags.seed, "Seed of the sampling (default: random)"));
  with_env(command
               .add_option("--request-option", flags.request_options,
                           "Any other option of the request, as key=value; repeatable")
               ->allow_extra_args(false));
}

std::vector<KeyValue> collect_speech_options(const SpeechFlags& flags) {
  const std::pair<const char*, const std::string*> fields[] = {{"language", &flags.language},
                                                               {"max_tokens", &flags.max_tokens},
                                                               {"temperature", &flags.temperature},
                                                               {"top_k", &flags.top_k},
                                                               {"seed", &flags.seed}};
  std::vector<KeyValue> pairs;
  for (const auto& [key, value] : fields) {
    if (!value->empty()) pairs.emplace_back(key, *value);
  }
  for (KeyValue& pair : split_key_values("--request-option", flags.request_options))
    pairs.push_back(std::move(pair));
  return pairs;
}

int make_speech_request(rill_task task, const std::vector<KeyValue>& options,
                        RequestHandle& request) {
  ErrorSlot error;
  rill_status status = rill_request_create(task, Out(request), error.out());
  if (status != RILL_OK) return report(status, error);
  for (const auto& [key, value] : options) {
    status = rill_request_set_option(request.get(), key.c_str(), value.c_str(), error.out());
    if (status != RILL_OK) {
      report(status, error);
      return kExitUsage;
    }
  }
  return kExitOk;
}

int pull_events(Runtime& runtime, rill_stream* stream,
                const std::function<int(const rill_event&)>& on_event, ResultHandle& result) {
  ErrorSlot error;
  const CancelOnSignal cancel(runtime.session.get());
  rill_event event = {};
  while (true) {
    const rill_status status = rill_stream_next_event(stream, &event, error.out());
    if (interrupt_exit_code() != 0) return interrupt_exit_code();
    if (status != RILL_OK) return report(status, error);
    if (event.is_last != 0) break;
    const int exit_code = on_event(event);
    if (exit_code != kExitOk) return exit_code;
  }
  const rill_status status = rill_stream_finish(stream, Out(result), error.out());
  return status == RILL_OK ? kExitOk : report(status, error);
}

}  // namespace rill::cli
