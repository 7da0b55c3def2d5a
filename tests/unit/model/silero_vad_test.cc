// SPDX-License-Identifier: Apache-2.0
// Silero VAD: with weights of the test's own against plain loops in double, and, where the real
// ones are installed, against the reference's probabilities and stages.
#include "model/silero_vad/silero_vad.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <cstring>
#include <map>

#include "audio/mono.h"
#include "audio/vad_segments.h"
#include "audio/wav.h"
#include "base/cpu_features.h"
#include "base/str_cat.h"
#include "base/thread_pool.h"
#include "kernels/kernel_table.h"
#include "support/test_data.h"
#include "support/vad_weights.h"

namespace rill::model::silero_vad {
namespace {

struct Compute {
  explicit Compute(size_t threads = 1) {
    auto created = ThreadPool::create(threads);
    RILL_CHECK(created.has_value(), "thread pool");
    pool = std::move(*created);
    const char* isa = std::getenv("RILL_ISA");
    const auto tier =
        choose_isa_tier(isa != nullptr ? isa : "");  // a tier that the host lacks: scalar
    context = {&kernels::kernel_table(tier ? *tier : IsaTier::kScalar), pool.get(), &arena};
  }
  std::unique_ptr<ThreadPool> pool;
  Arena arena;
  ops::Context context;
};

std::vector<float> noise(size_t count, uint64_t seed, float scale) {
  std::vector<float> out(count);
  for (float& value : out) {
    seed = seed * 6364136223846793005u + 1442695040888963407u;
    value = static_cast<float>(static_cast<int32_t>(seed >> 32)) * 0x1p-31f * scale;
  }
  return out;
}

struct StoredTensor {
  std::vector<size_t> shape;
  std::vector<float> values;
};
using StoredTensors = std::map<std::string, StoredTensor>;

StoredTensors random_tensors() {
  const std::vector<std::pair<std::string, std::vector<size_t>>> shapes = {
      {"stft_conv.weight", {258, 1, 256}},
      {"conv1.weight", {128, 129, 3}},
      {"conv1.bias", {128}},
      {"conv2.weight", {64, 128, 3}},
      {"conv2.bias", {64}},
      {"conv3.weight", {64, 64, 3}},
      {"conv3.bias", {64}},
      {"conv4.weight", {128, 64, 3}},
      {"conv4.bias", {128}},
      {"lstm_cell.weight_ih", {512, 128}},
      {"lstm_cell.weight_hh", {512, 128}},
      {"lstm_cell.bias_ih", {512}},
      {"lstm_cell.bias_hh", {512}},
      {"final_conv.weight", {1, 128, 1}},
      {"final_conv.bias", {1}}};
  StoredTensors tensors;
  for (const auto& [name, shape] : shapes) {
    size_t count = 1;
    for (const size_t dim : shape) count *= dim;
    const float scale =
        shape.size() == 1 ? 0.5f : 1.7f / std::sqrt(static_cast<float>(count / shape[0]));
    tensors[name] = {shape, noise(count, 1000 + tensors.size(), scale)};
  }
  return tensors;
}

std::vector<std::byte> safetensors_bytes(const StoredTensors& tensors) {
  std::string header = "{";
  std::vector<std::byte> data;
  for (const auto& [name, tensor] : tensors) {
    if (header.size() > 1) header += ",";
    const size_t size = tensor.values.size() * sizeof(float);
    header += cat("\"", name, "\":{\"dtype\":\"F32\",\"shape\":", std::span(tensor.shape),
                  ",\"data_offsets\":[", data.size(), ",", data.size() + size, "]}");
    data.resize(data.size() + size);
    std::memcpy(data.data() + data.size() - size, tensor.values.data(), size);
  }
  header += "}";
  header.resize((header.size() + 7) / 8 * 8, ' ');
  const uint64_t length = header.size();
  std::vector<std::byte> out(sizeof length);
  std::memcpy(out.data(), &length, sizeof length);
  for (const char c : header) out.push_back(static_cast<std::byte>(c));
  out.insert(out.end(), data.begin(), data.end());
  return out;
}

Result<Weights> weights_of(const StoredTensors& tensors, ThreadPool& pool) {
  const auto bytes = safetensors_bytes(tensors);
  RILL_ASSIGN_OR_RETURN(const auto file, format::SafetensorsFile::parse(bytes, "vad.safetensors"));
  return load_weights(file, pool);
}

std::vector<float> run(const SileroVad& vad, Compute& compute, std::span<const float> samples,
                       size_t piece = 1 << 20) {
  SileroVadStream stream(vad);
  std::vector<float> probabilities;
  for (size_t i = 0; i < samples.size(); i += piece) {
    EXPECT_TRUE(stream.push(
        compute.context, samples.subspan(i, std::min(piece, samples.size() - i)), probabilities));
  }
  EXPECT_TRUE(stream.finish(compute.context, probabilities));
  return probabilities;
}

// The network written out in double, straight from its description.
class PlainNetwork {
 public:
  explicit PlainNetwork(const StoredTensors& tensors) : tensors_(tensors) {}

  double block(std::span<const float> seen) {  // 576 samples
    std::vector<double> x(seen.begin(), seen.end());
    for (size_t i = 0; i < 64; ++i) x.push_back(static_cast<double>(seen[574 - i]));
    std::vector<std::vector<double>> image(129, std::vector<double>(4));
    for (size_t f = 0; f < 4; ++f) {
      for (size_t k = 0; k < 129; ++k) image[k][f] = std::hypot(stft(x, k, f), stft(x, k + 129, f));
    }
    image = conv(image, "conv1", 1);
    image = conv(image, "conv2", 2);
    image = conv(image, "conv3", 2);
    image = conv(image, "conv4", 1);
    return lstm(image);
  }

 private:
  double at(const std::string& name, size_t index) const {
    return static_cast<double>(tensors_.at(name).values[index]);
  }
  double stft(const std::vector<double>& x, size_t row, size_t frame) const {
    double sum = 0.0;
    for (size_t i = 0; i < 256; ++i)
      sum += at("stft_conv.weight", row * 256 + i) * x[frame * 128 + i];
    return sum;
  }
  std::vector<std::vector<double>> conv(const std::vector<std::vector<double>>& in,
                                        const std::string& name, size_t stride) const {
    const size_t length = in[0].size();
    std::vector<std::vector<double>> out(tensors_.at(name + ".bias").values.size());
    for (size_t o = 0; o < out.size(); ++o) {
      for (size_t t = 0; t < length; t += stride) {
        double sum = at(name + ".bias", o);
        for (size_t c = 0; c < in.size(); ++c) {
          for (size_t k = 0; k < 3; ++k) {
            if (t + k < 1 || t + k - 1 >= length) continue;
            sum += at(name + ".weight", (o * in.size() + c) * 3 + k) * in[c][t + k - 1];
          }
        }
        out[o].push_back(std::max(sum, 0.0));
      }
    }
    return out;
  }
  double lstm(const std::vector<std::vector<double>>& features) {
    std::vector<double> gates(512);
    for (size_t g = 0; g < 512; ++g) {
      gates[g] = at("lstm_cell.bias_ih", g) + at("lstm_cell.bias_hh", g);
      for (size_t i = 0; i < 128; ++i) {
        gates[g] += at("lstm_cell.weight_ih", g * 128 + i) * features[i][0];
        gates[g] += at("lstm_cell.weight_hh", g * 128 + i) * hidden_[i];
      }
    }
    auto sigmoid = [](double v) { return 1.0 / (1.0 + std::exp(-v)); };
    double logit = at("final_conv.bias", 0);
    for (size_t i = 0; i < 128; ++i) {
      cell_[i] = sigmoid(gates[128 + i]) * cell_[i] + sigmoid(gates[i]) * std::tanh(gates[256 + i]);
      hidden_[i] = sigmoid(gates[384 + i]) * std::tanh(cell_[i]);
      logit += at("final_conv.weight", i) * std::max(hidden_[i], 0.0);
    }
    return sigmoid(logit);
  }

  const StoredTensors& tensors_;
  std::vector<double> hidden_ = std::vector<double>(128);
  std::vector<double> cell_ = std::vector<double>(128);
};

TEST(SileroVadStream, EqualsThePlainNetwork) {
  Compute compute;
  const StoredTensors tensors = random_tensors();
  auto weights = weights_of(tensors, *compute.pool);
  ASSERT_TRUE(weights) << weights.error().message;
  const SileroVad vad(std::move(*weights));
  const std::vector<float> samples = noise(512 * 5 + 100, 7, 0.5f);
  const std::vector<float> probabilities = run(vad, compute, samples);
  ASSERT_EQ(probabilities.size(), 6u);

  PlainNetwork plain(tensors);
  std::vector<float> padded(64, 0.0f);
  padded.insert(padded.end(), samples.begin(), samples.end());
  padded.resize(64 + 512 * 6, 0.0f);
  float smallest = 1.0f;
  float largest = 0.0f;
  for (size_t b = 0; b < 6; ++b) {
    const double expected = plain.block(std::span(padded).subspan(b * 512, 576));
    EXPECT_NEAR(static_cast<double>(probabilities[b]), expected, 2e-6) << b;
    smallest = std::min(smallest, probabilities[b]);
    largest = std::max(largest, probabilities[b]);
  }
  EXPECT_GT(largest - smallest, 1e-3f);  // the blocks do differ
}

TEST(SileroVadStream, AnyCutAndAnyNumberOfThreadsGiveTheSameBits) {
  Compute one(1);
  Compute three(3);
  auto weights = weights_of(random_tensors(), *one.pool);
  ASSERT_TRUE(weights);
  const SileroVad vad(std::move(*weights));
  const std::vector<float> samples = noise(512 * 70 + 1, 9, 0.5f);
  const std::vector<float> whole = run(vad, one, samples);
  EXPECT_EQ(whole.size(), 71u);
  EXPECT_EQ(run(vad, three, samples), whole);
  for (const size_t piece : {size_t{100}, size_t{511}, size_t{512}, size_t{513}, size_t{20000}}) {
    EXPECT_EQ(run(vad, one, samples, piece), whole) << piece;
  }
}

TEST(SileroVadStream, NoSamplesGiveNoBlocks) {
  Compute compute;
  auto weights = weights_of(random_tensors(), *compute.pool);
  ASSERT_TRUE(weights);
  const SileroVad vad(std::move(*weights));
  EXPECT_TRUE(run(vad, compute, {}).empty());
  EXPECT_EQ(run(vad, compute, std::vector<float>(1)).size(), 1u);
}

TEST(LoadWeights, NamesTheTensorThatDoesNotFit) {
  Compute compute;
  const StoredTensors good = random_tensors();
  for (const auto& [name, tensor] : good) {
    StoredTensors missing = good;
    missing.erase(name);
    auto weights = weights_of(missing, *compute.pool);
    ASSERT_FALSE(weights) << name;
    EXPECT_EQ(weights.error().code, ErrorCode::kNotFound);
    EXPECT_NE(weights.error().message.find(cat("vad.safetensors: no tensor ", name)),
              std::string::npos);
    StoredTensors wrong = good;
    wrong[name].shape[0] += 1;
    wrong[name].values.resize(wrong[name].values.size() / good.at(name).shape[0] *
                              wrong[name].shape[0]);
    weights = weights_of(wrong, *compute.pool);
    ASSERT_FALSE(weights) << name;
    EXPECT_EQ(weights.error().code, ErrorCode::kInvalidFormat);
    EXPECT_NE(weights.error().message.find(cat(name, ": got shape [")), std::string::npos)
        << weights.error().message;
  }
}

// Stages of all blocks, by name.
struct Recorder {
  std::map<std::string, std::vector<float>> stages;

  [[nodiscard]] Trace trace() {
    return {[](void* user, std::string_view name, ConstMat value) {
              std::vector<float>& out = static_cast<Recorder*>(user)->stages[std::string(name)];
              for (size_t r = 0; r < value.rows; ++r)
                out.insert(out.end(), value.row(r), value.row(r) + value.cols);
            },
            this};
  }
};

std::vector<float> read_clip(const std::string& clip) {
  auto source = audio::FileSource::open(test::data_path(cat("audio/", clip, ".wav")));
  auto reader = audio::WavReader::open(std::move(source).value());
  return audio::read_mono(*reader.value()).value();
}

TEST(SileroVad, MatchesTheReferenceWithTheRealWeights) {
  const auto path = test::vad_weights();
  if (!path) GTEST_SKIP() << test::kNoVadWeights;
  Compute compute(2);
  auto vad = SileroVad::open(*path, *compute.pool);
  ASSERT_TRUE(vad) << vad.error().message;
  const test::Vectors vectors(test::data_path("audio/vad.safetensors"));
  for (const std::string clip : {"vad_speech_16k", "tone_16k", "silence_16k", "burst_16k"}) {
    const std::vector<float> expected = vectors.floats(clip + ".probability");
    const std::vector<float> got = run(*vad, compute, read_clip(clip));
    ASSERT_EQ(got.size(), expected.size()) << clip;
    for (size_t i = 0; i < got.size(); ++i)
      EXPECT_NEAR(got[i], expected[i], 5e-6) << clip << ", block " << i;
    EXPECT_LT(test::relative_rms(got, expected), 5e-6) << clip;
  }
}

TEST(SileroVad, StagesMatchTheReferenceWithTheRealWeights) {
  const auto path = test::vad_weights();
  if (!path) GTEST_SKIP() << test::kNoVadWeights;
  Compute compute(2);
  auto vad = SileroVad::open(*path, *compute.pool);
  ASSERT_TRUE(vad) << vad.error().message;
  const test::Vectors vectors(test::data_path("audio/vad.safetensors"));
  Recorder recorder;
  const Trace trace = recorder.trace();
  SileroVadStream stream(*vad);
  std::vector<float> probabilities;
  ASSERT_TRUE(stream.push(compute.context, read_clip("vad_speech_16k"), probabilities, &trace));
  for (const size_t block : {size_t{0}, size_t{30}, size_t{60}}) {
    for (const std::string stage :
         {"magnitude", "conv1", "conv2", "conv3", "conv4", "hidden", "cell"}) {
      const std::string name = cat("vad_speech_16k.block", block, ".", stage);
      const Shape shape = vectors.shape(name);  // [channels, frames] or [channels]
      const size_t channels = shape.dim(0);
      const size_t frames = shape.num_elements() / channels;
      const std::vector<float>& all = recorder.stages[stage];
      ASSERT_GE(all.size(), (block + 1) * shape.num_elements()) << name;
      std::vector<float> got(shape.num_elements());
      for (size_t f = 0; f < frames; ++f) {
        for (size_t c = 0; c < channels; ++c)
          got[c * frames + f] = all[(block * frames + f) * channels + c];
      }
      EXPECT_LT(test::relative_rms(got, vectors.floats(name)), 5e-6) << name;
    }
  }
}

}  // namespace
}  // namespace rill::model::silero_vad
