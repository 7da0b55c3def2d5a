// SPDX-License-Identifier: Apache-2.0
// Loads a small LFM2 file with some of its bytes changed and, if it still loads, runs a few steps.
// The input is a list of (u16 offset, u8 value) patches, after one byte that chooses the kind of
// model.
#include <cstddef>
#include <cstdint>

#include "unit/model/lfm2_support.h"

namespace {

using namespace rill::lfm2_test;

std::vector<std::byte> patched(const TinySpec& spec, const uint8_t* data, size_t size) {
  std::vector<std::byte> bytes = TinyModel(spec).bytes();
  for (size_t i = 0; i + 3 <= size; i += 3) {
    const size_t offset = data[i] | static_cast<size_t>(data[i + 1]) << 8;
    if (offset < bytes.size()) bytes[offset] = static_cast<std::byte>(data[i + 2]);
  }
  return bytes;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size == 0) return 0;
  static Compute compute(1);
  TinySpec spec;
  spec.layers = "ca";
  spec.D = 8;
  spec.heads = 2;
  spec.kv_heads = 1;
  spec.I = 8;
  spec.vocab = 8;
  if ((data[0] & 1) != 0) spec.experts = 2;
  if ((data[0] & 2) != 0) spec.window = 5;
  if ((data[0] & 4) != 0) spec.conv_bias = true;
  const std::vector<std::byte> bytes = patched(spec, data + 1, size - 1);
  const auto file = rill::format::GgufFile::parse(bytes, "fuzz.gguf");
  if (!file) return 0;
  rill::model::lfm2::LoadOptions options;
  if ((data[0] & 8) != 0) options.form = rill::model::lfm2::MatrixForm::kBorrowed;
  const auto loaded = rill::model::lfm2::load_gguf(*file, options, *compute.pool);
  if (!loaded) return 0;
  const Backbone& backbone = **loaded;
  auto state = SequenceState::create(backbone.config(), rill::DType::kF16);
  if (!state) return 0;
  const size_t D = backbone.config().hidden_size;
  std::vector<float> rows(5 * D);
  for (size_t t = 0; t < 5; ++t) {
    if (!backbone.embed(static_cast<int32_t>(t), std::span<float>(rows).subspan(t * D, D)))
      return 0;
  }
  const rill::Mat mat = {rows.data(), 5, D, D};
  (void)backbone.forward(compute.context, mat, *state, mat).has_value();
  return 0;
}
