// SPDX-License-Identifier: Apache-2.0
#include "convert/quantize.h"

#include <gtest/gtest.h>

#include "convert/quantize_rules.h"
#include "format/portable.h"
#include "quant/quantize.h"
#include "unit/convert/convert_support.h"

namespace rill::convert {
namespace {

using convert_test::expect_error;
using convert_test::Folder;
using convert_test::open_gguf;
using lfm2_test::Compute;
using lfm2_test::TinyModel;
using lfm2_test::TinySpec;

/// A model in a file, and a place beside it.
struct Fixture {
  Compute compute;
  Folder folder{"quantize"};
  QuantizeOptions options;

  explicit Fixture(const TinySpec& spec) {
    TinyModel model(spec);
    model.builder().u32("general.file_type", 0).string("general.name", "tiny");
    test::write_file(folder.file("in.gguf"), model.bytes());
    options.input = folder.file("in.gguf");
    options.output = folder.file("out.gguf");
  }
  Report quantize(FileType type) {
    options.type = type;
    options.overwrite = true;
    auto report = quantize_model(options, *compute.pool);
    EXPECT_TRUE(report.has_value()) << (report ? "" : report.error().message);
    return report ? std::move(report).value() : Report{};
  }
};

const TinySpec kWide = {.layers = "caca", .D = 256, .I = 256, .vocab = 64};

DType type_of(const format::GgufFile& file, std::string_view name) {
  const NamedTensor* tensor = file.tensors().find(name);
  RILL_CHECK(tensor != nullptr, "no such tensor");
  return tensor->view.dtype;
}

class QuantizeType : public testing::TestWithParam<FileType> {};

TEST_P(QuantizeType, FileLoadsAndStatesWhatItHolds) {
  Fixture f(kWide);
  f.quantize(GetParam());
  const format::GgufFile file = open_gguf(f.options.output);
  const Status portable = format::check_portable(file);
  EXPECT_TRUE(portable.has_value()) << (portable ? "" : portable.error().message);
  EXPECT_EQ(*file.metadata().get_u32("general.file_type"), static_cast<uint32_t>(GetParam()));
  EXPECT_EQ(*file.metadata().get_string("general.name"), "tiny");
  EXPECT_EQ(type_of(file, "blk.0.shortconv.in_proj.weight"), base_dtype(GetParam()));
  EXPECT_EQ(type_of(file, "blk.0.shortconv.conv.weight"), DType::kF32);
  EXPECT_EQ(type_of(file, "blk.1.attn_q_norm.weight"), DType::kF32);
  auto model = model::lfm2::load_gguf(file, {}, *f.compute.pool);
  ASSERT_TRUE(model.has_value()) << model.error().message;
  convert_test::logit_bits(f.compute, **model);
}

INSTANTIATE_TEST_SUITE_P(AllTypes, QuantizeType,
                         testing::Values(FileType::kF32, FileType::kF16, FileType::kBF16,
                                         FileType::kQ8_0, FileType::kQ6_K, FileType::kQ5_K_M,
                                         FileType::kQ4_K_M, FileType::kQ4_0),
                         [](const auto& instance) {
                           return std::string(file_type_name(instance.param));
                         });

TEST(Quantize, BlocksAreThoseOfQuantizeRow) {
  Fixture f(kWide);
  f.quantize(FileType::kQ4_K_M);
  const format::GgufFile in = open_gguf(f.options.input);
  const format::GgufFile out = open_gguf(f.options.output);
  for (const NamedTensor& tensor : out.tensors().all()) {
    const TensorView& source = in.tensors().find(tensor.name)->view;
    const size_t cols = source.shape.cols();
    for (size_t row = 0; row < source.shape.rows(); ++row) {
      std::vector<float> values(cols);
      std::memcpy(values.data(), source.data + row * cols * sizeof(float), cols * sizeof(float));
      const size_t size = row_bytes(tensor.view.dtype, cols);
      std::vector<std::byte> want(size);
      quant::quantize_row(tensor.view.dtype, values, want.data());
      ASSERT_EQ(std::memcmp(want.data(), tensor.view.data + row * size, size), 0) << tensor.name;
    }
  }
}

TEST(Quantize, FileDoesNotDependOnThreads) {
  Fixture f(kWide);
  f.quantize(FileType::kQ5_K_M);
  const std::string two = f.folder.read("out.gguf");
  const auto one = ThreadPool::create(1);
  const auto report = quantize_model(f.options, **one);
  ASSERT_TRUE(report.has_value());
  EXPECT_EQ(f.folder.read("out.gguf"), two);
}

TEST(Quantize, SparseModelKeepsItsRouter) {
  Fixture f({.layers = "cac", .D = 64, .I = 64, .experts = 4});
  const Report report = f.quantize(FileType::kQ8_0);
  const format::GgufFile file = open_gguf(f.options.output);
  EXPECT_EQ(type_of(file, "blk.1.ffn_gate_inp.weight"), DType::kF32);
  EXPECT_EQ(type_of(file, "blk.1.ffn_gate_exps.weight"), DType::kQ8_0);
  // Experts of 16 columns fit no block.
  EXPECT_EQ(type_of(file, "blk.1.ffn_down_exps.weight"), DType::kF16);
  EXPECT_NE(to_text(report).find("router: rounding it would change which experts are chosen"),
            std::string::npos);
  EXPECT_NE(to_text(report).find("rows of 16 are not a multiple of 32, which Q8_0 needs"),
            std::string::npos);
  EXPECT_TRUE(model::lfm2::load_gguf(file, {}, *f.compute.pool).has_value());
}

TEST(Quantize, RefusesWhatIsQuantizedAlready) {
  Fixture f(kWide);
  f.quantize(FileType::kQ8_0);
  f.options.input = f.options.output;
  f.options.output = f.folder.file("again.gguf");
  f.options.type = FileType::kQ4_0;
  expect_error(quantize_model(f.options, *f.compute.pool), ErrorCode::kInvalidArgument,
               "token_embd.weight: got Q8_0, which has lost precision already");
  EXPECT_FALSE(std::filesystem::exists(f.options.output));
  f.options.allow_requantize = true;
  f.quantize(FileType::kQ4_0);
  EXPECT_EQ(type_of(open_gguf(f.options.output), "blk.0.ffn_up.weight"), DType::kQ4_0);
}

TEST(Quantize, SameTypeAgainIsACopy) {
  Fixture f(kWide);
  f.quantize(FileType::kQ8_0);
  const std::string first = f.folder.read("out.gguf");
  f.options.input = f.options.output;
  f.options.output = f.folder.file("again.gguf");
  f.quantize(FileType::kQ8_0);
  EXPECT_EQ(f.folder.read("again.gguf"), first);
}

TEST(Quantize, MayReplaceItsInput) {
  Fixture f(kWide);
  f.quantize(FileType::kQ6_K);
  const std::string want = f.folder.read("out.gguf");
  f.options.output = f.options.input;
  f.quantize(FileType::kQ6_K);
  EXPECT_EQ(f.folder.read("in.gguf"), want);
}

TEST(Quantize, RefusesValuesThatAreNotFinite) {
  Fixture f(kWide);
  std::string bytes = f.folder.read("in.gguf");
  const uint32_t nan = 0x7FC00000;
  {
    const format::GgufFile file = open_gguf(f.options.input);
    const NamedTensor* tensor = file.tensors().find("blk.1.attn_q.weight");
    std::memcpy(bytes.data() + tensor->file_offset + 40, &nan, sizeof nan);
  }
  f.folder.write("in.gguf", bytes);
  f.options.type = FileType::kQ8_0;
  expect_error(quantize_model(f.options, *f.compute.pool), ErrorCode::kInvalidArgument,
               "blk.1.attn_q.weight: got a value that is not finite");
  EXPECT_EQ(f.folder.names(), std::vector<std::string>{"in.gguf"});
}

TEST(Quantize, RefusesBadPaths) {
  Fixture f(kWide);
  f.options.type = FileType::kQ8_0;
  QuantizeOptions options = f.options;
  options.output = options.input;
  expect_error(quantize_model(options, *f.compute.pool), ErrorCode::kInvalidArgument, "it exists");
  options = f.options;
  options.input = f.folder.file("nosuch.gguf");
  expect_error(quantize_model(options, *f.compute.pool), ErrorCode::kNotFound, "nosuch.gguf");
  options = f.options;
  options.output = f.folder.file("no/such/out.gguf");
  expect_error(quantize_model(options, *f.compute.pool), ErrorCode::kNotFound, "no/such");
}

TEST(ChooseType, MixesGiveMoreBitsToSomeLayers) {
  FileFacts facts;
  facts.num_layers = 16;
  facts.num_attention_layers = 6;
  facts.tied_head = true;
  const Shape shape = {256, 256};
  const auto type = [&](FileType file, std::string_view name, size_t attention = 0) {
    return choose_type(file, name, shape, facts, attention).dtype;
  };
  EXPECT_EQ(type(FileType::kQ4_K_M, "token_embd.weight"), DType::kQ6_K);
  EXPECT_EQ(type(FileType::kQ4_0, "token_embd.weight"), DType::kQ6_K);
  EXPECT_EQ(type(FileType::kQ8_0, "token_embd.weight"), DType::kQ8_0);
  std::string down;
  for (size_t i = 0; i < 16; ++i) {
    const DType dtype = type(FileType::kQ4_K_M, cat("blk.", i, ".ffn_down.weight"));
    down += dtype == DType::kQ6_K ? '6' : '4';
  }
  EXPECT_EQ(down, "6644644644644666");
  EXPECT_EQ(type(FileType::kQ5_K_M, "blk.2.attn_v.weight", 2), DType::kQ6_K);
  EXPECT_EQ(type(FileType::kQ5_K_M, "blk.5.attn_v.weight", 1), DType::kQ5_K);
  EXPECT_EQ(type(FileType::kQ6_K, "blk.0.ffn_down.weight"), DType::kQ6_K);
  facts.tied_head = false;
  EXPECT_EQ(type(FileType::kQ4_0, "token_embd.weight"), DType::kQ4_0);
  EXPECT_EQ(type(FileType::kQ4_0, "output.weight"), DType::kQ6_K);
}

TEST(ChooseType, RowsThatAreNotWholeBlocksFallBack) {
  const FileFacts facts;
  const auto choose = [&](FileType file, size_t cols) {
    return choose_type(file, "blk.0.ffn_up.weight", {8, cols}, facts, 0);
  };
  EXPECT_EQ(choose(FileType::kQ4_K_M, 512).dtype, DType::kQ4_K);
  EXPECT_EQ(choose(FileType::kQ4_K_M, 160).dtype, DType::kQ5_0);
  EXPECT_EQ(choose(FileType::kQ5_K_M, 160).dtype, DType::kQ5_1);
  EXPECT_EQ(choose(FileType::kQ6_K, 160).dtype, DType::kQ8_0);
  EXPECT_EQ(choose(FileType::kQ6_K, 161).dtype, DType::kF16);
  EXPECT_EQ(choose(FileType::kQ4_0, 161).dtype, DType::kF16);
  EXPECT_EQ(choose(FileType::kQ4_K_M, 160).note,
            "rows of 160 are not a multiple of 256, which Q4_K needs");
  EXPECT_EQ(choose(FileType::kQ4_K_M, 512).note, "");
}

TEST(ChooseType, EncoderConvolutionsAreOnlyQuantizedWithTheRest) {
  FileFacts facts;
  facts.is_encoder = true;
  const auto type = [&](FileType file, std::string_view name) {
    return choose_type(file, name, {512, 512}, facts, 0).dtype;
  };
  EXPECT_EQ(type(FileType::kF16, "a.blk.0.conv_pw1.weight"), DType::kF32);
  EXPECT_EQ(type(FileType::kQ8_0, "a.blk.0.conv_pw1.weight"), DType::kQ8_0);
  EXPECT_EQ(type(FileType::kQ8_0, "a.blk.0.conv_dw.weight"), DType::kF32);
  EXPECT_EQ(type(FileType::kQ8_0, "a.position_embd.weight"), DType::kF32);
  EXPECT_EQ(type(FileType::kQ8_0, "a.blk.0.pos_bias_u"), DType::kF32);
  EXPECT_EQ(type(FileType::kF16, "a.blk.0.attn_q.weight"), DType::kF16);
}

TEST(FileTypeByName, TakesBothCasesAndNamesTheChoices) {
  EXPECT_EQ(*file_type_by_name("q4_k_m"), FileType::kQ4_K_M);
  EXPECT_EQ(*file_type_by_name("BF16"), FileType::kBF16);
  expect_error(
      file_type_by_name("Q3_K"), ErrorCode::kInvalidArgument,
      "type: got 'Q3_K', expected one of F32, F16, BF16, Q8_0, Q6_K, Q5_K_M, Q4_K_M, Q4_0");
}

}  // namespace
}  // namespace rill::convert
