// SPDX-License-Identifier: Apache-2.0
// Arbitrary schemas, expressions, grammars and tool lists: an error or a grammar; with a grammar
// every token that is allowed is taken, and a JSON reply that may end parses. The first byte
// chooses the front end, the second the tokens that are picked.
#include <cstdint>
#include <cstdlib>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

#include "base/json.h"
#include "text/grammar/gbnf.h"
#include "text/grammar/json_schema.h"
#include "text/grammar/regex.h"
#include "text/grammar/token_matcher.h"
#include "text/grammar/tool_calls.h"

namespace {

using namespace rill::text::grammar;

void require(bool condition) {
  if (!condition) std::abort();
}

rill::Result<Grammar> grammar_of(unsigned kind, std::string_view text) {
  if (kind == 0) return json_schema_grammar(text);
  if (kind == 1) return regex_grammar(text);
  if (kind == 2) return gbnf_grammar(text);
  ToolCallGrammarOptions options;
  options.starts_inside = true;
  return tool_call_grammar(text, options);
}

const std::shared_ptr<const TokenTrie>& trie() {
  static const auto kTrie = [] {
    std::vector<std::string> tokens{""};  // the stop id
    for (int byte = 0; byte < 256; ++byte)
      tokens.push_back(std::string(1, static_cast<char>(byte)));
    for (const char* more :
         {"{\"", "\": ", "\",", "ab", "aaa", "[]", "1.5", "\xd0\xb0", "\"}", "null"})
      tokens.push_back(more);
    return TokenTrie::of_texts(tokens);
  }();
  return kTrie;
}

/// The bit of an allowed token, from a random place on.
int32_t pick(const std::vector<uint64_t>& words, uint64_t random) {
  const size_t count = trie()->vocab_size();
  for (size_t i = 0; i < count; ++i) {
    const size_t token = (random + i) % count;
    if ((words[token / 64] >> (token % 64) & 1) != 0) return static_cast<int32_t>(token);
  }
  return -1;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2 || size > 4096) return 0;
  const unsigned kind = data[0] % 4;
  uint64_t state = data[1];
  auto grammar = grammar_of(kind, {reinterpret_cast<const char*>(data) + 2, size - 2});
  if (!grammar) return 0;
  // The calls' end marker is no text: the vocabulary here has none.
  if (!grammar->markers().empty()) return 0;
  auto matcher =
      TokenMatcher::create(std::make_shared<const Grammar>(*std::move(grammar)), trie(), {0});
  if (!matcher) return 0;
  std::vector<uint64_t> words((trie()->vocab_size() + 63) / 64);
  std::string text;
  for (size_t i = 0; i < 40; ++i) {
    if (!matcher->allowed(words)) return 0;  // too ambiguous
    if (kind == 0 && matcher->may_end()) {
      rill::JsonLimits limits;
      limits.max_depth = 4096;
      require(rill::parse_json(text, limits).has_value());
    }
    state = state * 6364136223846793005u + 1442695040888963407u;
    const int32_t token = pick(words, state >> 33);
    if (token <= 0) return 0;
    const auto accepted = matcher->accept(token);
    require(accepted.has_value() || accepted.error().code == rill::ErrorCode::kUnsupported);
    if (!accepted) return 0;
    text += trie()->token_bytes(token);
  }
  return 0;
}
