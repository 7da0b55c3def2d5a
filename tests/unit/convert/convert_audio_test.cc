// SPDX-License-Identifier: Apache-2.0
// A tiny liquid-audio checkpoint, made here, to the four files of a package.
#include <gtest/gtest.h>

#include <cmath>

#include "model/lfm2_audio/package.h"
#include "unit/convert/convert_support.h"

namespace rill::convert {
namespace {

using convert_test::expect_error;
using convert_test::Folder;
using convert_test::open_gguf;
using convert_test::SafetensorsBuilder;
using lfm2_test::Compute;
using lfm2_test::Noise;

constexpr size_t kBackbone = 32;  // width
constexpr size_t kEncoder = 16;
constexpr size_t kCodes = 5;  // and an end code

/// Adds tensors of random values; variances must be positive.
class Checkpoint {
 public:
  void random(const std::string& name, const std::vector<size_t>& shape, float offset = 0.0f) {
    size_t count = 1;
    for (const size_t dim : shape) count *= dim;
    builder_.add(name, shape, noise_.values(count, 0.25f, offset));
  }
  void linear(const std::string& name, size_t rows, size_t cols) {
    random(name + ".weight", {rows, cols});
    random(name + ".bias", {rows});
  }
  void norm(const std::string& name, size_t size) {
    random(name + ".weight", {size}, 1.0f);
    random(name + ".bias", {size});
  }

  /// One conv layer and one attention layer.
  void stack(size_t D, size_t vocab, size_t I, std::string_view kinds) {
    random("lfm.embed_tokens.weight", {vocab, D});
    random("lfm.embedding_norm.weight", {D}, 1.0f);
    for (size_t i = 0; i < kinds.size(); ++i) {
      const std::string p = cat("lfm.layers.", i, ".");
      random(p + "operator_norm.weight", {D}, 1.0f);
      random(p + "ffn_norm.weight", {D}, 1.0f);
      for (const char* w : {"w1", "w3"}) random(cat(p, "feed_forward.", w, ".weight"), {I, D});
      random(p + "feed_forward.w2.weight", {D, I});
      if (kinds[i] == 'c') {
        random(p + "conv.in_proj.weight", {3 * D, D});
        random(p + "conv.conv.weight", {D, 1, 3});
        random(p + "conv.out_proj.weight", {D, D});
        continue;
      }
      for (const char* w : {"q_proj", "out_proj"})
        random(cat(p, "self_attn.", w, ".weight"), {D, D});
      for (const char* w : {"k_proj", "v_proj"}) {
        random(cat(p, "self_attn.", w, ".weight"), {D / 2, D});
      }
      for (const char* w : {"q_layernorm", "k_layernorm"}) {
        random(cat(p, "self_attn.", w, ".weight"), {D / 4}, 1.0f);
      }
    }
  }

  void encoder() {
    const size_t C = 4;
    const std::string p = "conformer.pre_encode.";
    for (const int i : {0, 2, 3, 5, 6}) {
      const bool pointwise = i == 3 || i == 6;
      random(cat(p, "conv.", i, ".weight"),
             pointwise ? std::vector<size_t>{C, C, 1, 1} : std::vector<size_t>{C, 1, 3, 3});
      random(cat(p, "conv.", i, ".bias"), {C});
    }
    linear(p + "out", kEncoder, C * 16);
    encoder_layer("conformer.layers.0.");
    norm("audio_adapter.model.0", kEncoder);
    linear("audio_adapter.model.1", 24, kEncoder);
    linear("audio_adapter.model.3", kBackbone, 24);
  }

  void encoder_layer(const std::string& p) {
    const size_t D = kEncoder;
    for (const char* name :
         {"norm_feed_forward1", "norm_self_att", "norm_conv", "norm_feed_forward2", "norm_out"}) {
      norm(p + name, D);
    }
    for (const char* name : {"feed_forward1", "feed_forward2"}) {
      linear(cat(p, name, ".linear1"), 2 * D, D);
      linear(cat(p, name, ".linear2"), D, 2 * D);
    }
    for (const char* name : {"linear_q", "linear_k", "linear_v", "linear_out"}) {
      linear(cat(p, "self_attn.", name), D, D);
    }
    random(p + "self_attn.linear_pos.weight", {D, D});
    for (const char* name : {"pos_bias_u", "pos_bias_v"}) {
      random(cat(p, "self_attn.", name), {2, D / 2});
    }
    random(p + "conv.pointwise_conv1.weight", {2 * D, D, 1});
    random(p + "conv.pointwise_conv1.bias", {2 * D});
    random(p + "conv.depthwise_conv.weight", {D, 1, 9});
    random(p + "conv.depthwise_conv.bias", {D});
    norm(p + "conv.batch_norm", D);
    random(p + "conv.batch_norm.running_mean", {D});
    random(p + "conv.batch_norm.running_var", {D}, 1.0f);
    random(p + "conv.batch_norm.num_batches_tracked", {1});
    random(p + "conv.pointwise_conv2.weight", {D, D, 1});
    random(p + "conv.pointwise_conv2.bias", {D});
  }

  void depthformer() {
    const size_t D = 16;
    const std::string p = "depthformer.layers.0.";
    random(p + "operator_norm.weight", {D}, 1.0f);
    random(p + "ffn_norm.weight", {D}, 1.0f);
    random(p + "operator.qkv_proj.weight", {2 * D, D});
    random(p + "operator.bounded_attention.q_layernorm.weight", {4}, 1.0f);
    random(p + "operator.bounded_attention.k_layernorm.weight", {4}, 1.0f);
    random(p + "operator.out_proj.weight", {D, D});
    for (const char* w : {"w1", "w3"}) random(cat(p, "feed_forward.", w, ".weight"), {24, D});
    random(p + "feed_forward.w2.weight", {D, 24});
    linear("depth_linear", 8 * D, kBackbone);
    for (size_t i = 0; i < 8; ++i) code_set(cat("depth_embeddings.", i, "."), kCodes + 1, D);
    code_set("audio_embedding.", 8 * (kCodes + 1), kBackbone);
    random("codebook_offsets", {8});
    random("audio_loss_weights", {8});
  }

  void code_set(const std::string& p, size_t rows, size_t width) {
    random(p + "embedding.weight", {rows, width});
    random(p + "embedding_norm.weight", {width}, 1.0f);
    random(p + "to_logits.weight", {rows, width});
  }

  [[nodiscard]] std::string bytes() const { return builder_.bytes(); }

 private:
  SafetensorsBuilder builder_;
  Noise noise_{3};
};

constexpr char kConfig[] = R"({
 "codebooks": 8, "interleaved_n_text": 6, "interleaved_n_audio": 12,
 "preprocessor": {"sample_rate": 16000, "normalize": "per_feature", "window_size": 0.025,
  "window_stride": 0.01, "window": "hann", "features": 128, "n_fft": 512},
 "encoder": {"n_layers": 1, "d_model": 16, "n_heads": 2, "subsampling": "dw_striding",
  "self_attention_model": "rel_pos", "conv_norm_type": "batch_norm"},
 "lfm": {"vocab_size": 400, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
  "num_key_value_heads": 2, "layer_types": ["conv", "full_attention"], "intermediate_size": 48,
  "block_auto_adjust_ff_dim": false, "max_position_embeddings": 1000},
 "depthformer": {"layers": 1, "dim": 16, "tie": false}})";

constexpr char kDetokenizerConfig[] = R"({
 "vocab_size": 8, "hidden_size": 32, "num_hidden_layers": 2, "num_attention_heads": 4,
 "num_key_value_heads": 2, "layer_types": ["conv", "sliding_attention"], "intermediate_size": 48,
 "block_auto_adjust_ff_dim": false, "max_position_embeddings": 1000, "sliding_window": 30,
 "output_size": 66})";

/// The checkpoint in a folder, and where to put the package.
struct Audio {
  Compute compute;
  Folder in{"convert-audio-in"};
  Folder out{"convert-audio-out"};
  ConvertOptions options;

  Audio() {
    Checkpoint model;
    model.stack(kBackbone, 400, 48, "ca");
    model.encoder();
    model.depthformer();
    Checkpoint detokenizer;
    detokenizer.stack(32, 8, 48, "ca");
    detokenizer.linear("lin", 66, 32);
    detokenizer.random("emb.emb.weight", {8 * kCodes, 32});
    detokenizer.random("istft.window", {64}, 1.0f);
    in.write("model.safetensors", model.bytes());
    in.write("config.json", kConfig);
    in.write("tokenizer.json", convert_test::small_tokenizer());
    in.write("tokenizer_config.json", convert_test::tokenizer_config());
    in.write("audio_detokenizer/model.safetensors", detokenizer.bytes());
    in.write("audio_detokenizer/config.json", kDetokenizerConfig);
    options.input = in.path();
    options.output = out.file("package");
    options.name = "tiny";
  }
  void convert() {
    const auto report = convert_checkpoint(options, *compute.pool);
    ASSERT_TRUE(report.has_value()) << report.error().message;
    EXPECT_EQ(report->files.size(), 4U);
  }
  void expect(ErrorCode code, std::string_view part) {
    expect_error(convert_checkpoint(options, *compute.pool), code, part);
    EXPECT_TRUE(out.names().empty());
  }
};

TEST(ConvertAudio, PackageLoadsForSpeech) {
  Audio audio;
  audio.convert();
  for (const char* name : {"tiny-F32.gguf", "mmproj-tiny-F32.gguf", "vocoder-tiny-F32.gguf",
                           "tokenizer-tiny-F32.gguf"}) {
    EXPECT_TRUE(std::filesystem::exists(audio.out.file(cat("package/", name)))) << name;
  }
  model::lfm2_audio::LoadOptions load;
  load.use = model::lfm2_audio::Use::kSpeak;
  const auto model =
      model::lfm2_audio::Model::load(audio.options.output, load, *audio.compute.pool);
  ASSERT_TRUE(model.has_value()) << model.error().message;
  EXPECT_EQ((*model)->name(), "tiny");
  EXPECT_EQ((*model)->language(), model::lfm2_audio::Language::kEnglish);
  // The backbone is the checkpoint's.
  const auto original = model::lfm2::load_directory(audio.in.path(), *audio.compute.pool);
  ASSERT_TRUE(original.has_value()) << original.error().message;
  EXPECT_EQ(convert_test::logit_bits(audio.compute, (*model)->backbone()),
            convert_test::logit_bits(audio.compute, **original));
}

TEST(ConvertAudio, BatchNormIsFolded) {
  Audio audio;
  audio.convert();
  const auto source = format::SafetensorsFile::open(audio.in.file("model.safetensors"));
  const auto value = [&](const char* name, size_t i) {
    float x = 0;
    const NamedTensor* tensor = *source->get(cat("conformer.layers.0.conv.batch_norm.", name));
    std::memcpy(&x, tensor->view.data + 4 * i, sizeof x);
    return x;
  };
  const format::GgufFile file = open_gguf(audio.out.file("package/mmproj-tiny-F32.gguf"));
  const NamedTensor* weight = file.tensors().find("a.blk.0.conv_norm.weight");
  const NamedTensor* bias = file.tensors().find("a.blk.0.conv_norm.bias");
  ASSERT_TRUE(weight != nullptr && bias != nullptr);
  for (size_t i = 0; i < kEncoder; ++i) {
    float scale = 0;
    float shift = 0;
    std::memcpy(&scale, weight->view.data + 4 * i, sizeof scale);
    std::memcpy(&shift, bias->view.data + 4 * i, sizeof shift);
    const float want = value("weight", i) / std::sqrt(value("running_var", i) + 1e-5f);
    EXPECT_EQ(scale, want);
    EXPECT_EQ(shift, value("bias", i) - value("running_mean", i) * want);
  }
}

TEST(ConvertAudio, ShapesAndTypesAreThoseOfPublishedPackages) {
  Audio audio;
  audio.options.type = FileType::kF16;
  audio.options.language = "ja";
  audio.convert();
  const format::GgufFile mmproj = open_gguf(audio.out.file("package/mmproj-tiny-F16.gguf"));
  const auto expect_tensor = [&](const char* name, const Shape& shape, DType dtype) {
    const NamedTensor* tensor = mmproj.tensors().find(name);
    ASSERT_NE(tensor, nullptr) << name;
    EXPECT_EQ(tensor->view.shape, shape) << name;
    EXPECT_EQ(tensor->view.dtype, dtype) << name;
  };
  expect_tensor("a.conv1d.0.bias", {4, 1, 1}, DType::kF32);
  expect_tensor("a.conv1d.2.weight", {4, 1, 3, 3}, DType::kF32);
  expect_tensor("a.blk.0.conv_pw1.weight", {32, 16}, DType::kF32);
  expect_tensor("a.blk.0.conv_dw.weight", {16, 9}, DType::kF32);
  expect_tensor("a.blk.0.attn_q.weight", {16, 16}, DType::kF16);
  expect_tensor("a.blk.0.pos_bias_u", {2, 8}, DType::kF32);
  expect_tensor("a.position_embd.weight", {48, 32}, DType::kF32);
  expect_tensor("a.embd_to_logits.weight", {48, 32}, DType::kF16);
  EXPECT_EQ(*mmproj.metadata().get_u32("clip.audio.feed_forward_length"), 16U);
  const format::GgufFile vocoder = open_gguf(audio.out.file("package/vocoder-tiny-F16.gguf"));
  EXPECT_NE(vocoder.tensors().find("depthformer.layers.0.operator.attention.q_layernorm.weight"),
            nullptr);
  EXPECT_FALSE(vocoder.metadata().has("general.file_type"));
  EXPECT_EQ(*vocoder.metadata().get_u32("interleaved_n_audio"), 12U);
  EXPECT_EQ(*vocoder.metadata().get_u32("rill.bounds.codebooks"), 8U);
  const format::GgufFile backbone = open_gguf(audio.out.file("package/tiny-F16.gguf"));
  EXPECT_EQ(*backbone.metadata().get_strings("general.languages"), std::vector<std::string>{"ja"});
}

TEST(ConvertAudio, LeanLeavesOutWhatNothingReads) {
  Audio audio;
  audio.options.lean = true;
  audio.convert();
  const format::GgufFile mmproj = open_gguf(audio.out.file("package/mmproj-tiny-F32.gguf"));
  EXPECT_EQ(mmproj.tensors().find("a.embd_to_logits.weight"), nullptr);
  EXPECT_NE(mmproj.tensors().find("a.position_embd.weight"), nullptr);
  const format::GgufFile vocoder = open_gguf(audio.out.file("package/vocoder-tiny-F32.gguf"));
  EXPECT_EQ(vocoder.tensors().find("audio_embedding.embedding.weight"), nullptr);
}

TEST(ConvertAudio, TheModelsOwnDefaultsGoIntoTheBackbonesFile) {
  Audio audio;
  audio.options.defaults = {
      {"tts.temperature", "0"}, {"s2s.temperature", "0.5"}, {"tts.text_chunk_mode", "endline"}};
  audio.convert();
  QuantizeOptions options;
  options.input = audio.options.output;
  options.output = audio.out.file("q8");
  options.type = FileType::kQ8_0;
  ASSERT_TRUE(quantize_model(options, *audio.compute.pool).has_value());
  for (const char* path : {"package/tiny-F32.gguf", "q8/tiny-Q8_0.gguf"}) {
    const format::GgufFile file = open_gguf(audio.out.file(path));
    EXPECT_EQ(*file.metadata().get_u32("rill.generation.tts.temperature"), 0U);
    EXPECT_EQ(*file.metadata().get_float("rill.generation.s2s.temperature"), 0.5);
    EXPECT_EQ(*file.metadata().get_string("rill.generation.tts.text_chunk_mode"), "endline");
  }
  EXPECT_FALSE(open_gguf(audio.out.file("package/mmproj-tiny-F32.gguf"))
                   .metadata()
                   .has("rill.generation.tts.temperature"));
}

TEST(ConvertAudio, QuantizesThePackage) {
  Audio audio;
  audio.convert();
  QuantizeOptions options;
  options.input = audio.options.output;
  options.output = audio.out.file("q8");
  options.type = FileType::kQ8_0;
  const auto report = quantize_model(options, *audio.compute.pool);
  ASSERT_TRUE(report.has_value()) << report.error().message;
  model::lfm2_audio::LoadOptions load;
  load.use = model::lfm2_audio::Use::kSpeak;
  const auto model = model::lfm2_audio::Model::load(options.output, load, *audio.compute.pool);
  ASSERT_TRUE(model.has_value()) << model.error().message;
  EXPECT_TRUE(std::filesystem::exists(audio.out.file("q8/mmproj-tiny-Q8_0.gguf")));
}

TEST(ConvertAudio, RefusesAnotherFrontEndAndEncoder) {
  Audio audio;
  audio.in.change("config.json", "\"sample_rate\": 16000", "\"sample_rate\": 8000");
  audio.expect(ErrorCode::kUnsupported, "preprocessor.sample_rate: got 8000, expected 16000");
  audio.in.change("config.json", "\"sample_rate\": 8000", "\"sample_rate\": 16000");
  audio.in.change("config.json", "\"batch_norm\"", "\"layer_norm\"");
  audio.expect(ErrorCode::kUnsupported, "encoder.conv_norm_type: got \"layer_norm\"");
}

TEST(ConvertAudio, RefusesMissingPartsByName) {
  Audio audio;
  audio.in.change("config.json", "\"codebooks\"", "\"books\"");
  audio.expect(ErrorCode::kNotFound, "codebooks: got no such key");
  audio.in.change("config.json", "\"books\"", "\"codebooks\"");
  audio.in.change("config.json", "\"codebooks\": 8", "\"codebooks\": 7");
  audio.expect(ErrorCode::kInvalidFormat, "depth_linear.weight: got shape [128, 32]");
  std::filesystem::remove_all(audio.in.file("audio_detokenizer"));
  audio.expect(ErrorCode::kNotFound, "audio_detokenizer/config.json");
}

}  // namespace
}  // namespace rill::convert
