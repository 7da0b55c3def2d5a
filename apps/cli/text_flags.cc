// SPDX-License-Identifier: Apache-2.0
#include "text_flags.h"

#include <CLI/CLI.hpp>
#include <fstream>
#include <iostream>
#include <iterator>
#include <utility>

#include "exit_codes.h"

namespace rill::cli {

void add_text_flags(CLI::App& command, TextFlags& flags) {
  const auto add = [&command](const char* name, std::string& value, const char* help) {
    with_env(command.add_option(name, value, help));
  };
  add("-n,--max-tokens", flags.max_tokens, "Most tokens of the reply (default: what fits)");
  add("--temp,--temperature", flags.temperature, "Temperature; 0: greedy (default: the model's)");
  add("--top-k", flags.top_k, "Sample from the K most likely; 0: from all (default: the model's)");
  add("--top-p", flags.top_p, "Sample from the most likely that make up P (default: the model's)");
  add("--min-p", flags.min_p, "Leave out what is P times less likely than the best");
  add("--repeat-penalty", flags.repeat_penalty, "Penalty on tokens that came before; 1: none");
  add("--presence-penalty", flags.presence_penalty, "Subtracted from tokens of the reply");
  add("--frequency-penalty", flags.frequency_penalty, "Subtracted for each time that one came");
  add("--seed", flags.seed, "Seed of the sampling (default: random)");
  add("--logit-bias", flags.logit_bias, "JSON object from token ids to what is added to them");
  with_env(command
               .add_option("--stop", flags.stop,
                           "Text that ends the reply and is no part of it; repeatable")
               ->allow_extra_args(false));
  add("--schema", flags.schema_file, "File with the JSON schema that the reply follows");
  add("--regex", flags.regex, "Regular expression that the reply follows");
  add("--grammar", flags.grammar_file, "File with the GBNF grammar that the reply follows");
  add("--prompt-lookup", flags.prompt_lookup,
      "Tokens to guess ahead from the text so far; 0 (the default): none. Changes no reply");
  with_env(command
               .add_option("--request-option", flags.request_options,
                           "Any other option of the request, as key=value; repeatable")
               ->allow_extra_args(false));
  add("-c,--ctx-size", flags.context_length,
      "Most tokens of prompt and reply (default: the model's)");
  add("--kv-type", flags.kv_type, "Keys and values as f16 (the default) or f32");
  add("--cache-dir", flags.cache_dir, "Folder that keeps the states of prompts between runs");
  add_model_options(command, flags.model);
  add_engine_options(command, flags.engine);
}

int read_input(const std::string& path, std::string& text) {
  if (path == "-") {
    text.assign(std::istreambuf_iterator<char>(std::cin), {});
    return kExitOk;
  }
  std::ifstream file(path, std::ios::binary);
  if (!file) return report(kExitUnreadable, path + ": cannot be opened");
  text.assign(std::istreambuf_iterator<char>(file), {});
  return file.bad() ? report(kExitUnreadable, path + ": cannot be read") : kExitOk;
}

int collect_text_options(const TextFlags& flags, std::vector<KeyValue>& options) {
  const std::pair<const char*, const std::string*> fields[] = {
      {"max_tokens", &flags.max_tokens},
      {"temperature", &flags.temperature},
      {"top_k", &flags.top_k},
      {"top_p", &flags.top_p},
      {"min_p", &flags.min_p},
      {"repetition_penalty", &flags.repeat_penalty},
      {"presence_penalty", &flags.presence_penalty},
      {"frequency_penalty", &flags.frequency_penalty},
      {"seed", &flags.seed},
      {"logit_bias", &flags.logit_bias},
      {"regex", &flags.regex},
      {"prompt_lookup", &flags.prompt_lookup}};
  for (const auto& [key, value] : fields) {
    if (!value->empty()) options.emplace_back(key, *value);
  }
  // As in llama.cpp: no limit.
  std::erase_if(options, [](const KeyValue& pair) {
    return pair.first == "max_tokens" && pair.second == "-1";
  });
  for (const std::string& stop : flags.stop) options.emplace_back("stop", stop);
  for (const auto& [key, path] :
       {std::pair("json_schema", &flags.schema_file), std::pair("grammar", &flags.grammar_file)}) {
    if (path->empty()) continue;
    std::string text;
    const int exit_code = read_input(*path, text);
    if (exit_code != kExitOk) return exit_code;
    options.emplace_back(key, std::move(text));
  }
  for (KeyValue& pair : split_key_values("--request-option", flags.request_options))
    options.push_back(std::move(pair));
  return kExitOk;
}

int set_options(rill_request* request, const std::vector<KeyValue>& options) {
  ErrorSlot error;
  for (const auto& [key, value] : options) {
    const rill_status status =
        rill_request_set_option(request, key.c_str(), value.c_str(), error.out());
    if (status != RILL_OK) {
      report(status, error);
      return kExitUsage;
    }
  }
  return kExitOk;
}

int open_text_runtime(TextFlags& flags, const std::string& command, Runtime& runtime) {
  if (flags.model.model.empty() && flags.model.hf_repo.empty()) {
    return report(
        kExitUsage,
        command +
            ": --model is missing: the embedded demo model hears and speaks, but does not "
            "chat; 'rill models list' names text models, 'rill models install NAME' "
            "fetches one");
  }
  const std::pair<const char*, const std::string*> fields[] = {
      {"text.context_length", &flags.context_length},
      {"text.kv_type", &flags.kv_type},
      {"text.chat_template", &flags.chat_template},
      {"text.cache_dir", &flags.cache_dir}};
  for (const auto& [key, value] : fields) {
    if (!value->empty()) flags.model.session_options.push_back(std::string(key) + "=" + *value);
  }
  flags.model.for_text = true;
  const int exit_code = open_engine(flags.engine, runtime);
  return exit_code == kExitOk ? open_model(flags.model, runtime) : exit_code;
}

}  // namespace rill::cli
