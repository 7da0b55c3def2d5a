// SPDX-License-Identifier: Apache-2.0
// What the audio conformance tests share: the tiny package, its reference vectors, and how values
// are compared.
#pragma once

#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <map>
#include <memory>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/cpu_features.h"
#include "base/json.h"
#include "base/thread_pool.h"
#include "kernels/kernel_table.h"
#include "model/lfm2_audio/package.h"
#include "ops/context.h"
#include "support/test_data.h"
#include "tensor/trace.h"

namespace rill::audio_test {

/// Threads, kernels and scratch memory for ops.
struct Compute {
  explicit Compute(size_t num_threads = 2) {
    auto created = ThreadPool::create(num_threads);
    RILL_CHECK(created.has_value(), "thread pool");
    pool = std::move(created).value();
    const char* isa = std::getenv("RILL_ISA");
    auto tier = choose_isa_tier(isa != nullptr ? isa : "");
    RILL_CHECK(tier.has_value(), "RILL_ISA");
    context = {&kernels::kernel_table(*tier), pool.get(), &arena};
  }
  std::unique_ptr<ThreadPool> pool;
  Arena arena;
  ops::Context context;
};

inline Tensor make_tensor(size_t rows, size_t cols) {
  auto created = Tensor::create(rows, cols);
  RILL_CHECK(created.has_value(), "out of memory");
  return std::move(created).value();
}

inline std::vector<float> copy_of(ConstMat mat) {
  std::vector<float> out;
  out.reserve(mat.rows * mat.cols);
  for (size_t r = 0; r < mat.rows; ++r) out.insert(out.end(), mat.row(r), mat.row(r) + mat.cols);
  return out;
}

/// A file of reference values of the tiny model.
class AudioVectors : public test::Vectors {
 public:
  explicit AudioVectors(const std::string& name)
      : Vectors(test::data_path("models/audio/vectors/" + name + ".safetensors")) {}

  /// A [channels, ...] vector as [..., channels].
  [[nodiscard]] std::vector<float> channels_last(const std::string& name) const {
    const std::vector<float> in = floats(name);
    const size_t channels = shape(name).dim(0);
    const size_t places = in.size() / channels;
    std::vector<float> out(in.size());
    for (size_t c = 0; c < channels; ++c) {
      for (size_t p = 0; p < places; ++p) out[p * channels + c] = in[c * places + p];
    }
    return out;
  }
  [[nodiscard]] Tensor matrix(const std::string& name) const {
    const std::vector<float> in = floats(name);
    Tensor out = make_tensor(shape(name).rows(), shape(name).cols());
    std::copy(in.begin(), in.end(), out.data());
    return out;
  }
  [[nodiscard]] const std::vector<NamedTensor>& all() const { return file().tensors().all(); }
};

using test::relative_rms;

/// Keeps a copy of every stage.
struct Recorder {
  std::map<std::string, std::vector<float>, std::less<>> stages;
  Trace trace{[](void* user, std::string_view name, ConstMat value) {
                static_cast<Recorder*>(user)->stages[std::string(name)] = copy_of(value);
              },
              this};
};

inline Json read_json(const std::string& name) {
  const auto bytes = test::read_file(test::data_path("models/audio/vectors/" + name + ".json"));
  auto parsed = parse_json(test::to_text(bytes));
  RILL_CHECK(parsed.has_value(), "vectors: no JSON");
  return std::move(parsed).value();
}

inline std::vector<int32_t> int_list(const Json& array) {
  std::vector<int32_t> out;
  for (const Json& item : array.items()) out.push_back(static_cast<int32_t>(item.as_int()));
  return out;
}

/// Loads the tiny package of one quantization ("F16", "Q4_0").
inline std::unique_ptr<model::lfm2_audio::Model> load_package(
    const std::string& quantization, Compute& compute,
    model::lfm2_audio::LoadOptions options = {}) {
  options.files.model_gguf = "LFM2.5-Audio-Tiny-" + quantization + ".gguf";
  auto loaded =
      model::lfm2_audio::Model::load(test::data_path("models/audio"), options, *compute.pool);
  EXPECT_TRUE(loaded.has_value()) << loaded.error().message;
  return loaded ? std::move(loaded).value() : nullptr;
}

/// Log-mel frames of a clip, [frames, mel bins].
inline Tensor features(const std::string& clip) {
  const AudioVectors vectors("features");
  const std::vector<float> values = vectors.channels_last(clip);
  const size_t bins = vectors.shape(clip).dim(0);
  Tensor out = make_tensor(values.size() / bins, bins);
  std::copy(values.begin(), values.end(), out.data());
  return out;
}

}  // namespace rill::audio_test
