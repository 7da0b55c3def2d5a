// SPDX-License-Identifier: Apache-2.0
// Packages that must be refused: the tiny package with bytes of its headers changed.
#include <gtest/gtest.h>

#include <algorithm>
#include <cstring>
#include <string_view>

#include "kernels/kernel_table.h"
#include "model/lfm2_audio/package.h"
#include "support/test_data.h"

namespace rill::model::lfm2_audio {
namespace {

using Bytes = std::vector<std::byte>;

Bytes read_file(const std::string& name) {
  return test::read_file(test::data_path("models/audio/" + name));
}

/// The tiny package in memory, ready to be damaged.
struct TinyPackage {
  Bytes backbone = read_file("LFM2.5-Audio-Tiny-Q4_0.gguf");
  Bytes mmproj = read_file("mmproj-LFM2.5-Audio-Tiny-Q4_0.gguf");

  [[nodiscard]] Result<std::unique_ptr<Model>> load() const {
    auto pool = ThreadPool::create(1);
    const MemoryFile files[] = {{"tiny.gguf", backbone}, {"mmproj-tiny.gguf", mmproj}};
    return Model::load(files, {}, **pool);
  }
};

/// Overwrites the first occurrence of `from` behind `after` with `to`, which has the same length.
void patch(Bytes& bytes, const std::string& from, const std::string& to,
           const std::string& after = "") {
  ASSERT_EQ(from.size(), to.size());
  const std::string_view text = test::to_text(bytes);
  const size_t found = text.find(from, text.find(after) + after.size());
  ASSERT_NE(found, std::string_view::npos) << from;
  std::memcpy(bytes.data() + found, to.data(), to.size());
}

/// A number as GGUF stores it.
template <typename T>
std::string raw(T value) {
  std::string out(sizeof(value), '\0');
  std::memcpy(out.data(), &value, sizeof(value));
  return out;
}

void expect_refused(const TinyPackage& package, ErrorCode code, const std::string& part) {
  const auto model = package.load();
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, code) << model.error().message;
  EXPECT_NE(model.error().message.find(part), std::string::npos) << model.error().message;
}

TEST(AudioModel, LoadsFromMemory) {
  const TinyPackage package;
  const auto model = package.load();
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->language(), Language::kEnglish);
  EXPECT_EQ((*model)->name(), "LFM2.5 Audio Tiny");
  EXPECT_EQ((*model)->special_ids().im_end, 7);
  EXPECT_EQ((*model)->special_ids().audio_start, 128);
  const conformer::Config& config = (*model)->encoder().config();
  EXPECT_EQ(config.hidden_size, 64u);
  EXPECT_EQ(config.intermediate_size, 256u);
  EXPECT_EQ(config.conv_kernel, 9u);
  EXPECT_EQ(config.subsampling_channels, 32u);
  EXPECT_EQ((*model)->adapter().output_size(), 256u);
}

TEST(AudioModel, TakesItsLanguageFromTheBackbone) {
  TinyPackage package;
  patch(package.backbone, "en", "ja", "general.languages");
  const auto model = package.load();
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->language(), Language::kJapanese);
}

TEST(AudioModel, RefusesOtherLanguages) {
  TinyPackage package;
  patch(package.backbone, "en", "fr", "general.languages");
  expect_refused(
      package, ErrorCode::kUnsupported,
      "tiny.gguf: LFM2-Audio has prompts for en or ja checkpoints, not general.languages = [fr]");
}

TEST(AudioModel, WithoutLanguagesIsEnglish) {
  TinyPackage package;
  patch(package.backbone, "general.languages", "general.Languages");
  const auto model = package.load();
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->language(), Language::kEnglish);
}

TEST(AudioModel, RefusesAnotherProjector) {
  TinyPackage package;
  patch(package.mmproj, "lfm2a", "ultra");
  expect_refused(package, ErrorCode::kUnsupported,
                 "mmproj-tiny.gguf: clip.projector_type: got ultra, expected lfm2a");
}

TEST(AudioModel, RefusesABackboneInPlaceOfTheMmproj) {
  TinyPackage package;
  package.mmproj = package.backbone;
  expect_refused(package, ErrorCode::kUnsupported,
                 "mmproj-tiny.gguf: general.architecture: got lfm2, expected clip");
}

TEST(AudioModel, RefusesAnMmprojInPlaceOfTheBackbone) {
  TinyPackage package;
  package.backbone = package.mmproj;
  expect_refused(package, ErrorCode::kUnsupported, "tiny.gguf");
}

TEST(AudioModel, RefusesAnAdapterOfAnotherWidth) {
  TinyPackage package;
  patch(package.mmproj, raw<uint32_t>(256), raw<uint32_t>(128), "clip.audio.projection_dim");
  expect_refused(package, ErrorCode::kInvalidFormat,
                 "clip.audio.projection_dim: got 128, expected 256, the width of tiny.gguf");
}

TEST(AudioModel, NamesAMissingEncoderTensor) {
  for (const std::string name :
       {"a.conv1d.3.bias", "a.blk.1.linear_pos.weight", "a.blk.0.pos_bias_u",
        "a.blk.1.conv_norm.bias", "a.blk.0.ffn_down_1.weight", "mm.a.mlp.0.weight"}) {
    TinyPackage package;
    std::string renamed = name;
    renamed[0] = 'X';
    patch(package.mmproj, raw<uint64_t>(name.size()) + name, raw<uint64_t>(name.size()) + renamed);
    expect_refused(package, ErrorCode::kNotFound, "mmproj-tiny.gguf: no tensor " + name);
  }
}

TEST(AudioModel, NamesATensorOfAnotherShape) {
  TinyPackage package;
  // [64, 64] as 4096 values in one row: the size stays, the shape does not.
  patch(package.mmproj, raw<uint64_t>(64) + raw<uint64_t>(64),
        raw<uint64_t>(4096) + raw<uint64_t>(1), "a.blk.1.attn_k.weight");
  expect_refused(package, ErrorCode::kInvalidFormat,
                 "mmproj-tiny.gguf: a.blk.1.attn_k.weight: got shape [1, 4096], expected [64, 64]");
}

TEST(AudioModel, RefusesHeadsThatDoNotDivideTheWidth) {
  TinyPackage package;
  patch(package.mmproj, raw<uint32_t>(4), raw<uint32_t>(5),
        "clip.audio.attention.head_count" + raw<uint32_t>(4));
  expect_refused(package, ErrorCode::kInvalidFormat, "clip.audio.attention.head_count: got 5");
}

TEST(AudioModel, NamesAMissingSpecialToken) {
  TinyPackage package;
  patch(package.backbone, "<|audio_start|>", "<|audio_stare|>");
  expect_refused(package, ErrorCode::kNotFound,
                 "tiny.gguf: tokenizer.ggml.tokens has no <|audio_start|>");
}

TEST(AudioModel, RefusesAnotherTokenizer) {
  TinyPackage package;
  patch(package.backbone, "gpt2", "bert", "tokenizer.ggml.model");
  expect_refused(package, ErrorCode::kUnsupported, "tokenizer.ggml.model: got bert, expected gpt2");
}

TEST(AudioModel, AFileOfADirectoryIsNamedWithItsPath) {
  auto pool = ThreadPool::create(1);
  LoadOptions options;
  options.files.model_gguf = "nothing.gguf";
  const auto model = Model::load(test::data_path("models/audio"), options, **pool);
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, ErrorCode::kNotFound);
}

/// The four files of the tiny package in memory.
struct SpeakingPackage {
  Bytes backbone = read_file("LFM2.5-Audio-Tiny-F16.gguf");
  Bytes mmproj = read_file("mmproj-LFM2.5-Audio-Tiny-F16.gguf");
  Bytes vocoder = read_file("vocoder-LFM2.5-Audio-Tiny-F16.gguf");
  Bytes detokenizer = read_file("tokenizer-LFM2.5-Audio-Tiny-F16.gguf");

  [[nodiscard]] Result<std::unique_ptr<Model>> load() const {
    auto pool = ThreadPool::create(1);
    const MemoryFile files[] = {{"tiny.gguf", backbone},
                                {"mmproj-tiny.gguf", mmproj},
                                {"vocoder-tiny.gguf", vocoder},
                                {"tokenizer-tiny.gguf", detokenizer}};
    LoadOptions options;
    options.use = Use::kSpeak;
    return Model::load(files, options, **pool);
  }
};

void expect_refused(const SpeakingPackage& package, ErrorCode code, const std::string& part) {
  const auto model = package.load();
  ASSERT_FALSE(model);
  EXPECT_EQ(model.error().code, code) << model.error().message;
  EXPECT_NE(model.error().message.find(part), std::string::npos) << model.error().message;
}

TEST(SpeakingModel, LoadsFromMemory) {
  const SpeakingPackage package;
  const auto model = package.load();
  ASSERT_TRUE(model) << model.error().message;
  ASSERT_NE((*model)->speech(), nullptr);
  const depthformer::Config& config = (*model)->speech()->depthformer().config();
  EXPECT_EQ(config.num_codebooks, 8u);
  EXPECT_EQ(config.audio_vocab_size, 129u);
  EXPECT_EQ(config.num_heads, 32u);
  EXPECT_EQ(config.num_kv_heads, 8u);
  EXPECT_EQ((*model)->speech()->detokenizer().frame_samples(), 1920u);
  EXPECT_EQ((*model)->speech()->interleave().num_text, 6u);
  EXPECT_EQ((*model)->speech()->interleave().num_audio, 12u);
}

TEST(SpeakingModel, RefusesAnotherFileInPlaceOfTheVocoder) {
  SpeakingPackage package;
  package.vocoder = package.mmproj;
  expect_refused(package, ErrorCode::kUnsupported,
                 "vocoder-tiny.gguf: general.architecture: got clip");
}

TEST(SpeakingModel, RefusesAnotherFileInPlaceOfTheDetokenizer) {
  SpeakingPackage package;
  package.detokenizer = package.backbone;
  expect_refused(package, ErrorCode::kInvalidFormat,
                 "tokenizer-tiny.gguf: lfm2.attention.sliding_window: no such key");
}

TEST(SpeakingModel, NamesAMissingTensorOfEachFile) {
  const auto rename = [](Bytes& bytes, const std::string& name) {
    std::string renamed = name;
    renamed[0] = 'X';
    patch(bytes, raw<uint64_t>(name.size()) + name, raw<uint64_t>(name.size()) + renamed);
  };
  for (const std::string name :
       {"depth_linear.bias", "depthformer.layers.1.feed_forward.w2.weight",
        "depth_embeddings.7.to_logits.weight", "emb.emb.weight", "istft.window"}) {
    SpeakingPackage package;
    rename(package.vocoder, name);
    expect_refused(package, ErrorCode::kNotFound, "vocoder-tiny.gguf: no tensor " + name);
  }
  SpeakingPackage package;
  rename(package.detokenizer, "dense_2.bias");
  expect_refused(package, ErrorCode::kNotFound, "tokenizer-tiny.gguf: no tensor dense_2.bias");
  package = SpeakingPackage();
  rename(package.mmproj, "a.position_embd.weight");
  expect_refused(package, ErrorCode::kNotFound,
                 "mmproj-tiny.gguf: no tensor a.position_embd.weight");
}

TEST(SpeakingModel, RefusesAVocoderOfAnotherBackbone) {
  SpeakingPackage package;
  // [1024, 256] as [2048, 128]: the size stays.
  patch(package.vocoder, raw<uint64_t>(256) + raw<uint64_t>(1024),
        raw<uint64_t>(128) + raw<uint64_t>(2048), "depth_linear.weight");
  expect_refused(package, ErrorCode::kInvalidFormat,
                 "vocoder-tiny.gguf: depth_linear.weight: got 128 columns, expected 256, the width "
                 "of the backbone");
}

TEST(SpeakingModel, RefusesCodesThatTheDetokenizerDoesNotHave) {
  SpeakingPackage package;
  patch(package.vocoder, raw<uint64_t>(64) + raw<uint64_t>(1024),
        raw<uint64_t>(128) + raw<uint64_t>(512), "emb.emb.weight");
  expect_refused(package, ErrorCode::kInvalidFormat,
                 "vocoder-tiny.gguf: emb.emb.weight: got shape [512, 128], expected [1024, 64]");
}

TEST(SpeakingModel, RefusesAnOutputThatIsNoSpectrumOfTheWindow) {
  SpeakingPackage package;
  patch(package.detokenizer, raw<uint32_t>(1282), raw<uint32_t>(1026), "lfm2.embedding_length_out");
  expect_refused(package, ErrorCode::kInvalidFormat,
                 "tokenizer-tiny.gguf: lfm2.embedding_length_out: got 1026, expected 1282");
}

TEST(SpeakingModel, RefusesAWindowThatVanishes) {
  SpeakingPackage package;
  const auto file = format::GgufFile::parse(package.vocoder, "vocoder");
  ASSERT_TRUE(file);
  const NamedTensor* window = file->tensors().find("istft.window");
  const auto offset = static_cast<size_t>(window->view.data - package.vocoder.data());
  std::fill_n(package.vocoder.begin() + static_cast<std::ptrdiff_t>(offset),
              window->view.size_bytes(), std::byte{0});
  expect_refused(package, ErrorCode::kInvalidFormat, "istft.window");
}

TEST(AudioModel, RefusesFeaturesOfAnotherWidth) {
  const TinyPackage package;
  const auto model = package.load();
  ASSERT_TRUE(model) << model.error().message;
  EXPECT_EQ((*model)->log_mel_config().n_mels, 128u);
  auto pool = ThreadPool::create(1);
  Arena arena;
  ops::Context context = {&kernels::kernel_table(IsaTier::kScalar), pool->get(), &arena};
  const auto mel = Tensor::create(9, 64);
  auto out = Tensor::create(2, 256);
  const Status status = (*model)->embed_speech(context, mel->mat(), out->mat());
  ASSERT_FALSE(status);
  EXPECT_EQ(status.error().message, "encode speech: got features of 64 mel bins, expected 128");
}

}  // namespace
}  // namespace rill::model::lfm2_audio
