// SPDX-License-Identifier: Apache-2.0
#include "model/silero_vad/silero_vad.h"

#include <algorithm>
#include <cmath>
#include <filesystem>
#include <string_view>

#include "base/str_cat.h"
#include "ops/elementwise.h"
#include "ops/matmul.h"

namespace rill::model::silero_vad {
namespace {

// Blocks that go through the convolutions at once; bounds the scratch memory.
constexpr size_t kBatch = 32;

void record(const Trace* trace, std::string_view name, ConstMat value) {
  if (trace != nullptr) (*trace)(name, value);
}

Result<Mat> take_mat(Arena& arena, size_t rows, size_t cols) {
  RILL_ASSIGN_OR_RETURN(auto values, arena.take<float>(rows * cols));
  return Mat{values.data(), rows, cols, cols};
}

// The STFT windows of blocks that each follow their context: block, then its end mirrored without
// the last sample. Shapes: samples [kContext + B * kBlock] -> windows [B * kFrames, kWindow].
void make_windows(std::span<const float> samples, Mat windows) {
  constexpr size_t kSeen = kContext + kBlock;
  std::array<float, kSeen + kMirror> padded;
  for (size_t b = 0; b < windows.rows / kFrames; ++b) {
    const float* begin = samples.data() + b * kBlock;
    std::copy(begin, begin + kSeen, padded.begin());
    for (size_t i = 0; i < kMirror; ++i) padded[kSeen + i] = padded[kSeen - 2 - i];
    for (size_t f = 0; f < kFrames; ++f) {
      std::copy_n(padded.data() + f * kHop, kWindow, windows.row(b * kFrames + f));
    }
  }
}

// Shapes: spectrum [N, 2 * kBins] -> magnitude [N, kBins].
void make_magnitude(ConstMat spectrum, Mat magnitude) {
  for (size_t r = 0; r < spectrum.rows; ++r) {
    const float* in = spectrum.row(r);
    for (size_t k = 0; k < kBins; ++k) {
      magnitude.row(r)[k] = std::sqrt(in[k] * in[k] + in[kBins + k] * in[kBins + k]);
    }
  }
}

// A convolution over the frames of each block (kernel 3, padding 1), then ReLU.
struct ConvShape {
  size_t frames_in;
  size_t stride;

  [[nodiscard]] size_t frames_out() const { return (frames_in - 1) / stride + 1; }
};

// Shapes: x [B * frames_in, C] -> [B * frames_out, rows of layer.weight], in scratch memory.
Result<Mat> conv_relu(ops::Context& context, ConstMat x, const Layer& layer,
                      const ConvShape& shape) {
  const size_t blocks = x.rows / shape.frames_in;
  const size_t frames_out = shape.frames_out();
  RILL_ASSIGN_OR_RETURN(const Mat patches,
                        take_mat(*context.scratch, blocks * frames_out, x.cols * kKernel));
  for (size_t r = 0; r < patches.rows; ++r) {
    const size_t block = r / frames_out;
    const size_t centre = r % frames_out * shape.stride;
    for (size_t k = 0; k < kKernel; ++k) {
      const bool inside = centre + k >= 1 && centre + k - 1 < shape.frames_in;
      const float* in = inside ? x.row(block * shape.frames_in + centre + k - 1) : nullptr;
      for (size_t c = 0; c < x.cols; ++c) patches.row(r)[c * kKernel + k] = inside ? in[c] : 0.0f;
    }
  }
  RILL_ASSIGN_OR_RETURN(const Mat out,
                        take_mat(*context.scratch, patches.rows, layer.weight.rows()));
  RILL_RETURN_IF_ERROR(ops::matmul(context, patches, layer.weight, layer.bias.data(), out));
  ops::relu(context, out, out);
  return out;
}

// The LSTM cell from the sum of both products, gates i, f, g, o kHidden each; tanh(x) = 2
// sigmoid(2x) - 1.
void step_cell(ops::Context& context, Mat gates, Mat hidden, Mat cell) {
  float* g = gates.row(0) + 2 * kHidden;
  for (size_t i = 0; i < kHidden; ++i) g[i] = 2.0f * g[i];
  ops::sigmoid(context, gates, gates);
  const float* input = gates.row(0);
  const float* forget = gates.row(0) + kHidden;
  const float* output = gates.row(0) + 3 * kHidden;
  for (size_t i = 0; i < kHidden; ++i) {
    const float candidate = 2.0f * g[i] - 1.0f;
    cell.data[i] = forget[i] * cell.data[i] + input[i] * candidate;
    hidden.data[i] = 2.0f * cell.data[i];
  }
  ops::sigmoid(context, hidden, hidden);
  for (size_t i = 0; i < kHidden; ++i) hidden.data[i] = output[i] * (2.0f * hidden.data[i] - 1.0f);
}

}  // namespace

Result<SileroVad> SileroVad::open(const std::string& path, ThreadPool& pool) {
  std::error_code ignored;
  const bool is_directory = std::filesystem::is_directory(path, ignored);
  RILL_ASSIGN_OR_RETURN(
      const format::SafetensorsFile file,
      format::SafetensorsFile::open(is_directory ? cat(path, "/", kFileName) : path));
  RILL_ASSIGN_OR_RETURN(Weights weights, load_weights(file, pool));
  return SileroVad(std::move(weights));
}

Result<SileroVad> SileroVad::parse(std::span<const std::byte> bytes, std::string name,
                                   ThreadPool& pool) {
  RILL_ASSIGN_OR_RETURN(const format::SafetensorsFile file,
                        format::SafetensorsFile::parse(bytes, std::move(name)));
  RILL_ASSIGN_OR_RETURN(Weights weights, load_weights(file, pool));
  return SileroVad(std::move(weights));
}

Status SileroVadStream::run_lstm(ops::Context& context, ConstMat features,
                                 std::vector<float>& probabilities, const Trace* trace) {
  const Arena::Scope scope(*context.scratch);
  const Mat hidden = {hidden_.data(), 1, kHidden, kHidden};
  const Mat cell = {cell_.data(), 1, kHidden, kHidden};
  RILL_ASSIGN_OR_RETURN(const Mat from_input,
                        take_mat(*context.scratch, features.rows, 4 * kHidden));
  RILL_ASSIGN_OR_RETURN(const Mat gates, take_mat(*context.scratch, 1, 4 * kHidden));
  RILL_ASSIGN_OR_RETURN(const Mat active, take_mat(*context.scratch, 1, kHidden));
  const Layer& in = weights_.lstm_input;
  const Layer& back = weights_.lstm_hidden;
  const Layer& last = weights_.final_conv;
  RILL_RETURN_IF_ERROR(ops::matmul(context, features, in.weight, in.bias.data(), from_input));
  for (size_t b = 0; b < features.rows; ++b) {
    RILL_RETURN_IF_ERROR(ops::matmul(context, hidden, back.weight, back.bias.data(), gates));
    ops::add_scaled(context, from_input.row_range(b, 1), 1.0f, gates);
    step_cell(context, gates, hidden, cell);
    record(trace, "hidden", hidden);
    record(trace, "cell", cell);
    float probability = 0.0f;
    const Mat out = {&probability, 1, 1, 1};
    ops::relu(context, hidden, active);
    RILL_RETURN_IF_ERROR(ops::matmul(context, active, last.weight, last.bias.data(), out));
    ops::sigmoid(context, out, out);
    probabilities.push_back(probability);
  }
  return {};
}

// samples: the context and then whole blocks, at most kBatch.
Status SileroVadStream::run_blocks(ops::Context& context, std::span<const float> samples,
                                   std::vector<float>& probabilities, const Trace* trace) {
  const Arena::Scope scope(*context.scratch);
  const size_t frames = (samples.size() - kContext) / kBlock * kFrames;
  RILL_ASSIGN_OR_RETURN(const Mat windows, take_mat(*context.scratch, frames, kWindow));
  RILL_ASSIGN_OR_RETURN(const Mat spectrum, take_mat(*context.scratch, frames, 2 * kBins));
  RILL_ASSIGN_OR_RETURN(const Mat magnitude, take_mat(*context.scratch, frames, kBins));
  make_windows(samples, windows);
  RILL_RETURN_IF_ERROR(ops::matmul(context, windows, weights_.stft, nullptr, spectrum));
  make_magnitude(spectrum, magnitude);
  record(trace, "magnitude", magnitude);
  RILL_ASSIGN_OR_RETURN(const Mat conv1,
                        conv_relu(context, magnitude, weights_.conv1, {kFrames, 1}));
  record(trace, "conv1", conv1);
  RILL_ASSIGN_OR_RETURN(const Mat conv2, conv_relu(context, conv1, weights_.conv2, {4, 2}));
  record(trace, "conv2", conv2);
  RILL_ASSIGN_OR_RETURN(const Mat conv3, conv_relu(context, conv2, weights_.conv3, {2, 2}));
  record(trace, "conv3", conv3);
  RILL_ASSIGN_OR_RETURN(const Mat conv4, conv_relu(context, conv3, weights_.conv4, {1, 1}));
  record(trace, "conv4", conv4);
  return run_lstm(context, conv4, probabilities, trace);
}

Status SileroVadStream::push(ops::Context& context, std::span<const float> samples,
                             std::vector<float>& probabilities, const Trace* trace) {
  std::vector<float> seen;  // context and whole blocks
  while (pending_.size() + samples.size() >= kBlock) {
    const size_t blocks = std::min((pending_.size() + samples.size()) / kBlock, kBatch);
    const size_t taken = blocks * kBlock - pending_.size();
    seen.assign(context_.begin(), context_.end());
    seen.insert(seen.end(), pending_.begin(), pending_.end());
    seen.insert(seen.end(), samples.begin(), samples.begin() + static_cast<std::ptrdiff_t>(taken));
    pending_.clear();
    samples = samples.subspan(taken);
    RILL_RETURN_IF_ERROR(run_blocks(context, seen, probabilities, trace));
    std::copy(seen.end() - kContext, seen.end(), context_.begin());
  }
  pending_.insert(pending_.end(), samples.begin(), samples.end());
  return {};
}

Status SileroVadStream::finish(ops::Context& context, std::vector<float>& probabilities,
                               const Trace* trace) {
  if (pending_.empty()) return {};
  const std::vector<float> zeros(kBlock - pending_.size(), 0.0f);
  return push(context, zeros, probabilities, trace);
}

}  // namespace rill::model::silero_vad
