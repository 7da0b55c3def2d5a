// SPDX-License-Identifier: Apache-2.0
// Packages that must be refused: the tiny package with bytes of its headers changed.
#include <gtest/gtest.h>

#include <cstring>
#include <string_view>

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

TEST(AudioSteps, OnePerStarted80Milliseconds) {
  EXPECT_EQ(audio_steps(0), 1u);
  EXPECT_EQ(audio_steps(160), 1u);
  EXPECT_EQ(audio_steps(1279), 1u);
  EXPECT_EQ(audio_steps(1280), 2u);
  EXPECT_EQ(audio_steps(16000), 13u);
  EXPECT_EQ(audio_steps(480000), 376u);
}

}  // namespace
}  // namespace rill::model::lfm2_audio
