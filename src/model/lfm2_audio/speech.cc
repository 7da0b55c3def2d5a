// SPDX-License-Identifier: Apache-2.0
#include "model/lfm2_audio/speech.h"

#include <algorithm>
#include <utility>

#include "base/str_cat.h"
#include "model/weights/weight_reader.h"

namespace rill::model::lfm2_audio {
namespace {

Status read_block_length(const format::Metadata& metadata, std::string_view key, size_t& length) {
  RILL_ASSIGN_OR_RETURN(const uint32_t value,
                        metadata.get_u32_or(key, static_cast<uint32_t>(length)));
  if (value == 0) {
    return Error{ErrorCode::kInvalidFormat,
                 cat("load vocoder: ", metadata.source(), ": ", key, " is 0")};
  }
  length = value;
  return {};
}

}  // namespace

Result<std::unique_ptr<SpeechParts>> SpeechParts::load(const Files& files, size_t backbone_size,
                                                       bool repack, ThreadPool& pool) {
  RILL_ASSIGN_OR_RETURN(const depthformer::Config config, depthformer::read_config(files.vocoder));
  if (config.backbone_size != backbone_size) {
    return Error{ErrorCode::kInvalidFormat,
                 cat("load vocoder: ", files.vocoder.name(), ": depth_linear.weight: got ",
                     config.backbone_size, " columns, expected ", backbone_size,
                     ", the width of the backbone")};
  }
  std::unique_ptr<SpeechParts> parts(new SpeechParts());
  const format::Metadata& metadata = files.vocoder.metadata();
  RILL_RETURN_IF_ERROR(
      read_block_length(metadata, "interleaved_n_text", parts->interleave_.num_text));
  RILL_RETURN_IF_ERROR(
      read_block_length(metadata, "interleaved_n_audio", parts->interleave_.num_audio));
  const WeightReader mmproj(files.mmproj, repack, pool);
  RILL_ASSIGN_OR_RETURN(
      parts->code_embedding_,
      mmproj.lookup("a.position_embd.weight",
                    {config.num_codebooks * config.audio_vocab_size, backbone_size}));
  const WeightReader vocoder(files.vocoder, repack, pool);
  RILL_ASSIGN_OR_RETURN(parts->depthformer_, depthformer::Depthformer::load(vocoder, config));
  const detokenizer::CodeShape codes = {config.num_codebooks, config.end_code()};
  RILL_ASSIGN_OR_RETURN(
      parts->detokenizer_,
      detokenizer::Detokenizer::load(files.detokenizer, files.vocoder, codes, repack, pool));
  return parts;
}

Status SpeechParts::embed_frame(ops::Context& context, std::span<const int32_t> codes,
                                std::span<float> out) const {
  const depthformer::Config& config = depthformer_->config();
  RILL_CHECK(codes.size() == config.num_codebooks && out.size() == code_embedding_.cols(),
             "embed_frame: one code per codebook, a row of the backbone's width");
  Arena::Scope scope(*context.scratch);
  RILL_ASSIGN_OR_RETURN(const std::span<float> row, context.scratch->take<float>(out.size()));
  std::fill(out.begin(), out.end(), 0.0f);
  for (size_t book = 0; book < codes.size(); ++book) {
    if (codes[book] < 0 || static_cast<size_t>(codes[book]) >= config.audio_vocab_size) {
      return Error{ErrorCode::kInvalidArgument, cat("audio frame: code: got ", codes[book],
                                                    ", expected 0 to ", config.end_code())};
    }
    code_embedding_.read_row(book * config.audio_vocab_size + static_cast<size_t>(codes[book]),
                             row);
    for (size_t i = 0; i < out.size(); ++i) out[i] += row[i];
  }
  return {};
}

}  // namespace rill::model::lfm2_audio
