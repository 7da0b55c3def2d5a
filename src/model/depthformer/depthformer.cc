// SPDX-License-Identifier: Apache-2.0
// Per codebook i: e = slice i of depth_linear(hidden) (+ the embedding of code i-1); one step of
// the transformer at position i; logits = to_logits_i(rms_norm(out, embedding_norm_i)). There is no
// other final norm. Source: liquid-audio model/lfm2_audio.py, LFM2AudioModel._sample_audio_frame.
#include "model/depthformer/depthformer.h"

#include <cmath>
#include <utility>

#include "base/str_cat.h"
#include "ops/elementwise.h"
#include "ops/matmul.h"
#include "ops/rope.h"

namespace rill::model::depthformer {
namespace {

Result<Mat> take_row(ops::Context& context, size_t cols) {
  RILL_ASSIGN_OR_RETURN(const std::span<float> values, context.scratch->take<float>(cols));
  return Mat{values.data(), 1, cols, cols};
}

}  // namespace

Result<Depthformer> Depthformer::load(const WeightReader& reader, const Config& config) {
  Depthformer depthformer;
  depthformer.config_ = config;
  RILL_ASSIGN_OR_RETURN(depthformer.weights_, load_weights(reader, config));
  RILL_ASSIGN_OR_RETURN(depthformer.cos_sin_,
                        Tensor::create(config.num_codebooks, config.head_dim));
  const std::vector<float> inv_freq = ops::rope_inv_freq(config.head_dim, Config::kRopeTheta);
  ops::rope_table(inv_freq, 0, depthformer.cos_sin_.mat());
  return depthformer;
}

size_t Depthformer::frame_bytes() const {
  size_t step = 0;
  for (const LayerWeights& w : weights_.layers) {
    for (const quant::PackedMatrix* matrix : {&w.qkv_proj, &w.out_proj, &w.w1, &w.w3, &w.w2})
      step += matrix->size_bytes();
  }
  size_t total = weights_.depth_linear.size_bytes() + config_.num_codebooks * step;
  for (const CodebookWeights& codebook : weights_.codebooks)
    total += codebook.to_logits.size_bytes();
  return total;
}

Result<FrameDecoder> FrameDecoder::create(const Depthformer& depthformer) {
  const Config& config = depthformer.config();
  FrameDecoder decoder(depthformer);
  const size_t kv_values = 2 * config.num_kv_heads * ops::kKvBlockPositions * config.head_dim;
  for (size_t i = 0; i < config.num_layers; ++i) {
    // Zeroed: a tile of the attention may look at positions that no frame reaches.
    RILL_ASSIGN_OR_RETURN(AlignedBuffer block,
                          AlignedBuffer::create_zeroed(kv_values * sizeof(float)));
    decoder.kv_.push_back(std::move(block));
    decoder.kv_data_.push_back(decoder.kv_.back().data());
  }
  RILL_ASSIGN_OR_RETURN(decoder.slices_,
                        Tensor::create(1, config.num_codebooks * config.hidden_size));
  RILL_ASSIGN_OR_RETURN(decoder.logits_, Tensor::create(1, config.audio_vocab_size));
  return decoder;
}

Status FrameDecoder::begin(ops::Context& context, std::span<const float> hidden) {
  const Config& config = depthformer_->config_;
  RILL_CHECK(hidden.size() == config.backbone_size, "begin: hidden has the backbone's width");
  position_ = 0;
  return ops::matmul(context, ConstMat{hidden.data(), 1, hidden.size(), hidden.size()},
                     depthformer_->weights_.depth_linear,
                     depthformer_->weights_.depth_linear_bias.data(), slices_.mat());
}

Result<std::span<float>> FrameDecoder::next(ops::Context& context, int32_t previous_code) {
  const Config& config = depthformer_->config_;
  const Weights& weights = depthformer_->weights_;
  RILL_CHECK(position_ < config.num_codebooks, "next: the frame is complete");
  const size_t d = config.hidden_size;
  const Mat x = slices_.mat().col_range(position_ * d, d);
  if (position_ > 0) {
    if (previous_code < 0 || static_cast<size_t>(previous_code) >= config.audio_vocab_size) {
      return Error{ErrorCode::kInvalidArgument, cat("depthformer: code: got ", previous_code,
                                                    ", expected 0 to ", config.end_code())};
    }
    Arena::Scope scope(*context.scratch);
    RILL_ASSIGN_OR_RETURN(const Mat embedding, take_row(context, d));
    weights.codebooks[position_ - 1].embedding.read_row(static_cast<size_t>(previous_code),
                                                        {embedding.data, d});
    ops::add_scaled(context, embedding, 1.0f, x);
  }
  for (size_t i = 0; i < config.num_layers; ++i) RILL_RETURN_IF_ERROR(run_layer(context, i, x));
  const CodebookWeights& codebook = weights.codebooks[position_];
  ops::rms_norm(context, x, codebook.embedding_norm.data(), Config::kNormEps, x);
  RILL_RETURN_IF_ERROR(ops::matmul(context, x, codebook.to_logits, nullptr, logits_.mat()));
  if (!ops::all_finite(context, logits_.mat())) return not_finite();
  ++position_;
  return std::span<float>(logits_.data(), logits_.cols());
}

/// One layer: x [1, D] is the residual stream, changed in place. Source: transformer.py,
/// StandardBlock.forward.
Status FrameDecoder::run_layer(ops::Context& context, size_t layer, Mat x) {
  const LayerWeights& w = depthformer_->weights_.layers[layer];
  Arena::Scope scope(*context.scratch);
  RILL_ASSIGN_OR_RETURN(const Mat normed, take_row(context, x.cols));
  RILL_ASSIGN_OR_RETURN(const Mat delta, take_row(context, x.cols));
  RILL_ASSIGN_OR_RETURN(const Mat gate, take_row(context, w.w1.rows()));
  RILL_ASSIGN_OR_RETURN(const Mat up, take_row(context, w.w1.rows()));
  ops::rms_norm(context, x, w.operator_norm.data(), Config::kNormEps, normed);
  RILL_RETURN_IF_ERROR(attend(context, layer, normed, delta));
  ops::add_scaled(context, delta, 1.0f, x);
  ops::rms_norm(context, x, w.ffn_norm.data(), Config::kNormEps, normed);
  RILL_RETURN_IF_ERROR(
      ops::matmul(context, normed, {{&w.w1, nullptr, gate}, {&w.w3, nullptr, up}}));
  ops::silu_mul(context, gate, up, gate);
  RILL_RETURN_IF_ERROR(ops::matmul(context, gate, w.w2, nullptr, delta));
  ops::add_scaled(context, delta, 1.0f, x);
  return {};
}

/// Fused q, k, v; RMSNorm of each head of q and k; pairwise rope; causal attention over the frame's
/// codebooks so far. Source: transformer.py, MHA.forward.
Status FrameDecoder::attend(ops::Context& context, size_t layer, ConstMat normed, Mat out) {
  const Config& config = depthformer_->config_;
  const LayerWeights& w = depthformer_->weights_.layers[layer];
  Arena::Scope scope(*context.scratch);
  const size_t kv_width = config.num_kv_heads * config.head_dim;
  RILL_ASSIGN_OR_RETURN(const Mat qkv, take_row(context, w.qkv_proj.rows()));
  RILL_ASSIGN_OR_RETURN(const Mat mixed, take_row(context, config.hidden_size));
  RILL_RETURN_IF_ERROR(ops::matmul(context, normed, w.qkv_proj, nullptr, qkv));
  const Mat q = qkv.col_range(0, config.hidden_size);
  const Mat k = qkv.col_range(config.hidden_size, kv_width);
  const Mat v = qkv.col_range(config.hidden_size + kv_width, kv_width);
  ops::rms_norm_heads(context, q, config.num_heads, w.q_layernorm.data(), Config::kNormEps, q);
  ops::rms_norm_heads(context, k, config.num_kv_heads, w.k_layernorm.data(), Config::kNormEps, k);
  const ConstMat cos_sin = depthformer_->cos_sin_.mat().row_range(position_, 1);
  ops::rope(context, ops::RopeLayout::kPair, cos_sin, config.num_heads, q);
  ops::rope(context, ops::RopeLayout::kPair, cos_sin, config.num_kv_heads, k);
  const ops::KvView kv = {DType::kF32, config.num_kv_heads, config.head_dim, {&kv_data_[layer], 1}};
  ops::store_kv(context, k, v, position_, kv);
  const ops::AttentionArgs args = {
      .num_heads = config.num_heads,
      .first_position = position_,
      .window = 0,
      .scale = 1.0f / std::sqrt(static_cast<float>(config.head_dim)),
  };
  RILL_RETURN_IF_ERROR(ops::attention(context, q, kv, args, mixed));
  return ops::matmul(context, mixed, w.out_proj, nullptr, out);
}

Error FrameDecoder::not_finite() const {
  return Error{ErrorCode::kInternal,
               cat("depthformer: logits of codebook ", position_,
                   " are not finite; the vocoder file may be damaged: run `rill verify`")};
}

}  // namespace rill::model::depthformer
