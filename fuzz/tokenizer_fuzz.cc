// SPDX-License-Identifier: Apache-2.0
// The first byte picks the mode: tokenizer.json from arbitrary bytes (an error or a working
// tokenizer), or arbitrary text through a small fixed vocabulary (ids in range, decoding gives the
// repaired text, streamed or not).
#include <cstdint>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

#include "base/utf8.h"
#include "format/metadata.h"
#include "text/incremental_decoder.h"
#include "text/tokenizer.h"

namespace {

using rill::format::Metadata;
using rill::format::MetadataValue;
using rill::text::OpenCharacter;
using rill::text::Tokenizer;

void require(bool condition) {
  if (!condition) std::abort();
}

/// The byte alphabet, a few merges and three added tokens.
Tokenizer make_small_tokenizer() {
  std::vector<std::string> tokens;
  char32_t shifted = 0x100;
  for (unsigned byte = 0; byte < 256; ++byte) {
    const bool plain =
        (byte >= 0x21 && byte <= 0x7E) || (byte >= 0xA1 && byte <= 0xAC) || byte >= 0xAE;
    std::string entry;
    rill::append_utf8(plain ? byte : shifted++, entry);
    tokens.push_back(entry);
  }
  const std::vector<std::string> merges = {"a a", "aa a", "a b", "1 2", "12 3", "ab aa"};
  for (const char* entry : {"aa", "aaa", "ab", "12", "123", "abaa"}) tokens.push_back(entry);
  std::vector<int64_t> types(tokens.size(), 1);
  for (const char* entry : {"<|a|>", "<|a|><", "ab<"}) {
    tokens.push_back(entry);
    types.push_back(3);
  }
  Metadata metadata("fuzz");
  metadata.add("tokenizer.ggml.model", {.type = 8, .value = std::string("gpt2")});
  metadata.add("tokenizer.ggml.pre", {.type = 8, .value = std::string("lfm2")});
  metadata.add("tokenizer.ggml.tokens", {.type = 9, .element_type = 8, .value = tokens});
  metadata.add("tokenizer.ggml.token_type", {.type = 9, .element_type = 5, .value = types});
  metadata.add("tokenizer.ggml.merges", {.type = 9, .element_type = 8, .value = merges});
  rill::Result<Tokenizer> tokenizer = Tokenizer::from_metadata(metadata);
  require(tokenizer.has_value());
  return *std::move(tokenizer);
}

void round_trip(const Tokenizer& tokenizer, std::string_view text, bool parse_special) {
  const auto ids = tokenizer.encode(text, {.parse_special = parse_special});
  require(ids.has_value());
  for (const int32_t id : *ids)
    require(id >= 0 && static_cast<size_t>(id) < tokenizer.vocab_size());
  require(tokenizer.decode(*ids, false) == rill::to_valid_utf8(text));
  rill::text::IncrementalDecoder decoder(tokenizer, true);
  std::string streamed;
  for (const int32_t id : *ids) streamed += decoder.push(id);
  streamed += decoder.finish(OpenCharacter::kReplace);
  require(streamed == tokenizer.decode(*ids, true));
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  static const Tokenizer small = make_small_tokenizer();
  if (size == 0) return 0;
  const std::string_view rest(reinterpret_cast<const char*>(data) + 1, size - 1);
  if (data[0] == 'j') {
    const rill::Result<Tokenizer> tokenizer = Tokenizer::from_json(rest, "", "fuzz");
    if (tokenizer) round_trip(*tokenizer, "ab <|a|> 123\xFF", true);
    return 0;
  }
  round_trip(small, rest, data[0] % 2 == 0);
  return 0;
}
