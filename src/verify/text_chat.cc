// SPDX-License-Identifier: Apache-2.0
// Subject chat_cases of a text set: message lists through the built-in template of each behaviour.
#include <cstdio>

#include "base/str_cat.h"
#include "text/chat_template.h"
#include "verify/set_files.h"
#include "verify/text_data.h"

namespace rill::verify {
namespace {

/// "2026-05-28T09:30:00".
Result<text::jinja::DateTime> parse_clock(const std::string& text) {
  text::jinja::DateTime time;
  char rest = 0;
  const int fields = std::sscanf(text.c_str(), "%4d-%2d-%2dT%2d:%2d:%2d%c", &time.year, &time.month,
                                 &time.day, &time.hour, &time.minute, &time.second, &rest);
  if (fields == 6) return time;
  return Error{ErrorCode::kInvalidFormat,
               cat("read set: chat_cases.json: now: got '", printable(text), "'")};
}

bool flag(const Json& entry, std::string_view key) {
  const Json* value = entry.find(key);
  return value != nullptr && value->is_bool() && value->as_bool();
}

/// Prompts of one template over all cases.
struct Tally {
  size_t cases = 0;
  size_t mismatches = 0;
  std::string first;
};

Status compare_template(const Json& cases, const std::string& name,
                        const text::RenderOptions& common, Tally& tally) {
  RILL_ASSIGN_OR_RETURN(const auto chat_template, text::ChatTemplate::builtin(name));
  for (const Json& entry : cases.items()) {
    const Json* expected = entry.find("expected");
    const Json* want = expected != nullptr ? expected->find(name) : nullptr;
    const Json* messages = entry.find("messages");
    if (want == nullptr || messages == nullptr) continue;
    text::RenderOptions options = common;
    options.add_generation_prompt = flag(entry, "add_generation_prompt");
    options.continue_final_message = flag(entry, "continue_final_message");
    const Json* kwargs = entry.find("template_kwargs");
    if (kwargs != nullptr && kwargs->is_object()) options.kwargs = kwargs->members();
    const Json* tools = entry.find("tools");
    const auto prompt =
        chat_template.render(*messages, tools != nullptr ? *tools : Json(), options);
    // null: the reference raises.
    const bool equal = want->is_string() ? prompt.has_value() && *prompt == want->as_string()
                                         : !prompt.has_value();
    ++tally.cases;
    if (equal) continue;
    const Json* case_name = entry.find("name");
    if (tally.mismatches++ == 0 && case_name != nullptr && case_name->is_string()) {
      tally.first = cat("first: ", case_name->as_string());
    }
  }
  return {};
}

Status compare_all(Run& run, Report& report) {
  RILL_ASSIGN_OR_RETURN(const Json file, read_json(run.set_dir + "/chat_cases.json"));
  RILL_ASSIGN_OR_RETURN(const std::string clock, json_string(file, "now", "chat_cases.json"));
  text::RenderOptions common;
  RILL_ASSIGN_OR_RETURN(common.now, parse_clock(clock));
  const Json* bos = file.find("bos_token");
  if (bos != nullptr && bos->is_string()) common.bos_token = bos->as_string();
  const Json* templates = file.find("templates");
  const Json* cases = file.find("cases");
  if (templates == nullptr || cases == nullptr || !cases->is_array()) {
    return Error{ErrorCode::kInvalidFormat, "read set: chat_cases.json: no templates or no cases"};
  }
  std::vector<std::string> names;
  if (templates->is_array()) {
    for (const Json& name : templates->items()) {
      if (name.is_string()) names.push_back(name.as_string());
    }
  } else if (templates->is_object()) {
    for (const auto& [name, value] : templates->members()) names.push_back(name);
  }
  for (const std::string& name : names) {
    Tally tally;
    Status compared = compare_template(*cases, name, common, tally);
    if (!compared) {
      report.failed(name, std::move(compared).error().message);
    } else {
      report.mismatches(name, tally.mismatches,
                        tally.mismatches > 0 ? tally.first : cat(tally.cases, " cases"));
    }
  }
  return {};
}

}  // namespace

void verify_chat_cases(Run& run, const std::string&, Report& report) {
  Status status = compare_all(run, report);
  if (!status) report.failed("", std::move(status).error().message);
}

}  // namespace rill::verify
