// SPDX-License-Identifier: Apache-2.0
// Tokenizer against the reference cases (tests/data/text/tokenizer) and the probes that users met.
#include "text/tokenizer.h"

#include "base/utf8.h"
#include "unit/text/text_test_data.h"

namespace rill::text {
namespace {

using test::audio_tokenizer;
using test::from_hex;
using test::ids_of;
using test::make_tokenizer;
using test::read_data;
using test::read_data_json;
using test::text_tokenizer;
using test::with_change;

using Ids = std::vector<int32_t>;

bool parse_special_of(const Json& item) {
  const Json* flag = item.find("parse_special");
  return flag == nullptr || flag->as_bool();
}

void expect_cases(const Tokenizer& tokenizer, const char* alternative_key) {
  const Json cases = read_data_json("tokenizer/cases.json");
  ASSERT_EQ(cases.find("cases")->items().size(), 407u);
  for (const Json& item : cases.find("cases")->items()) {
    const std::string& text = item.find("text")->as_string();
    const Json* expected = item.find(alternative_key);
    if (expected == nullptr) expected = item.find("ids");
    const Result<Ids> ids = tokenizer.encode(text, {.parse_special = parse_special_of(item)});
    ASSERT_TRUE(ids);
    EXPECT_EQ(*ids, ids_of(*expected)) << item.find("category")->as_string() << ": " << text;
    EXPECT_EQ(tokenizer.decode(*ids, false), text);
  }
}

TEST(Tokenizer, EncodesEveryReferenceCase) { expect_cases(text_tokenizer(), "ids"); }

TEST(Tokenizer, ReadsMergesWrittenAsStrings) {
  expect_cases(make_tokenizer(read_data("tokenizer/tokenizer-string-merges.json")), "ids");
}

TEST(Tokenizer, HonoursIgnoreMergesFalse) {
  expect_cases(make_tokenizer(with_change(read_data("tokenizer/tokenizer.json"),
                                          "\"ignore_merges\": true", "\"ignore_merges\": false")),
               "ids_if_ignore_merges_false");
}

TEST(Tokenizer, SplitsIntoReferencePieces) {
  const Json cases = read_data_json("tokenizer/cases.json");
  size_t checked = 0;
  for (const Json& item : cases.find("cases")->items()) {
    const Json* expected = item.find("pieces");
    if (expected == nullptr) continue;
    const std::string& text = item.find("text")->as_string();
    const std::vector<std::string_view> pieces = Tokenizer::split(text);
    ASSERT_EQ(pieces.size(), expected->items().size()) << text;
    for (size_t i = 0; i < pieces.size(); ++i)
      EXPECT_EQ(pieces[i], expected->items()[i].as_string()) << text;
    ++checked;
  }
  EXPECT_GT(checked, 300u);
}

TEST(Tokenizer, ReplacesIllFormedUtf8) {
  const Tokenizer tokenizer = text_tokenizer();
  const Json cases = read_data_json("tokenizer/cases.json");
  for (const Json& item : cases.find("invalid_utf8")->items()) {
    const Result<Ids> ids = tokenizer.encode(from_hex(item.find("bytes_hex")->as_string()));
    ASSERT_TRUE(ids);
    EXPECT_EQ(*ids, ids_of(*item.find("ids"))) << item.find("bytes_hex")->as_string();
    EXPECT_EQ(tokenizer.decode(*ids, false), item.find("text_after_replacement")->as_string());
  }
}

TEST(Tokenizer, DecodesReferenceCases) {
  const Tokenizer tokenizer = text_tokenizer();
  const Json cases = read_data_json("tokenizer/cases.json");
  ASSERT_EQ(cases.find("decode")->items().size(), 17u);
  for (const Json& item : cases.find("decode")->items()) {
    const Ids ids = ids_of(*item.find("ids"));
    EXPECT_EQ(tokenizer.decode(ids, false), item.find("text")->as_string());
    EXPECT_EQ(tokenizer.decode(ids, true), item.find("text_skip_special")->as_string());
    std::string bytes;
    for (const int32_t id : ids) bytes += tokenizer.token_bytes(id);
    EXPECT_EQ(bytes, from_hex(item.find("bytes_hex")->as_string()));
  }
}

TEST(Tokenizer, EncodesAudioVocabularyCases) {
  const Tokenizer tokenizer = audio_tokenizer();
  const Json cases = read_data_json("tokenizer/audio_cases.json");
  ASSERT_EQ(cases.items().size(), 12u);
  for (const Json& item : cases.items()) {
    const Result<Ids> ids = tokenizer.encode(item.find("text")->as_string());
    ASSERT_TRUE(ids);
    EXPECT_EQ(*ids, ids_of(*item.find("ids"))) << item.find("text")->as_string();
    EXPECT_EQ(tokenizer.decode(*ids, true, OpenCharacter::kDrop),
              item.find("decoded")->as_string());
  }
}

TEST(Tokenizer, UnusedAndUnknownIdsStandForNothing) {
  const Tokenizer tokenizer = audio_tokenizer();
  EXPECT_EQ(tokenizer.vocab_size(), 640u);
  EXPECT_EQ(tokenizer.kind(631), TokenKind::kUnused);
  EXPECT_EQ(tokenizer.decode(Ids{631, 640, -1, 1 << 30}, false), "");
  EXPECT_EQ(tokenizer.kind(640), TokenKind::kUnused);
}

TEST(Tokenizer, OpenCharacterAtTheEndIsReplacedOrDropped) {
  const Tokenizer tokenizer = text_tokenizer();
  const Ids ids = {296, 385, 243, 821};  // one whole character and two bytes of the next
  EXPECT_EQ(tokenizer.decode(ids, false), "\xE6\x9D\xB1\xEF\xBF\xBD");
  EXPECT_EQ(tokenizer.decode(ids, false, OpenCharacter::kDrop), "\xE6\x9D\xB1");
}

TEST(Tokenizer, PutsBosInFrontOnlyWhenAsked) {
  const Tokenizer tokenizer = text_tokenizer();
  EXPECT_EQ(*tokenizer.encode("a"), (Ids{198}));
  EXPECT_EQ(*tokenizer.encode("a", {.add_bos = true}), (Ids{1, 198}));
  EXPECT_TRUE(tokenizer.add_bos_default());
  EXPECT_EQ(tokenizer.bos_id(), 1);
  EXPECT_EQ(tokenizer.eos_id(), 7);
  EXPECT_EQ(tokenizer.pad_id(), 0);
}

TEST(Tokenizer, EndOfGenerationIsEveryEndToken) {
  EXPECT_EQ(text_tokenizer().end_of_generation_ids(), (Ids{2, 7}));
  EXPECT_EQ(audio_tokenizer().end_of_generation_ids(), (Ids{2, 7}));
}

TEST(Tokenizer, FindsTokensByTheirText) {
  const Tokenizer tokenizer = text_tokenizer();
  EXPECT_EQ(tokenizer.find("<|im_end|>"), 7);
  EXPECT_EQ(tokenizer.find("</think>"), 132);
  EXPECT_EQ(tokenizer.find("<|nothing|>"), std::nullopt);
  EXPECT_EQ(tokenizer.kind(7), TokenKind::kControl);
  EXPECT_EQ(tokenizer.kind(131), TokenKind::kUserDefined);
  EXPECT_EQ(tokenizer.kind(198), TokenKind::kNormal);
}

TEST(Tokenizer, ContentHashTellsTokenizersApart) {
  const std::string json = read_data("tokenizer/tokenizer.json");
  const std::string hash = make_tokenizer(json).content_hash();
  EXPECT_EQ(hash.size(), 64u);
  EXPECT_EQ(make_tokenizer(json).content_hash(), hash);
  EXPECT_EQ(make_tokenizer(read_data("tokenizer/tokenizer-string-merges.json")).content_hash(),
            hash);
  EXPECT_NE(audio_tokenizer().content_hash(), hash);
  // A token's text, its kind, where it is looked for, and the order of two merges.
  std::string changed = with_change(json, "\"content\": \"<image>\"", "\"content\": \"<thing>\"");
  changed = with_change(changed, "\"<image>\": 133", "\"<thing>\": 133");
  EXPECT_NE(make_tokenizer(changed).content_hash(), hash);
  for (const char* field : {"special", "normalized"}) {
    const std::string key = std::string("\"") + field + "\": ";
    const size_t at = json.find(key, json.find("\"content\": \"<think>\"")) + key.size();
    const bool was = json.compare(at, 4, "true") == 0;
    changed = json;
    changed.replace(at, was ? 4 : 5, was ? "false" : "true");
    EXPECT_NE(make_tokenizer(changed).content_hash(), hash) << field;
  }
  Json tree = *parse_json(json);
  for (auto& [name, model] : tree.members()) {
    if (name != "model") continue;
    for (auto& [field, value] : model.members()) {
      if (field == "merges") std::swap(value.items()[0], value.items()[1]);
    }
  }
  EXPECT_NE(make_tokenizer(tree.dump()).content_hash(), hash);
}

TEST(Tokenizer, AddedTokensMatchedInNormalizedTextComeSecond) {
  // "<think>" loses against "<thi" once it is searched in the second round only.
  std::string json = read_data("tokenizer/tokenizer.json");
  const std::string think = "\"content\": \"<think>\"";
  const size_t at = json.find("\"normalized\": false", json.find(think));
  ASSERT_NE(at, std::string::npos);
  json.replace(at, std::string("\"normalized\": false").size(), "\"normalized\": true");
  json = with_change(json, "\"content\": \"<image>\"", "\"content\": \"<thi\"");
  json = with_change(json, "\"<image>\": 133", "\"<thi\": 133");
  const Tokenizer tokenizer = make_tokenizer(json);
  EXPECT_EQ((*tokenizer.encode("<think>"))[0], 133);
  EXPECT_EQ(*text_tokenizer().encode("<think>"), (Ids{131}));
}

TEST(Tokenizer, ProbesKeepTheirText) {
  const std::string probes[] = {
      "\n\n\n",
      "a\n\n  \n b",
      "x   ",
      "\r\n\r\n",
      "\t\t",
      "DON'T we'LL I'VE",
      "1234567890",
      "12,345.67",
      "e\xCC\x81\xCC\xA7",
      "\xF0\x9F\x91\xA8\xE2\x80\x8D\xF0\x9F\x91\xA9\xE2\x80\x8D\xF0\x9F\x91\xA7",
      "\xE0\xB8\xAA\xE0\xB8\xA7\xE0\xB8\xB1\xE0\xB8\xAA\xE0\xB8\x94\xE0\xB8\xB5",
      "a\xC2\xA0\xE3\x80\x80"
      "b"};
  for (const Tokenizer& tokenizer : {text_tokenizer(), audio_tokenizer()}) {
    for (const std::string& probe : probes)
      EXPECT_EQ(tokenizer.decode(*tokenizer.encode(probe), false), probe);
    EXPECT_EQ(tokenizer.decode(*tokenizer.encode("\x80"), false), "\xEF\xBF\xBD");
  }
}

TEST(Tokenizer, LongTextsTakeLinearTime) {
  // A quadratic step anywhere would take minutes here.
  const Tokenizer tokenizer = text_tokenizer();
  const size_t size = 1 << 20;
  std::string word, mixed;
  while (word.size() < size) word += "tokenizer";
  while (mixed.size() < size) mixed += "the end <|im_end| 'll\n  ";
  const std::string texts[] = {std::string(size, 'a'),
                               std::string(size, ' '),
                               std::string(size, '\n'),
                               std::string(size, '<'),
                               std::string(size, '1'),
                               word,
                               mixed};
  for (const std::string& text : texts) {
    const Result<Ids> ids = tokenizer.encode(text);
    ASSERT_TRUE(ids);
    EXPECT_EQ(tokenizer.decode(*ids, false), text);
  }
}

}  // namespace
}  // namespace rill::text
