// SPDX-License-Identifier: Apache-2.0
// What surrounds the merge model in tokenizer.json: it must be exactly the pipeline that Tokenizer
// implements.
#include "base/str_cat.h"
#include "text/pre_tokenizer.h"
#include "text/tokenizer_json_fields.h"

namespace rill::text::json_fields {
namespace {

Status check_split(const std::string& field, const Json& step) {
  RILL_RETURN_IF_ERROR(expect_known_keys(field, step, {"type", "pattern", "behavior", "invert"}));
  const Json* pattern = step.find("pattern");
  const Json* regex = pattern == nullptr ? nullptr : pattern->find("Regex");
  if (regex == nullptr || !regex->is_string() || !is_known_split_regex(regex->as_string())) {
    return unsupported(cat(field, ".pattern"), shown(pattern),
                       "the two expressions of the LFM2 family");
  }
  const Json* behavior = step.find("behavior");
  if (behavior == nullptr || !behavior->is_string() || behavior->as_string() != "Isolated") {
    return unsupported(cat(field, ".behavior"), shown(behavior), "\"Isolated\"");
  }
  return expect_off(cat(field, ".invert"), step.find("invert"));
}

Status check_byte_level(const std::string& field, const Json& step) {
  RILL_RETURN_IF_ERROR(
      expect_known_keys(field, step, {"type", "add_prefix_space", "trim_offsets", "use_regex"}));
  RILL_RETURN_IF_ERROR(expect_off(cat(field, ".add_prefix_space"), step.find("add_prefix_space")));
  const Json* use_regex = step.find("use_regex");
  if (use_regex != nullptr && use_regex->is_bool() && !use_regex->as_bool()) return {};
  return unsupported(cat(field, ".use_regex"), shown(use_regex), "false");
}

/// The pre-tokenizer must be the known split, then the byte alphabet.
Status check_pre_tokenizer(const Json& root) {
  const std::string field = "pre_tokenizer";
  const Json* pre = root.find(field);
  const Json* steps = type_of(pre) == "Sequence" ? pre->find("pretokenizers") : nullptr;
  const bool known = steps != nullptr && steps->is_array() && steps->items().size() == 2 &&
                     type_of(&steps->items()[0]) == "Split" &&
                     type_of(&steps->items()[1]) == "ByteLevel";
  if (!known) return unsupported(field, shown(pre), "a Sequence of Split and ByteLevel");
  RILL_RETURN_IF_ERROR(check_split(cat(field, ".pretokenizers[0]"), steps->items()[0]));
  return check_byte_level(cat(field, ".pretokenizers[1]"), steps->items()[1]);
}

/// The token in front of the text in a TemplateProcessing step; empty if there is none.
Result<std::string> template_prefix(const Json& step) {
  const std::string field = "post_processor.single";
  const Json* single = step.find("single");
  if (single == nullptr || !single->is_array()) return wrong(field, shown(single), "an array");
  const Json::Array& parts = single->items();
  if (parts.empty() || parts.size() > 2 || parts.back().find("Sequence") == nullptr) {
    return unsupported(field, shown(single), "at most one token, then the text");
  }
  if (parts.size() == 1) return std::string();
  const Json* special = parts[0].find("SpecialToken");
  const Json* id = special == nullptr ? nullptr : special->find("id");
  if (id == nullptr || !id->is_string()) return wrong(field, shown(&parts[0]), "a SpecialToken");
  return id->as_string();
}

Result<std::string> step_prefix(const Json* step) {
  if (type_of(step) == "ByteLevel") return std::string();
  if (type_of(step) == "TemplateProcessing") return template_prefix(*step);
  return unsupported("post_processor", shown(step), "TemplateProcessing and ByteLevel");
}

}  // namespace

Status check_pipeline(const Json& root) {
  RILL_RETURN_IF_ERROR(
      expect_known_keys("top level", root,
                        {"version", "truncation", "padding", "added_tokens", "normalizer",
                         "pre_tokenizer", "post_processor", "decoder", "model"}));
  // "truncation" and "padding" describe batches, not the text: the reference sets both anew for
  // every call.
  RILL_RETURN_IF_ERROR(expect_off("normalizer", root.find("normalizer")));
  RILL_RETURN_IF_ERROR(check_pre_tokenizer(root));
  const Json* decoder = root.find("decoder");
  if (type_of(decoder) != "ByteLevel") return unsupported("decoder", shown(decoder), "ByteLevel");
  return {};
}

Result<std::string> read_prefix_token(const Json* processor) {
  if (processor == nullptr || processor->is_null()) return std::string();
  if (type_of(processor) != "Sequence") return step_prefix(processor);
  const Json* steps = processor->find("processors");
  if (steps == nullptr || !steps->is_array()) {
    return wrong("post_processor.processors", shown(steps), "an array");
  }
  std::string prefix;
  for (const Json& step : steps->items()) {
    RILL_ASSIGN_OR_RETURN(const std::string token, step_prefix(&step));
    if (!token.empty() && !prefix.empty())
      return unsupported("post_processor", "two templates", "one");
    if (!token.empty()) prefix = token;
  }
  return prefix;
}

}  // namespace rill::text::json_fields
