// SPDX-License-Identifier: Apache-2.0
#include "format/portable.h"

#include <gtest/gtest.h>

#include <string>

#include "base/sha256.h"
#include "format/tokenizer_hash.h"
#include "support/gguf_builder.h"

namespace rill::format {
namespace {

using test::BuilderTensor;
using test::ByteSink;
using test::GgufBuilder;

Status check(GgufBuilder& builder) {
  const std::vector<std::byte> bytes = builder.build();
  const Result<GgufFile> file = GgufFile::parse(bytes, "p.gguf");
  EXPECT_TRUE(file.has_value()) << file.error().message;
  return check_portable(*file);
}

std::string error_of(GgufBuilder& builder, ErrorCode code = ErrorCode::kInvalidFormat) {
  const Status status = check(builder);
  EXPECT_FALSE(status.has_value());
  if (status) return "";
  EXPECT_EQ(status.error().code, code) << status.error().message;
  return status.error().message;
}

std::string message_of(GgufBuilder& builder) {
  const Status status = check(builder);
  return status ? "" : status.error().message;
}

GgufBuilder versioned(std::string_view version = "1.0.0") {
  GgufBuilder builder;
  builder.string("rill.format_version", version);
  return builder;
}

// A mixture-of-experts backbone: two experts, three taps.
GgufBuilder backbone() {
  GgufBuilder builder = versioned();
  builder.string("general.architecture", "lfm2moe").u32("lfm2moe.context_length", 128);
  builder.u32("lfm2moe.shortconv.l_cache", 3)
      .u32("lfm2moe.expert_count", 2)
      .u32("lfm2moe.expert_used_count", 1);
  builder.f32_tensor("blk.0.shortconv.conv.weight", {3, 4})
      .f32_tensor("blk.1.attn_k.weight", {4, 4});
  builder.f32_tensor("blk.1.ffn_gate_exps.weight", {4, 4, 2});
  return builder;
}

void add_tokenizer(GgufBuilder& builder, const std::string& token) {
  builder.string("tokenizer.ggml.model", "gpt2").strings("tokenizer.ggml.tokens", {"a", token});
  builder.i32s("tokenizer.ggml.token_type", {1, 3}).strings("tokenizer.ggml.merges", {"a b"});
  builder.u32("tokenizer.ggml.bos_token_id", 1).boolean("tokenizer.ggml.add_bos_token", true);
}

std::string hash_of_tokenizer(const std::string& token) {
  GgufBuilder builder;
  add_tokenizer(builder, token);
  const std::vector<std::byte> bytes = builder.build();
  return tokenizer_sha256(GgufFile::parse(bytes, "t").value().metadata()).value();
}

TEST(CheckPortable, FilesWithoutTheVersionPass) {
  GgufBuilder builder;
  builder.boolean("rill.ops.has_quantum", true)
      .string("rill.layout.conv", "odd")
      .string("rill.bounds.experts", "x");
  EXPECT_EQ(message_of(builder), "");
}

TEST(CheckPortable, AcceptsAFullDescription) {
  GgufBuilder builder = backbone();
  builder.boolean("rill.ops.has_gated_conv", true).boolean("rill.ops.has_grouped_attention", true);
  builder.boolean("rill.ops.has_moe", true).boolean("rill.ops.has_conformer", false);
  builder.boolean("rill.ops.has_depthformer", false).boolean("rill.ops.has_detokenizer", false);
  builder.u32("rill.bounds.max_sequence_length", 128).u32("rill.bounds.conv_kernel", 3);
  builder.u32("rill.bounds.experts", 2).u32("rill.bounds.experts_used", 1);
  builder.string("rill.layout.conv", "channel_tap").string("rill.layout.experts", "expert_out_in");
  builder.string("rill.layout.rope", "half").u32("rill.alignment_bits", 256);
  builder.tensor({.name = "q=1:2", .type = 8, .dims = {32}, .data = std::vector<std::byte>(34)});
  builder.strings("rill.quantization", {"q=1:2=Q8_0:32"})
      .string("rill.source.repo", "LiquidAI/LFM2");
  builder.f32("rill.generation.tts.temperature", 0).u32("rill.generation.tts.top_k", 4);
  add_tokenizer(builder, "b");
  builder.string("rill.tokenizer.sha256", hash_of_tokenizer("b"))
      .string("tokenizer.chat_template", "{{ x }}");
  const std::string chat = "{{ x }}";
  builder.string("rill.chat_template.sha256",
                 sha256_hex({reinterpret_cast<const std::byte*>(chat.data()), chat.size()}));
  EXPECT_EQ(message_of(builder), "");
}

TEST(CheckPortable, Versions) {
  for (const char* good : {"1.0.0", "1.7.0", "1.0.12"}) {
    GgufBuilder builder = versioned(good);
    EXPECT_EQ(message_of(builder), "");
  }
  for (const char* other : {"2.0.0", "0.9.0"}) {
    GgufBuilder builder = versioned(other);
    EXPECT_EQ(error_of(builder, ErrorCode::kUnsupported),
              std::string("check portable format: p.gguf: rill.format_version: got ") + other +
                  ", expected major version 1");
  }
  for (const char* bad : {"", "1", "1.0", "1.0.0.0", "1.0.x", "-1.0.0", "v1.0.0", "1..0"}) {
    GgufBuilder builder = versioned(bad);
    EXPECT_NE(error_of(builder).find("expected MAJOR.MINOR.PATCH"), std::string::npos) << bad;
  }
  GgufBuilder number;
  number.u32("rill.format_version", 1);
  EXPECT_NE(error_of(number).find("rill.format_version: got u32, expected string"),
            std::string::npos);
}

TEST(CheckPortable, UnknownOperators) {
  GgufBuilder needed = versioned();
  needed.boolean("rill.ops.has_quantum", true);
  EXPECT_EQ(error_of(needed, ErrorCode::kUnsupported),
            "check portable format: p.gguf: rill.ops.has_quantum: got an operator that this build "
            "does not know, "
            "expected has_gated_conv, has_grouped_attention, has_moe, has_conformer, "
            "has_depthformer, has_detokenizer");
  GgufBuilder unneeded = versioned();
  unneeded.boolean("rill.ops.has_quantum", false);
  EXPECT_EQ(message_of(unneeded), "");
  GgufBuilder wrong = versioned();
  wrong.u32("rill.ops.has_quantum", 1);
  EXPECT_NE(error_of(wrong).find("rill.ops.has_quantum: got u32, expected bool"),
            std::string::npos);
}

TEST(CheckPortable, OperatorsThatContradictTheTensors) {
  const struct {
    const char* op;
    const char* tensor;
  } table[] = {{"has_gated_conv", "blk.0.shortconv.in_proj.weight"},
               {"has_grouped_attention", "blk.3.attn_k.weight"},
               {"has_moe", "blk.2.ffn_gate_exps.weight"},
               {"has_conformer", "a.blk.0.ln1.weight"},
               {"has_depthformer", "depthformer.layers.0.operator.qkv_proj.weight"},
               {"has_detokenizer", "dense_2.weight"},
               {"has_detokenizer", "emb.emb.weight"}};
  for (const auto& row : table) {
    const std::string key = std::string("rill.ops.") + row.op;
    GgufBuilder missing = versioned();
    missing.boolean(key, true);
    EXPECT_NE(error_of(missing).find(key + ": got true and no tensor of that operator"),
              std::string::npos);
    GgufBuilder hidden = versioned();
    hidden.boolean(key, false).f32_tensor(row.tensor, {4});
    EXPECT_NE(error_of(hidden).find(key + ": got false and tensor " + row.tensor),
              std::string::npos);
    GgufBuilder right = versioned();
    right.boolean(key, true).f32_tensor(row.tensor, {4});
    EXPECT_EQ(message_of(right), "");
  }
}

TEST(CheckPortable, BoundsThatContradictTheArchitecture) {
  for (const char* bound : {"max_sequence_length", "conv_kernel", "experts", "experts_used"}) {
    GgufBuilder builder = backbone();
    builder.u32(std::string("rill.bounds.") + bound, 77);
    EXPECT_NE(error_of(builder).find(std::string("rill.bounds.") + bound + ": got 77, expected"),
              std::string::npos);
  }
}

TEST(CheckPortable, BoundsThatContradictTheTensors) {
  GgufBuilder conv = versioned();
  conv.u32("rill.bounds.conv_kernel", 4).f32_tensor("blk.0.shortconv.conv.weight", {3, 4});
  EXPECT_NE(error_of(conv).find("got 4, expected 3, as tensor blk.0.shortconv.conv.weight has"),
            std::string::npos);
  GgufBuilder experts = versioned();
  experts.u32("rill.bounds.experts", 8).f32_tensor("blk.0.ffn_up_exps.weight", {4, 4, 2});
  EXPECT_NE(error_of(experts).find("got 8, expected 2"), std::string::npos);
  GgufBuilder used = versioned();
  used.u32("rill.bounds.experts", 2).u32("rill.bounds.experts_used", 3);
  EXPECT_NE(error_of(used).find("rill.bounds.experts_used: got 3"), std::string::npos);
  GgufBuilder codebooks = versioned();
  codebooks.u32("rill.bounds.codebooks", 8)
      .f32_tensor("depth_embeddings.0.to_logits.weight", {4, 4});
  EXPECT_NE(error_of(codebooks).find("rill.bounds.codebooks: got 8, expected 1"),
            std::string::npos);
}

TEST(CheckPortable, LayoutsAndAlignment) {
  for (const char* key : {"rill.layout.conv", "rill.layout.experts", "rill.layout.rope"}) {
    GgufBuilder builder = versioned();
    builder.string(key, "tap_channel");
    EXPECT_NE(
        error_of(builder, ErrorCode::kUnsupported).find(std::string(key) + ": got tap_channel"),
        std::string::npos);
  }
  GgufBuilder pair = versioned();
  pair.string("rill.layout.rope", "pair");
  EXPECT_EQ(message_of(pair), "");
  for (uint32_t bits : {0U, 128U, 260U, 512U, 384U}) {
    GgufBuilder builder = versioned();
    builder.u32("rill.alignment_bits", bits);
    EXPECT_NE(error_of(builder).find("rill.alignment_bits: got " + std::to_string(bits)),
              std::string::npos);
  }
  GgufBuilder wide = versioned();
  wide.alignment = 64;
  wide.u32("rill.alignment_bits", 512).u32("general.alignment", 64);
  EXPECT_EQ(message_of(wide), "");
}

TEST(CheckPortable, QuantizationAgainstTheTensorTable) {
  const auto with = [](const std::vector<std::string>& lines) {
    GgufBuilder builder = versioned();
    builder.tensor({.name = "q", .type = 8, .dims = {32}, .data = std::vector<std::byte>(34)})
        .f32_tensor("f", {4});
    builder.strings("rill.quantization", lines);
    return message_of(builder);
  };
  EXPECT_EQ(with({"q=Q8_0:32"}), "");
  EXPECT_EQ(with({"q=Q8_0:32", "f=F32:1"}), "");
  EXPECT_NE(with({"q=Q4_0:32"}).find("got q=Q4_0:32, expected Q8_0:32"), std::string::npos);
  EXPECT_NE(with({"q=Q8_0:64"}).find("got q=Q8_0:64"), std::string::npos);
  EXPECT_NE(with({"q=Q8_0:32", "x=Q8_0:32"}).find("a tensor of the file"), std::string::npos);
  EXPECT_NE(with({"q=Q8_0:32", "q=Q8_0:32"}).find("a second time"), std::string::npos);
  EXPECT_NE(with({}).find("no line for tensor q"), std::string::npos);
  for (const char* line : {"", "q", "q=Q8_0", "q:32", "Q8_0:32=q"}) {
    EXPECT_NE(with({line}).find("expected tensor=type:block"), std::string::npos) << line;
  }
}

TEST(CheckPortable, HashesThatDoNotMatch) {
  GgufBuilder changed = versioned();
  add_tokenizer(changed, "c");
  changed.string("rill.tokenizer.sha256", hash_of_tokenizer("b"));
  EXPECT_EQ(error_of(changed), "check portable format: p.gguf: rill.tokenizer.sha256: got " +
                                   hash_of_tokenizer("b") + ", expected " + hash_of_tokenizer("c") +
                                   ", the hash of what the file holds");
  GgufBuilder none = versioned();
  none.string("rill.tokenizer.sha256", hash_of_tokenizer("b"));
  EXPECT_NE(error_of(none).find("tokenizer.ggml.tokens: got no such key"), std::string::npos);
  GgufBuilder chat = versioned();
  chat.string("tokenizer.chat_template", "a")
      .string("rill.chat_template.sha256", std::string(64, '0'));
  EXPECT_NE(error_of(chat).find("rill.chat_template.sha256: got 0000"), std::string::npos);
}

TEST(CheckPortable, TypesOfSourceAndGenerationKeys) {
  GgufBuilder source = versioned();
  source.u32("rill.source.revision", 1);
  EXPECT_NE(error_of(source).find("rill.source.revision: got u32"), std::string::npos);
  GgufBuilder option = versioned();
  option.boolean("rill.generation.tts.top_k", true);
  EXPECT_NE(
      error_of(option).find("rill.generation.tts.top_k: got bool, expected f32, u32 or string"),
      std::string::npos);
}

TEST(TokenizerSha256, FollowsTheWrittenForm) {
  // The form written out by hand from docs/portable-format.md.
  ByteSink form;
  form.string("rill tokenizer 1").string("tokenizer.ggml.model").string("gpt2");
  form.string("tokenizer.ggml.tokens").u64(2).string("a").string("b");
  form.string("tokenizer.ggml.token_type").u64(2).u64(1).u64(3);
  form.string("tokenizer.ggml.merges").u64(1).string("a b");
  form.string("tokenizer.ggml.bos_token_id").u64(1).string("tokenizer.ggml.add_bos_token").u64(1);
  EXPECT_EQ(hash_of_tokenizer("b"), sha256_hex(form.bytes()));
}

TEST(TokenizerSha256, EveryPartMatters) {
  EXPECT_NE(hash_of_tokenizer("b"), hash_of_tokenizer("c"));
  // Where one string ends and the next begins is part of it.
  const auto tokens = [](const std::vector<std::string>& list) {
    Metadata metadata;
    metadata.add("tokenizer.ggml.tokens", metadata_strings(list));
    return tokenizer_sha256(metadata).value();
  };
  EXPECT_NE(tokens({"ab", "c"}), tokens({"a", "bc"}));
}

TEST(UnknownPortableKeys, ListsWhatIsIgnored) {
  Metadata metadata;
  for (const char* key : {"rill.format_version", "rill.ops.has_x", "rill.bounds.experts",
                          "rill.bounds.heads", "rill.layout.rope", "rill.source.repo",
                          "rill.generation.asr.temperature", "rill.color", "general.name"}) {
    metadata.add(key, metadata_u32(1));
  }
  EXPECT_EQ(unknown_portable_keys(metadata),
            (std::vector<std::string>{"rill.bounds.heads", "rill.color"}));
}

}  // namespace
}  // namespace rill::format
