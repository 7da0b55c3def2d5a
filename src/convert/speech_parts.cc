// SPDX-License-Identifier: Apache-2.0
// The vocoder part (depthformer, code embeddings) and the detokenizer's projection.
#include "base/str_cat.h"
#include "convert/audio_parts.h"
#include "convert/part_writer.h"

namespace rill::convert {
namespace {

/// Names are kept, but for the attention, which the reference calls "bounded".
Status add_depthformer_layer(const PartWriter& out, const AudioConfig& config, size_t layer) {
  const size_t D = config.depthformer_width;
  const std::string name = cat("depthformer.layers.", layer, ".");
  const std::string from = name + "operator.bounded_attention.";
  const std::string to = name + "operator.attention.";
  RILL_RETURN_IF_ERROR(out.vector(name + "operator_norm.weight", name + "operator_norm.weight", D));
  RILL_RETURN_IF_ERROR(out.vector(name + "ffn_norm.weight", name + "ffn_norm.weight", D));
  const std::string qkv = name + "operator.qkv_proj.weight";
  RILL_RETURN_IF_ERROR(out.any_matrix(qkv, qkv));
  RILL_ASSIGN_OR_RETURN(const TensorView q_norm,
                        out.source.take_any(from + "q_layernorm.weight", 1));
  const size_t d = q_norm.shape.dim(0);
  RILL_RETURN_IF_ERROR(out.vector(to + "q_layernorm.weight", from + "q_layernorm.weight", d));
  RILL_RETURN_IF_ERROR(out.vector(to + "k_layernorm.weight", from + "k_layernorm.weight", d));
  const std::string projection = name + "operator.out_proj.weight";
  RILL_RETURN_IF_ERROR(out.matrix(projection, projection, {D, D}));
  for (const char* matrix : {"w1", "w3", "w2"}) {
    const std::string tensor = cat(name, "feed_forward.", matrix, ".weight");
    RILL_RETURN_IF_ERROR(out.any_matrix(tensor, tensor));
  }
  return {};
}

/// Embedding, norm and head of one set of codes. A tied head is the embedding.
Status add_code_set(const PartWriter& out, const std::string& name, size_t width, bool tied) {
  const std::string table = name + "embedding.weight";
  const std::string head = name + "to_logits.weight";
  RILL_RETURN_IF_ERROR(out.any_matrix(table, table));
  RILL_RETURN_IF_ERROR(
      out.vector(name + "embedding_norm.weight", name + "embedding_norm.weight", width));
  return out.any_matrix(head, tied && !out.source.has(head) ? table : head);
}

}  // namespace

Status add_vocoder_tensors(const AudioConfig& config, const model::lfm2::Config& backbone,
                           DType matrix, Extent extent, SourceTensors& source,
                           SourceTensors& detokenizer, std::vector<OutputTensor>& tensors) {
  const PartWriter codes{detokenizer, tensors, matrix};
  RILL_RETURN_IF_ERROR(codes.any_matrix("emb.emb.weight", "emb.emb.weight"));
  RILL_ASSIGN_OR_RETURN(const TensorView window, detokenizer.take_any("istft.window", 1));
  RILL_RETURN_IF_ERROR(codes.vector("istft.window", "istft.window", window.shape.dim(0)));

  const PartWriter out{source, tensors, matrix};
  const size_t outputs = config.num_codebooks * config.depthformer_width;
  RILL_RETURN_IF_ERROR(
      out.matrix("depth_linear.weight", "depth_linear.weight", {outputs, backbone.hidden_size}));
  RILL_RETURN_IF_ERROR(out.vector("depth_linear.bias", "depth_linear.bias", outputs));
  for (size_t i = 0; i < config.depthformer_layers; ++i) {
    RILL_RETURN_IF_ERROR(add_depthformer_layer(out, config, i));
  }
  for (size_t i = 0; i < config.num_codebooks; ++i) {
    RILL_RETURN_IF_ERROR(add_code_set(out, cat("depth_embeddings.", i, "."),
                                      config.depthformer_width, config.tied_code_heads));
  }
  if (extent == Extent::kLean) return {};
  return add_code_set(out, "audio_embedding.", backbone.hidden_size, /*tied=*/false);
}

void add_vocoder_keys(const AudioConfig& config, format::Metadata& metadata) {
  const auto size = [&](const char* name, size_t value) {
    metadata.set(name, format::metadata_u32(static_cast<uint32_t>(value)));
  };
  metadata.set("general.architecture",
               format::metadata_string("this model cannot be used as LLM, use it via "
                                       "--model-vocoder in TTS examples"));
  size("depthformer_n_layer", config.depthformer_layers);
  size("depthformer_n_embd", config.depthformer_width);
  size("interleaved_n_text", config.interleaved_n_text);
  size("interleaved_n_audio", config.interleaved_n_audio);
}

Status add_detokenizer_projection(const model::lfm2::Config& config, DType matrix,
                                  SourceTensors& source, std::vector<OutputTensor>& tensors) {
  const PartWriter out{source, tensors, matrix};
  RILL_RETURN_IF_ERROR(out.matrix("dense_2.weight", "lin.weight",
                                  {config.embedding_length_out, config.hidden_size}));
  return out.vector("dense_2.bias", "lin.bias", config.embedding_length_out);
}

}  // namespace rill::convert
