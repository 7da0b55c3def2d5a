// SPDX-License-Identifier: Apache-2.0
#include "text/grammar/json_values.h"

#include <algorithm>
#include <utility>

#include "base/str_cat.h"
#include "base/utf8.h"
#include "text/grammar/number_range.h"

namespace rill::text::grammar {
namespace {

constexpr size_t kMaxExcludedKey = 256;  // characters of a key that other keys must differ from

/// The four digits of \uXXXX, surrogates only in pairs.
ExprId unicode_escape(Grammar& grammar) {
  const auto hex = [&](std::string_view letters) {
    ByteSet set;
    for (const char c : letters) set.add(static_cast<uint8_t>(c));
    return grammar.bytes(set);
  };
  const ExprId any = hex("0123456789abcdefABCDEF");
  const ExprId d = hex("dD");
  const ExprId plain =
      grammar.choice({grammar.sequence({hex("0123456789abcefABCEF"), any, any, any}),
                      grammar.sequence({d, hex("01234567"), any, any})});
  const ExprId pair = grammar.sequence(
      {d, hex("89abAB"), any, any, grammar.literal("\\u"), d, hex("cdefCDEF"), any, any});
  return grammar.sequence({grammar.literal("\\u"), grammar.choice({plain, pair})});
}

}  // namespace

ExprId ValueGrammar::null() {
  if (dialect_ == Dialect::kJson) return grammar_.literal("null");
  return grammar_.choice({grammar_.literal("None"), grammar_.literal("null")});
}

ExprId ValueGrammar::boolean() {
  return grammar_.choice({value(Json::boolean(true)), value(Json::boolean(false))});
}

ExprId ValueGrammar::integer() { return integer_range(grammar_, {}, {}).value(); }

ExprId ValueGrammar::number() {
  const ExprId digit = grammar_.byte_range('0', '9');
  ByteSet exponent_set;
  exponent_set.add('e');
  exponent_set.add('E');
  ByteSet sign_set;
  sign_set.add('+');
  sign_set.add('-');
  const ExprId exponent =
      grammar_.sequence({grammar_.bytes(exponent_set), grammar_.optional(grammar_.bytes(sign_set)),
                         grammar_.repeat(digit, 1, 2)});
  const ExprId fraction =
      grammar_.sequence({grammar_.byte('.'), grammar_.repeat(digit, 1, kMaxFractionDigits)});
  const ExprId whole = grammar_.choice(
      {grammar_.byte('0'), grammar_.sequence({grammar_.byte_range('1', '9'),
                                              grammar_.repeat(digit, 0, kMaxWholeDigits - 1)})});
  return grammar_.sequence({grammar_.optional(grammar_.byte('-')), whole,
                            grammar_.optional(fraction), grammar_.optional(exponent)});
}

ExprId ValueGrammar::quoted(const std::function<ExprId(Quoting)>& inside) {
  const auto in_quotes = [&](char quote, Quoting quoting) {
    const ExprId mark = grammar_.byte(quote);
    return grammar_.sequence({mark, inside(quoting), mark});
  };
  if (dialect_ == Dialect::kJson) return in_quotes('"', Quoting::kJson);
  return grammar_.choice(
      {in_quotes('\'', Quoting::kPythonSingle), in_quotes('"', Quoting::kPythonDouble)});
}

ExprId ValueGrammar::string(std::string_view text) {
  return quoted([&](Quoting quoting) { return quoted_text(grammar_, text, quoting); });
}

/// A character in any of its spellings.
ExprId ValueGrammar::string_character(Quoting quoting) {
  std::optional<ExprId>& known = string_characters_[static_cast<size_t>(quoting)];
  if (known) return *known;
  const ExprId plain =
      character(grammar_, CodePointSet::all().without(escaped_characters(quoting)), Quoting::kNone);
  ByteSet letters;
  for (const char c : std::string_view(quoting == Quoting::kJson ? "\"\\/bfnrt" : "\"'\\nrt"))
    letters.add(static_cast<uint8_t>(c));
  const ExprId escape = grammar_.sequence({grammar_.byte('\\'), grammar_.bytes(letters)});
  known = quoting == Quoting::kJson ? grammar_.choice({plain, escape, unicode_escape(grammar_)})
                                    : grammar_.choice({plain, escape});
  return *known;
}

/// A character in its one spelling, so that equal keys are equal bytes.
ExprId ValueGrammar::key_character(Quoting quoting) {
  std::optional<ExprId>& known = key_characters_[static_cast<size_t>(quoting)];
  if (!known) known = character(grammar_, CodePointSet::all(), quoting);
  return *known;
}

ExprId ValueGrammar::any_string(uint32_t min, uint32_t max) {
  return quoted(
      [&](Quoting quoting) { return grammar_.repeat(string_character(quoting), min, max); });
}

ExprId ValueGrammar::value(const Json& json) {
  switch (json.type()) {
    case Json::Type::kNull:
      return null();
    case Json::Type::kBool: {
      const ExprId lower = grammar_.literal(json.as_bool() ? "true" : "false");
      if (dialect_ == Dialect::kJson) return lower;
      return grammar_.choice({grammar_.literal(json.as_bool() ? "True" : "False"), lower});
    }
    case Json::Type::kString:
      return string(json.as_string());
    case Json::Type::kArray: {
      std::vector<ExprId> parts{grammar_.byte('[')};
      for (const Json& item : json.items()) {
        if (parts.size() > 1) parts.push_back(comma());
        parts.push_back(value(item));
      }
      parts.push_back(grammar_.byte(']'));
      return grammar_.sequence(parts);
    }
    case Json::Type::kObject: {
      std::vector<MemberExpr> list;
      for (const auto& [key, item] : json.members())
        list.push_back({member(key, value(item)), true});
      return grammar_.sequence(
          {grammar_.byte('{'), members(list, grammar_.nothing()), grammar_.byte('}')});
    }
    default:
      return grammar_.literal(json.dump());
  }
}

ExprId ValueGrammar::comma_lists(ExprId item, uint32_t min, uint32_t max) {
  if (max == 0) return min == 0 ? grammar_.empty() : grammar_.nothing();
  const ExprId more = grammar_.repeat(grammar_.sequence({comma(), item}), min > 0 ? min - 1 : 0,
                                      max == kUnlimited ? max : max - 1);
  const ExprId some = grammar_.sequence({item, more});
  return min == 0 ? grammar_.optional(some) : some;
}

ExprId ValueGrammar::list_of(ExprId item, uint32_t min, uint32_t max) {
  return grammar_.sequence({grammar_.byte('['), comma_lists(item, min, max), grammar_.byte(']')});
}

ExprId ValueGrammar::any_key() {
  if (dialect_ == Dialect::kJson) grammar_.set_unique_keys();
  return quoted(
      [&](Quoting quoting) { return grammar_.repeat(key_character(quoting), 0, kUnlimited); });
}

ExprId ValueGrammar::object_of(ExprId value, uint32_t min, uint32_t max) {
  const ExprId item = grammar_.sequence({any_key(), grammar_.byte(':'), space(), value});
  return grammar_.sequence({grammar_.byte('{'), comma_lists(item, min, max), grammar_.byte('}')});
}

ExprId ValueGrammar::any_value(size_t levels) {
  if (free_values_.empty()) {
    free_values_.push_back(
        grammar_.choice({any_string(0, kUnlimited), number(), boolean(), null()}));
  }
  while (free_values_.size() <= levels) {
    const ExprId inner = free_values_.back();
    free_values_.push_back(grammar_.choice(
        {free_values_[0], object_of(inner, 0, kUnlimited), list_of(inner, 0, kUnlimited)}));
  }
  return free_values_[levels];
}

ExprId ValueGrammar::member(std::string_view key, ExprId value) {
  return grammar_.sequence({string(key), grammar_.byte(':'), space(), value});
}

namespace {

std::u32string code_points_of(std::string_view text) {
  std::u32string out;
  while (!text.empty()) {
    const Utf8Char c = decode_utf8(text);
    out += c.code_point;
    text.remove_prefix(c.bytes);
  }
  return out;
}

}  // namespace

Result<ExprId> ValueGrammar::other_member(std::vector<std::string> names, ExprId value) {
  std::vector<std::u32string> keys;
  for (const std::string& name : names) {
    keys.push_back(code_points_of(name));
    if (keys.back().size() > kMaxExcludedKey) {
      return Error{ErrorCode::kUnsupported, cat("a key of more than ", kMaxExcludedKey,
                                                " characters beside additional properties")};
    }
  }
  std::sort(keys.begin(), keys.end());
  if (dialect_ == Dialect::kJson) grammar_.set_unique_keys();
  const ExprId key = quoted([&](Quoting quoting) { return key_without(keys, 0, quoting); });
  return grammar_.sequence({key, grammar_.byte(':'), space(), value});
}

/// What may stand behind the first `depth` characters, which all of the names share.
ExprId ValueGrammar::key_without(std::span<const std::u32string> names, size_t depth,
                                 Quoting quoting) {
  const ExprId any = grammar_.repeat(key_character(quoting), 0, kUnlimited);
  std::vector<ExprId> options;
  std::vector<CodePointSet::Range> taken;
  const bool may_end = names.empty() || names[0].size() > depth;
  if (may_end) options.push_back(grammar_.empty());
  for (size_t i = may_end ? 0 : 1; i < names.size();) {
    const char32_t c = names[i][depth];
    size_t end = i;
    while (end < names.size() && names[end][depth] == c) ++end;
    taken.emplace_back(c, c);
    options.push_back(
        grammar_.sequence({character(grammar_, {{c, c}}, quoting),
                           key_without(names.subspan(i, end - i), depth + 1, quoting)}));
    i = end;
  }
  const CodePointSet others = CodePointSet(std::move(taken)).complement();
  options.push_back(grammar_.sequence({character(grammar_, others, quoting), any}));
  return grammar_.choice(options);
}

ExprId ValueGrammar::members(std::span<const MemberExpr> list, ExprId other) {
  // rest[i]: what may follow a member when those from i on have not come.
  ExprId rest = grammar_.repeat(grammar_.sequence({comma(), other}), 0, kUnlimited);
  std::vector<ExprId> starts{grammar_.sequence({other, rest})};  // by the first member that comes
  bool may_be_empty = true;
  for (size_t i = list.size(); i-- > 0;) {
    // A required member is the last that can come first.
    if (list[i].is_required) {
      starts.clear();
      may_be_empty = false;
    }
    starts.push_back(grammar_.sequence({list[i].expr, rest}));
    const ExprId next = grammar_.sequence({comma(), list[i].expr});
    rest = grammar_.sequence({list[i].is_required ? next : grammar_.optional(next), rest});
  }
  const ExprId some = grammar_.choice(starts);
  return may_be_empty ? grammar_.optional(some) : some;
}

}  // namespace rill::text::grammar
