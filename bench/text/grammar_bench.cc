// SPDX-License-Identifier: Apache-2.0
// What a grammar costs for each token of a reply, with vocabularies as large as the models'. The
// vocabularies are made up, the same on every run; before anything is timed, masks are compared
// with a try of every token.
#include <benchmark/benchmark.h>
#include <time.h>

#include <algorithm>
#include <cstdlib>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "text/grammar/json_schema.h"
#include "text/grammar/token_matcher.h"

namespace {

using rill::text::grammar::Automaton;
using rill::text::grammar::Grammar;
using rill::text::grammar::TokenMatcher;
using rill::text::grammar::TokenTrie;

/// Processor time of this thread in microseconds: what else runs on the machine does not count.
double now_us() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<double>(now.tv_sec) * 1e6 + static_cast<double>(now.tv_nsec) * 1e-3;
}

constexpr char kSchema[] = R"({"type": "object", "properties": {
  "name": {"type": "string", "maxLength": 60}, "summary": {"type": "string"},
  "born": {"type": "string", "format": "date"}, "height": {"type": "number", "minimum": 0.3, "maximum": 2.7},
  "tags": {"type": "array", "items": {"enum": ["red", "green", "blue"]}, "maxItems": 8},
  "address": {"type": "object", "properties": {"street": {"type": "string"}, "zip": {"type": "string", "pattern": "^\\d{5}$"},
    "city": {"type": "string"}}, "required": ["street", "city"]}, "notes": {"type": "array", "items": {"type": "string"}}},
  "required": ["name", "summary", "address"]})";

constexpr char kText[] =
    R"({"name": "Ada Lovelace", "summary": "She wrote the first program for a machine that was never built, \"and more\".", )"
    R"("born": "1815-12-10", "height": 1.65, "tags": ["red", "blue"], "address": {"street": "12 St James's Square", )"
    R"("zip": "12345", "city": "London"}, "notes": ["one", "a longer note, with \u00e9 and more of the usual words", "three"]})";

/// Bytes, pieces of JSON, and words of letters in the frequencies of English, many with a space.
std::vector<std::string> made_up_tokens(size_t count) {
  std::set<std::string> tokens;
  for (int byte = 0; byte < 256; ++byte) tokens.insert(std::string(1, static_cast<char>(byte)));
  for (const char* piece :
       {"{\"",   "\":", "\": ", "\": \"", "\",",  "\", \"", "\"}", "\"]", "[\"", "\"},",
        "}, \"", "],",  "the",  " the",   " and", "name",   "St",  "12",  "181", " a"})
    tokens.insert(piece);
  uint64_t state = 12345;
  const auto random = [&](size_t below) {
    state = state * 6364136223846793005u + 1442695040888963407u;
    return static_cast<size_t>(state >> 33) % below;
  };
  const std::string letters = "etaoinshrdlucmfwypvbgkjqxzeeettaaooiinnsshhrr";
  const char* const others[] = {"\xd0\xb0",     "\xd0\xbe", "\xd0\xb5",    "\xe4\xb8\xad",
                                "\xe6\x96\x87", "\xc3\xa9", "\xe3\x81\xae"};
  while (tokens.size() < count) {
    std::string token = random(2) == 0 ? " " : "";
    const size_t kind = random(20);
    const size_t length = 2 + random(8);
    for (size_t i = 0; i < length; ++i) {
      if (kind == 0) {
        token += static_cast<char>('0' + random(10));
      } else if (kind < 4) {
        token += others[random(7)];
      } else if (kind == 4) {
        token += ".,;:()[]{}<>=+-*/\"'\\_\n"[random(22)];
      } else {
        token += letters[random(letters.size())];
      }
    }
    tokens.insert(token);
  }
  return {tokens.begin(), tokens.end()};
}

struct Case {
  std::shared_ptr<const TokenTrie> trie;
  std::shared_ptr<const Grammar> grammar;
  std::vector<int32_t> reply;  // kText in the longest tokens
};

void require(bool condition) {
  if (!condition) std::abort();
}

Case make_case(size_t vocabulary) {
  const std::vector<std::string> tokens = made_up_tokens(vocabulary);
  Case out;
  out.trie = TokenTrie::of_texts(tokens);
  auto grammar = rill::text::grammar::json_schema_grammar(kSchema);
  require(grammar.has_value());
  out.grammar = std::make_shared<const Grammar>(std::move(grammar).value());
  for (std::string text = kText; !text.empty();) {
    size_t length = std::min<size_t>(text.size(), 24);
    auto at = tokens.end();
    for (;; --length) {
      at = std::lower_bound(tokens.begin(), tokens.end(), text.substr(0, length));
      if (at != tokens.end() && *at == text.substr(0, length)) break;
    }
    out.reply.push_back(static_cast<int32_t>(at - tokens.begin()));
    text.erase(0, length);
  }
  return out;
}

TokenMatcher make_matcher(const Case& c) {
  auto matcher = TokenMatcher::create(c.grammar, c.trie, {0});
  require(matcher.has_value());
  return std::move(matcher).value();
}

/// Tries every token at some places of the reply.
void verify(const Case& c) {
  TokenMatcher matcher = make_matcher(c);
  Automaton automaton(c.grammar, c.trie->max_token_bytes());
  std::vector<uint64_t> words((c.trie->vocab_size() + 63) / 64);
  rill::text::grammar::StateId state = automaton.start();
  for (size_t i = 0; i < c.reply.size(); ++i) {
    if (i % 8 == 0) {
      require(matcher.allowed(words).has_value());
      for (size_t token = 1; token < c.trie->vocab_size(); ++token) {
        automaton.begin_work();
        auto to = state;
        for (const char byte : c.trie->token_bytes(static_cast<int32_t>(token)))
          to = to > 0 ? automaton.next(to, static_cast<uint8_t>(byte)) : to;
        require(((words[token / 64] >> (token % 64) & 1) != 0) == (to > 0));
      }
    }
    for (const char byte : c.trie->token_bytes(c.reply[i]))
      state = automaton.next(state, static_cast<uint8_t>(byte));
    require(matcher.accept(c.reply[i]).has_value());
  }
  require(matcher.may_end());
}

void run_reply(benchmark::State& state) {
  const Case c = make_case(static_cast<size_t>(state.range(0)));
  verify(c);
  std::vector<uint64_t> words((c.trie->vocab_size() + 63) / 64);
  double worst = 0;
  double total = 0;
  size_t replies = 0;
  for (auto _ : state) {
    TokenMatcher matcher = make_matcher(c);
    double worst_here = 0;
    for (const int32_t token : c.reply) {
      const double begin = now_us();
      require(matcher.allowed(words).has_value());
      require(matcher.accept(token).has_value());
      const double us = now_us() - begin;
      worst_here = std::max(worst_here, us);
      total += us;
    }
    worst =
        replies == 0 ? worst_here : std::min(worst, worst_here);  // what is not the machine's noise
    ++replies;
  }
  state.counters["tokens"] = static_cast<double>(c.reply.size());
  state.counters["mean_us"] = total / static_cast<double>(replies * c.reply.size());
  state.counters["worst_us"] = worst;
}
BENCHMARK(run_reply)->Arg(65536)->Arg(131072)->Unit(benchmark::kMillisecond);

void build_trie(benchmark::State& state) {
  const std::vector<std::string> tokens = made_up_tokens(static_cast<size_t>(state.range(0)));
  for (auto _ : state) benchmark::DoNotOptimize(TokenTrie::of_texts(tokens));
}
BENCHMARK(build_trie)->Arg(65536)->Arg(131072)->Unit(benchmark::kMillisecond);

void compile_schema(benchmark::State& state) {
  for (auto _ : state) benchmark::DoNotOptimize(rill::text::grammar::json_schema_grammar(kSchema));
}
BENCHMARK(compile_schema)->Unit(benchmark::kMicrosecond);

}  // namespace

BENCHMARK_MAIN();
