// SPDX-License-Identifier: Apache-2.0
#include "model/conformer/subsampling.h"

#include <algorithm>
#include <span>

#include "ops/conv.h"
#include "ops/elementwise.h"
#include "ops/matmul.h"

namespace rill::model::conformer {
namespace {

// Output steps per block: images of about 10 MB at 256 channels; the overlap costs a few percent.
constexpr size_t kBlockSteps = 32;

/// Rows [begin, end) of an image's time axis.
struct Rows {
  size_t begin = 0;
  size_t end = 0;
  [[nodiscard]] size_t count() const { return end - begin; }
};

/// What a stride-2 convolution must be given, and how many of its first outputs are then surplus.
struct Source {
  Rows input;
  size_t surplus = 0;
};

/// The input rows for outputs `wanted` of an image of `height` rows. Output y reads rows 2y-1 ..
/// 2y+1, and the first row of what is passed is taken for the image's edge; so the part starts one
/// output early, which is then dropped.
Source source_rows(Rows wanted, size_t height) {
  const size_t first = wanted.begin == 0 ? 0 : wanted.begin - 1;
  return {{2 * first, std::min(height, 2 * wanted.end)}, wanted.begin - first};
}

/// Image buffer: rows of time * frequency, channels contiguous.
Result<Mat> take_image(ops::Context& context, size_t time, size_t width, size_t channels) {
  RILL_ASSIGN_OR_RETURN(const std::span<float> values,
                        context.scratch->take<float>(time * width * channels));
  return Mat{values.data(), time * width, channels, channels};
}

void record(const Trace* trace, std::string_view name, ConstMat value) {
  if (trace != nullptr) (*trace)(name, value);
}

/// conv.0: 3x3 from one channel, as a product with patches; rectified.
Status first_conv(ops::Context& context, const Linear& conv, ConstMat mel, Mat out,
                  const Trace* trace) {
  Arena::Scope scope(*context.scratch);
  RILL_ASSIGN_OR_RETURN(const Mat patches, take_image(context, out.rows, 1, 9));
  ops::im2col_3x3_stride2(context, mel, patches);
  RILL_RETURN_IF_ERROR(ops::matmul(context, patches, conv.weight, conv.bias.data(), out));
  record(trace, "conv.0", out);
  ops::relu(context, out, out);
  return {};
}

/// A stage's place in the image pyramid.
struct Stage {
  const DepthwiseConv& depthwise;
  const Linear& pointwise;
  std::string_view depthwise_name;
  std::string_view pointwise_name;
};

/// Depthwise 3x3 with stride 2, then pointwise; rectified.
Status separable_conv(ops::Context& context, const Stage& stage, ConstMat image,
                      const ops::ImageShape& shape, Mat out, const Trace* trace) {
  Arena::Scope scope(*context.scratch);
  RILL_ASSIGN_OR_RETURN(const Mat filtered, take_image(context, out.rows, 1, out.cols));
  ops::depthwise_conv2d_3x3_stride2(context, image, shape, stage.depthwise.weight.data(),
                                    stage.depthwise.bias.data(), filtered);
  record(trace, stage.depthwise_name, filtered);
  RILL_RETURN_IF_ERROR(
      ops::matmul(context, filtered, stage.pointwise.weight, stage.pointwise.bias.data(), out));
  record(trace, stage.pointwise_name, out);
  ops::relu(context, out, out);
  return {};
}

/// [time * width, C] -> [time, C * width], channel-major: the order of pre_encode's columns.
void flatten_channel_major(ConstMat image, size_t width, Mat out) {
  for (size_t t = 0; t < out.rows; ++t) {
    float* flat = out.row(t);
    for (size_t f = 0; f < width; ++f) {
      const float* channels = image.row(t * width + f);
      for (size_t c = 0; c < image.cols; ++c) flat[c * width + f] = channels[c];
    }
  }
}

/// Steps `wanted` of the output.
Status subsample_block(ops::Context& context, const SubsamplingWeights& weights, ConstMat mel,
                       Rows wanted, Mat out, const Trace* trace) {
  Arena::Scope scope(*context.scratch);
  const size_t height_1 = halve_up(mel.rows);
  const size_t width_1 = halve_up(mel.cols);
  const size_t width_2 = halve_up(width_1);
  const size_t width_3 = halve_up(width_2);
  const size_t channels = weights.conv_0.weight.rows();
  const Source from_2 = source_rows(wanted, halve_up(height_1));
  const Source from_1 = source_rows(from_2.input, height_1);
  const Source from_mel = source_rows(from_1.input, mel.rows);

  RILL_ASSIGN_OR_RETURN(const Mat image_1,
                        take_image(context, halve_up(from_mel.input.count()), width_1, channels));
  RILL_RETURN_IF_ERROR(first_conv(context, weights.conv_0,
                                  mel.row_range(from_mel.input.begin, from_mel.input.count()),
                                  image_1, trace));

  const Mat input_1 = image_1.row_range(from_mel.surplus * width_1, from_1.input.count() * width_1);
  RILL_ASSIGN_OR_RETURN(const Mat image_2,
                        take_image(context, halve_up(from_1.input.count()), width_2, channels));
  RILL_RETURN_IF_ERROR(separable_conv(context, {weights.conv_2, weights.conv_3, "conv.2", "conv.3"},
                                      input_1, {from_1.input.count(), width_1, channels}, image_2,
                                      trace));

  const Mat input_2 = image_2.row_range(from_1.surplus * width_2, from_2.input.count() * width_2);
  RILL_ASSIGN_OR_RETURN(const Mat image_3,
                        take_image(context, halve_up(from_2.input.count()), width_3, channels));
  RILL_RETURN_IF_ERROR(separable_conv(context, {weights.conv_5, weights.conv_6, "conv.5", "conv.6"},
                                      input_2, {from_2.input.count(), width_2, channels}, image_3,
                                      trace));

  RILL_ASSIGN_OR_RETURN(const Mat flat, take_image(context, wanted.count(), 1, channels * width_3));
  flatten_channel_major(image_3.row_range(from_2.surplus * width_3, wanted.count() * width_3),
                        width_3, flat);
  return ops::matmul(context, flat, weights.out.weight, weights.out.bias.data(), out);
}

}  // namespace

Status subsample(ops::Context& context, const SubsamplingWeights& weights, ConstMat mel, Mat out,
                 const Trace* trace) {
  // A trace wants each image in one piece.
  const size_t block = trace != nullptr ? std::max<size_t>(out.rows, 1) : kBlockSteps;
  for (size_t begin = 0; begin < out.rows; begin += block) {
    const Rows wanted = {begin, std::min(out.rows, begin + block)};
    RILL_RETURN_IF_ERROR(subsample_block(context, weights, mel, wanted,
                                         out.row_range(wanted.begin, wanted.count()), trace));
  }
  record(trace, "pre_encode", out);
  return {};
}

}  // namespace rill::model::conformer
