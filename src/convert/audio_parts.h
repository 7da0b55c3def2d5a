// SPDX-License-Identifier: Apache-2.0
// The parts of a liquid-audio checkpoint beside its backbone, under the names of a package's GGUF
// files: encoder, vocoder, detokenizer.
#pragma once

#include <string>
#include <vector>

#include "base/json.h"
#include "base/result.h"
#include "convert/output_tensor.h"
#include "convert/source_tensors.h"
#include "format/metadata.h"
#include "model/lfm2/config.h"

namespace rill::convert {

/// Facts of config.json that the parts need.
struct AudioConfig {
  size_t num_codebooks = 0;
  size_t interleaved_n_text = 0;
  size_t interleaved_n_audio = 0;
  size_t num_mel_bins = 0;  // "preprocessor"."features"
  size_t encoder_layers = 0;
  size_t encoder_width = 0;
  size_t encoder_heads = 0;
  size_t depthformer_layers = 0;
  size_t depthformer_width = 0;
  bool tied_code_heads = false;  // "depthformer"."tie": to_logits is the embedding
};

/// Reads config.json and refuses what would change the arithmetic (another front end, another kind
/// of attention, ...). Errors: kNotFound, kInvalidFormat, kUnsupported; file and key are named.
Result<AudioConfig> read_audio_config(const Json& json, const std::string& path);

/// What to leave out: tensors that published packages have and no engine reads.
enum class Extent { kAll, kLean };

/// mmproj: encoder, adapter, embedding of generated codes. Batch norms are folded to scale and
/// shift. Matrices become `matrix`; the encoder's pointwise convolutions and the code embedding
/// stay F32, as in published packages. Errors: those of SourceTensors::take.
Status add_encoder_tensors(const AudioConfig& config, const model::lfm2::Config& backbone,
                           DType matrix, Extent extent, SourceTensors& source,
                           std::vector<OutputTensor>& tensors);
void add_encoder_keys(const AudioConfig& config, const model::lfm2::Config& backbone,
                      format::Metadata& metadata);

/// vocoder: depthformer and code embeddings, from the checkpoint; the detokenizer's code embedding
/// and the window of its inverse transform, from `detokenizer`. Errors: those of
/// SourceTensors::take.
Status add_vocoder_tensors(const AudioConfig& config, const model::lfm2::Config& backbone,
                           DType matrix, Extent extent, SourceTensors& source,
                           SourceTensors& detokenizer, std::vector<OutputTensor>& tensors);
void add_vocoder_keys(const AudioConfig& config, format::Metadata& metadata);

/// The detokenizer's last projection; its layers are a stack like the backbone.
Status add_detokenizer_projection(const model::lfm2::Config& config, DType matrix,
                                  SourceTensors& source, std::vector<OutputTensor>& tensors);

/// Tensors of the checkpoint that only training needs.
[[nodiscard]] bool is_training_tensor(std::string_view name);

}  // namespace rill::convert
