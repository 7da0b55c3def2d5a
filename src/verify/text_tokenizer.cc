// SPDX-License-Identifier: Apache-2.0
// Subject tokenizer of a text set.
#include <algorithm>

#include "base/str_cat.h"
#include "text/tokenizer.h"
#include "verify/set_files.h"
#include "verify/text_data.h"

namespace rill::verify {
namespace {

std::string from_hex(std::string_view hex) {
  auto digit = [](char c) { return static_cast<int>(c <= '9' ? c - '0' : (c | 0x20) - 'a' + 10); };
  std::string out;
  for (size_t i = 0; i + 1 < hex.size(); i += 2)
    out += static_cast<char>(digit(hex[i]) * 16 + digit(hex[i + 1]));
  return out;
}

/// Counts failing cases and remembers the first.
struct Tally {
  size_t cases = 0;
  size_t mismatches = 0;
  std::string first;

  void count(bool equal, std::string_view text) {
    ++cases;
    if (equal) return;
    if (mismatches++ == 0) first = cat("first: '", printable(text, 40), "'");
  }
  void report_to(Report& report, const std::string& stage) const {
    report.mismatches(stage, mismatches, mismatches > 0 ? first : cat(cases, " cases"));
  }
};

const Json::Array& list_or_empty(const Json& object, std::string_view key) {
  static const Json::Array kEmpty;
  const Json* list = object.find(key);
  return list != nullptr && list->is_array() ? list->items() : kEmpty;
}

/// ids_key: which expected ids hold; "ids" where a case has no own.
Status compare_encodings(const text::Tokenizer& tokenizer, const Json& cases,
                         std::string_view ids_key, const std::string& stage, Report& report) {
  Tally tally;
  for (const Json& entry : list_or_empty(cases, "cases")) {
    RILL_ASSIGN_OR_RETURN(const std::string text,
                          json_string(entry, "text", "tokenizer/cases.json"));
    const std::string_view key = entry.find(ids_key) != nullptr ? ids_key : "ids";
    RILL_ASSIGN_OR_RETURN(const auto want, json_ids(entry, key, "tokenizer/cases.json"));
    text::EncodeOptions options;
    const Json* parse_special = entry.find("parse_special");
    options.parse_special =
        parse_special == nullptr || !parse_special->is_bool() || parse_special->as_bool();
    RILL_ASSIGN_OR_RETURN(const auto got, tokenizer.encode(text, options));
    tally.count(got == want, text);
  }
  tally.report_to(report, stage + ".encode");
  return {};
}

void compare_pieces(const Json& cases, Report& report) {
  Tally tally;
  for (const Json& entry : list_or_empty(cases, "cases")) {
    const Json* text = entry.find("text");
    const Json* pieces = entry.find("pieces");
    if (text == nullptr || !text->is_string() || pieces == nullptr || !pieces->is_array()) continue;
    const auto got = text::Tokenizer::split(text->as_string());
    const bool equal = std::equal(
        got.begin(), got.end(), pieces->items().begin(), pieces->items().end(),
        [](std::string_view a, const Json& b) { return b.is_string() && a == b.as_string(); });
    tally.count(equal, text->as_string());
  }
  if (tally.cases > 0) tally.report_to(report, "pieces");
}

Status compare_invalid_utf8(const text::Tokenizer& tokenizer, const Json& cases,
                            const std::string& stage, Report& report) {
  Tally tally;
  for (const Json& entry : list_or_empty(cases, "invalid_utf8")) {
    RILL_ASSIGN_OR_RETURN(const std::string hex,
                          json_string(entry, "bytes_hex", "tokenizer/cases.json"));
    RILL_ASSIGN_OR_RETURN(const auto want, json_ids(entry, "ids", "tokenizer/cases.json"));
    RILL_ASSIGN_OR_RETURN(const auto got, tokenizer.encode(from_hex(hex)));
    tally.count(got == want, hex);
  }
  tally.report_to(report, stage + ".invalid_utf8");
  return {};
}

Status compare_decodings(const text::Tokenizer& tokenizer, const Json& cases,
                         const std::string& stage, Report& report) {
  Tally tally;
  for (const Json& entry : list_or_empty(cases, "decode")) {
    RILL_ASSIGN_OR_RETURN(const auto ids, json_ids(entry, "ids", "tokenizer/cases.json"));
    RILL_ASSIGN_OR_RETURN(const std::string want,
                          json_string(entry, "text", "tokenizer/cases.json"));
    RILL_ASSIGN_OR_RETURN(const std::string skipped,
                          json_string(entry, "text_skip_special", "tokenizer/cases.json"));
    tally.count(tokenizer.decode(ids, false) == want && tokenizer.decode(ids, true) == skipped,
                want);
  }
  tally.report_to(report, stage + ".decode");
  return {};
}

Status verify_file(Run& run, const std::string& file, const std::string& config, const Json& cases,
                   Report& report) {
  RILL_ASSIGN_OR_RETURN(const std::string json, read_text(run.set_dir + "/tokenizer/" + file));
  RILL_ASSIGN_OR_RETURN(const auto tokenizer, text::Tokenizer::from_json(json, config, file));
  RILL_RETURN_IF_ERROR(compare_encodings(tokenizer, cases, "ids", file, report));
  RILL_RETURN_IF_ERROR(compare_invalid_utf8(tokenizer, cases, file, report));
  RILL_RETURN_IF_ERROR(compare_decodings(tokenizer, cases, file, report));
  // The same file with the flag off.
  RILL_ASSIGN_OR_RETURN(Json changed, parse_json(json));
  for (auto& [key, model] : changed.members()) {
    if (key != "model" || !model.is_object()) continue;
    for (auto& [name, value] : model.members()) {
      if (name == "ignore_merges") value = Json::boolean(false);
    }
  }
  RILL_ASSIGN_OR_RETURN(const auto without,
                        text::Tokenizer::from_json(changed.dump(), config, file));
  return compare_encodings(without, cases, "ids_if_ignore_merges_false",
                           file + ".ignore_merges_false", report);
}

Status verify_all_files(Run& run, Report& report) {
  RILL_ASSIGN_OR_RETURN(const Json cases, read_json(run.set_dir + "/tokenizer/cases.json"));
  std::string config;
  if (is_file(run.set_dir + "/tokenizer/tokenizer_config.json")) {
    RILL_ASSIGN_OR_RETURN(config, read_text(run.set_dir + "/tokenizer/tokenizer_config.json"));
  }
  compare_pieces(cases, report);
  RILL_ASSIGN_OR_RETURN(const auto files, list_directory(run.set_dir + "/tokenizer"));
  for (const std::string& file : files) {
    const bool is_tokenizer =
        file.starts_with("tokenizer") && file.ends_with(".json") && file != "tokenizer_config.json";
    if (is_tokenizer) RILL_RETURN_IF_ERROR(verify_file(run, file, config, cases, report));
  }
  return {};
}

}  // namespace

void verify_tokenizer(Run& run, const std::string&, Report& report) {
  Status status = verify_all_files(run, report);
  if (!status) report.failed("", std::move(status).error().message);
}

}  // namespace rill::verify
