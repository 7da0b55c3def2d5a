// SPDX-License-Identifier: Apache-2.0
// Transformers directories of tests/data to GGUF.
#include <gtest/gtest.h>

#include "format/portable.h"
#include "text/tokenizer.h"
#include "unit/convert/convert_support.h"

namespace rill::convert {
namespace {

using convert_test::expect_error;
using convert_test::Folder;
using convert_test::open_gguf;
using convert_test::SafetensorsBuilder;
using lfm2_test::Compute;

ConvertOptions options_of(const Folder& input, const Folder& output) {
  ConvertOptions options;
  options.input = input.path();
  options.output = output.file("model.gguf");
  return options;
}

Report convert_ok(const ConvertOptions& options, Compute& compute) {
  auto report = convert_checkpoint(options, *compute.pool);
  EXPECT_TRUE(report.has_value()) << (report ? "" : report.error().message);
  return report ? std::move(report).value() : Report{};
}

class ConvertText : public testing::TestWithParam<const char*> {};

TEST_P(ConvertText, GivesTheCheckpointsLogitsBitForBit) {
  Compute compute;
  const Folder in("convert-in");
  const Folder out("convert-out");
  convert_test::copy_text_model(GetParam(), in);
  const ConvertOptions options = options_of(in, out);
  convert_ok(options, compute);
  auto original = model::lfm2::load_directory(in.path(), *compute.pool);
  ASSERT_TRUE(original.has_value()) << original.error().message;
  const format::GgufFile file = open_gguf(options.output);
  const Status portable = format::check_portable(file);
  EXPECT_TRUE(portable.has_value()) << (portable ? "" : portable.error().message);
  auto converted = model::lfm2::load_gguf(file, {}, *compute.pool);
  ASSERT_TRUE(converted.has_value()) << converted.error().message;
  EXPECT_EQ(convert_test::logit_bits(compute, **converted),
            convert_test::logit_bits(compute, **original));
}

// dense_a: BF16, adjusted feed-forward width; dense_b: convolution biases, head apart; moe_32x4:
// BF16, experts; moe_plain: no selection bias, no normalised weights, a scale.
INSTANTIATE_TEST_SUITE_P(Models, ConvertText,
                         testing::Values("dense_a", "dense_b", "moe_32x4", "moe_plain"));

TEST(ConvertTextModel, WritesMetadataAsLlamaCppKnowsIt) {
  Compute compute;
  const Folder in("convert-in");
  const Folder out("convert-out");
  convert_test::copy_text_model("moe_32x4", in);
  ConvertOptions options = options_of(in, out);
  options.name = "tiny";
  options.source_repo = "org/tiny";
  options.source_revision = "abc";
  convert_ok(options, compute);
  const format::GgufFile file = open_gguf(options.output);
  const format::Metadata& m = file.metadata();
  EXPECT_EQ(m.all().front().first, "general.architecture");
  EXPECT_EQ(*m.get_string("general.architecture"), "lfm2moe");
  EXPECT_EQ(*m.get_string("general.name"), "tiny");
  EXPECT_EQ(*m.get_u32("general.file_type"), 32U);  // BF16, as the checkpoint
  EXPECT_EQ(*m.get_ints("lfm2moe.attention.head_count_kv"), (std::vector<int64_t>{0, 2, 0, 2, 0}));
  EXPECT_EQ(*m.get_u32("lfm2moe.expert_count"), 32U);
  EXPECT_EQ(*m.get_u32("lfm2moe.expert_used_count"), 4U);
  EXPECT_EQ(*m.get_u32("lfm2moe.leading_dense_block_count"), 2U);
  EXPECT_EQ(*m.get_u32("lfm2moe.expert_gating_func"), 2U);
  EXPECT_EQ(*m.get_float("lfm2moe.rope.freq_base"), 5000000.0);
  EXPECT_FALSE(m.has("lfm2moe.expert_weights_norm"));
  EXPECT_EQ(*m.get_string("tokenizer.ggml.pre"), "lfm2");
  EXPECT_EQ(*m.get_u32("tokenizer.ggml.eos_token_id"), 7U);
  EXPECT_EQ(*m.get_string("rill.source.repo"), "org/tiny");
  EXPECT_EQ(*m.get_string("rill.source.revision"), "abc");
  EXPECT_EQ(*m.get_string("rill.layout.experts"), "expert_out_in");
  EXPECT_TRUE(*m.get_bool("rill.ops.has_moe"));
  EXPECT_FALSE(*m.get_bool("rill.ops.has_conformer"));
  const NamedTensor* experts = file.tensors().find("blk.2.ffn_down_exps.weight");
  ASSERT_NE(experts, nullptr);
  EXPECT_EQ(experts->view.shape, (Shape{32, 32, 32}));
  EXPECT_EQ(experts->view.dtype, DType::kBF16);
  EXPECT_EQ(file.tensors().find("blk.2.ffn_gate_inp.weight")->view.dtype, DType::kF32);
  EXPECT_EQ(file.tensors().find("blk.0.shortconv.conv.weight")->view.shape, (Shape{32, 3}));
}

TEST(ConvertTextModel, TokenizerGivesTheSameIds) {
  Compute compute;
  const Folder in("convert-in");
  const Folder out("convert-out");
  convert_test::copy_text_model("dense_a", in);
  const ConvertOptions options = options_of(in, out);
  convert_ok(options, compute);
  const auto original =
      text::Tokenizer::from_json(in.read("tokenizer.json"), in.read("tokenizer_config.json"), "in");
  ASSERT_TRUE(original.has_value());
  const format::GgufFile file = open_gguf(options.output);
  const auto converted = text::Tokenizer::from_metadata(file.metadata());
  ASSERT_TRUE(converted.has_value());
  const char* text = "<|im_start|>user\nHello, w\xC3\xB6rld 123!<|im_end|><think>the end";
  EXPECT_EQ(*converted->encode(text), *original->encode(text));
  EXPECT_EQ(converted->end_of_generation_ids(), original->end_of_generation_ids());
  EXPECT_EQ(converted->add_bos_default(), original->add_bos_default());
}

TEST(ConvertTextModel, IdsWithoutTokenBecomeUnused) {
  Compute compute;
  const Folder in("convert-in");
  const Folder out("convert-out");
  convert_test::copy_text_model("moe_plain", in);
  const ConvertOptions options = options_of(in, out);
  convert_ok(options, compute);
  const format::GgufFile file = open_gguf(options.output);
  const auto tokens = *file.metadata().get_strings("tokenizer.ggml.tokens");
  const auto types = *file.metadata().get_ints("tokenizer.ggml.token_type");
  ASSERT_EQ(tokens.size(), 512U);
  EXPECT_EQ(tokens[511], "[PAD511]");
  EXPECT_EQ(types[511], 5);
  EXPECT_EQ(types[7], 3);
  EXPECT_EQ(types[200], 1);
  // Without a selection bias zeros are written, which choose the same experts.
  EXPECT_NE(file.tensors().find("blk.1.exp_probs_b.bias"), nullptr);
  EXPECT_FALSE(*file.metadata().get_bool("lfm2moe.expert_weights_norm"));
  EXPECT_EQ(*file.metadata().get_float("lfm2moe.expert_weights_scale"), 2.5);
}

TEST(ConvertTextModel, TakesTheTemplateFileBeforeTheOneInTheConfig) {
  Compute compute;
  const Folder in("convert-in");
  const Folder out("convert-out");
  convert_test::copy_text_model("moe_plain", in);
  in.change("tokenizer_config.json", "{", "{\"chat_template\": \"inner\",");
  ConvertOptions options = options_of(in, out);
  options.overwrite = true;
  convert_ok(options, compute);
  EXPECT_EQ(*open_gguf(options.output).metadata().get_string("tokenizer.chat_template"), "inner");
  in.write("chat_template.jinja", "outer\n");
  convert_ok(options, compute);
  EXPECT_EQ(*open_gguf(options.output).metadata().get_string("tokenizer.chat_template"), "outer\n");
}

TEST(ConvertTextModel, KeepsNamedTemplates) {
  Compute compute;
  const Folder in("convert-in");
  const Folder out("convert-out");
  convert_test::copy_text_model("moe_plain", in);
  in.change("tokenizer_config.json", "{",
            R"({"chat_template": [{"name": "default", "template": "a"},)"
            R"( {"name": "tool_use", "template": "b"}],)");
  const ConvertOptions options = options_of(in, out);
  convert_ok(options, compute);
  const format::GgufFile file = open_gguf(options.output);
  EXPECT_EQ(*file.metadata().get_string("tokenizer.chat_template"), "a");
  EXPECT_EQ(*file.metadata().get_string("tokenizer.chat_template.tool_use"), "b");
  EXPECT_EQ(*file.metadata().get_strings("tokenizer.chat_templates"),
            std::vector<std::string>{"tool_use"});
}

TEST(ConvertTextModel, RecordsGenerationDefaults) {
  Compute compute;
  const Folder in("convert-in");
  const Folder out("convert-out");
  convert_test::copy_text_model("moe_plain", in);
  in.write("generation_config.json",
           R"({"temperature": 0.25, "min_p": 0.15, "top_k": 50, "repetition_penalty": null})");
  ConvertOptions options = options_of(in, out);
  convert_ok(options, compute);
  const format::GgufFile file = open_gguf(options.output);
  EXPECT_EQ(*file.metadata().get_float("rill.generation.chat.temperature"), 0.25);
  EXPECT_EQ(*file.metadata().get_u32("rill.generation.chat.top_k"), 50U);
  EXPECT_TRUE(file.metadata().has("rill.generation.chat.min_p"));
  EXPECT_FALSE(file.metadata().has("rill.generation.chat.repetition_penalty"));
  in.write("generation_config.json", R"({"temperature": "warm"})");
  options.overwrite = true;
  expect_error(convert_checkpoint(options, *compute.pool), ErrorCode::kInvalidFormat,
               "generation_config.json: temperature: got \"warm\"");
}

TEST(ConvertTextModel, ReadsShards) {
  Compute compute;
  const Folder in("convert-in");
  const Folder out("convert-out");
  convert_test::copy_text_model("dense_b", in);
  const ConvertOptions options = options_of(in, out);
  convert_ok(options, compute);
  const std::string whole = out.read("model.gguf");
  // The same weights in one shard, found through an index.
  const auto file = format::SafetensorsFile::open(in.file("model.safetensors"));
  ASSERT_TRUE(file.has_value());
  Json map = Json::object();
  for (const NamedTensor& tensor : file->tensors().all()) {
    map.set(tensor.name, Json::string("part-1.safetensors"));
  }
  Json index = Json::object();
  index.set("weight_map", std::move(map));
  in.write("model.safetensors.index.json", index.dump());
  std::filesystem::rename(in.file("model.safetensors"), in.file("part-1.safetensors"));
  ConvertOptions again = options;
  again.overwrite = true;
  convert_ok(again, compute);
  EXPECT_EQ(out.read("model.gguf"), whole);
}

TEST(ConvertTextModel, FileDoesNotDependOnThreads) {
  const Folder in("convert-in");
  const Folder out("convert-out");
  convert_test::copy_text_model("dense_b", in);
  std::vector<std::string> files;
  for (const size_t threads : {1U, 3U}) {
    Compute compute(threads);
    ConvertOptions options = options_of(in, out);
    options.type = FileType::kF16;
    options.overwrite = true;
    convert_ok(options, compute);
    files.push_back(out.read("model.gguf"));
  }
  EXPECT_EQ(files[0], files[1]);
}

/// A folder with a model, ready to be spoiled.
struct Spoiled {
  Compute compute;
  Folder in{"convert-in"};
  Folder out{"convert-out"};
  ConvertOptions options;

  explicit Spoiled(const char* model = "moe_plain") {
    convert_test::copy_text_model(model, in);
    options = options_of(in, out);
  }
  void expect(ErrorCode code, std::string_view part) {
    expect_error(convert_checkpoint(options, *compute.pool), code, part);
    EXPECT_TRUE(out.names().empty()) << out.names().front();
  }
};

TEST(ConvertRefusals, MissingConfigKey) {
  Spoiled s;
  s.in.change("config.json", "\"hidden_size\"", "\"hidden\"");
  s.expect(ErrorCode::kNotFound, "hidden_size: got no such key");
}

TEST(ConvertRefusals, ShapeThatContradictsTheConfig) {
  Spoiled s;
  s.in.change("config.json", "\"num_key_value_heads\": 1", "\"num_key_value_heads\": 2");
  s.expect(ErrorCode::kInvalidFormat,
           "model.layers.1.self_attn.k_proj.weight: got shape [16, 32], expected [32, 32]");
}

TEST(ConvertRefusals, MissingAndUnknownTensors) {
  Spoiled s("dense_b");
  s.in.change("model.safetensors", "model.layers.2.ffn_norm.weight",
              "model.layers.2.ffn_warm.weight");
  s.expect(ErrorCode::kNotFound, "model.layers.2.ffn_norm.weight: no such tensor");
  Spoiled t("dense_b");
  t.in.change("config.json", "\"conv_bias\": true", "\"conv_bias\": false");
  t.expect(ErrorCode::kUnsupported, "bias: this build does not know what the tensor is for");
}

TEST(ConvertRefusals, OtherModels) {
  Spoiled s;
  s.in.change("config.json", "\"lfm2_moe\"", "\"llama\"");
  s.expect(ErrorCode::kUnsupported, "model_type: got \"llama\"");
}

TEST(ConvertRefusals, FilesThatAreNotThere) {
  Spoiled s;
  std::filesystem::remove(s.in.file("tokenizer.json"));
  s.expect(ErrorCode::kNotFound, "tokenizer.json");
  std::filesystem::remove(s.in.file("model.safetensors"));
  s.expect(ErrorCode::kNotFound, "model.safetensors");
  std::filesystem::remove(s.in.file("config.json"));
  s.expect(ErrorCode::kNotFound, "config.json");
}

TEST(ConvertRefusals, TokenizerWithMoreTokensThanTheModel) {
  Spoiled s;
  s.options.tokenizer = test::data_path("text/tokenizer");
  s.expect(ErrorCode::kInvalidFormat, "got 1024 tokens, expected at most vocab_size");
}

TEST(ConvertRefusals, QuantizedTypeNameAndLanguage) {
  Spoiled s;
  s.options.type = FileType::kQ8_0;
  s.expect(ErrorCode::kInvalidArgument, "type: got 'Q8_0', expected F32, F16 or BF16");
  s.options.type.reset();
  s.options.name = "../evil";
  s.expect(ErrorCode::kInvalidArgument, "name: got '../evil'");
  s.options.name.clear();
  s.options.language = "fr";
  s.expect(ErrorCode::kInvalidArgument, "language: got 'fr', expected en or ja");
}

TEST(ConvertRefusals, OutputThatExistsOrCannotBeWritten) {
  Spoiled s;
  convert_ok(s.options, s.compute);
  expect_error(convert_checkpoint(s.options, *s.compute.pool), ErrorCode::kInvalidArgument,
               "model.gguf: it exists");
  s.options.output = s.out.file("no/such/folder/model.gguf");
  expect_error(convert_checkpoint(s.options, *s.compute.pool), ErrorCode::kNotFound, "no/such");
}

TEST(ConvertRefusals, ValuesTooLargeForTheType) {
  Spoiled s("dense_b");
  std::string weights = s.in.read("model.safetensors");
  const float huge = 1e6f;
  // The last value of the last matrix in the file.
  const auto file = format::SafetensorsFile::open(s.in.file("model.safetensors"));
  const NamedTensor* embed = (*file->get("model.embed_tokens.weight"));
  std::memcpy(weights.data() + embed->file_offset + 8, &huge, sizeof huge);
  s.in.write("model.safetensors", weights);
  s.options.type = FileType::kF16;
  s.expect(ErrorCode::kInvalidArgument,
           "token_embd.weight: got a value that is not finite, or too large for F16");
  s.options.type = FileType::kBF16;
  convert_ok(s.options, s.compute);
}

TEST(ConvertProgress, StopsWithoutAFile) {
  Spoiled s;
  double last = 0;
  s.options.progress = {[](void* user, double done) {
                          *static_cast<double*>(user) = done;
                          return done < 0.5;
                        },
                        &last};
  s.expect(ErrorCode::kCancelled, "cancelled");
  EXPECT_GE(last, 0.5);
  s.options.progress = {[](void* user, double done) {
                          EXPECT_GE(done, *static_cast<double*>(user));
                          *static_cast<double*>(user) = done;
                          return true;
                        },
                        &last};
  last = 0;
  convert_ok(s.options, s.compute);
  EXPECT_EQ(last, 1.0);
}

}  // namespace
}  // namespace rill::convert
