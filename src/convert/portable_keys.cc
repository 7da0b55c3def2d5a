// SPDX-License-Identifier: Apache-2.0
#include "convert/portable_keys.h"

#include <algorithm>
#include <string_view>

#include "base/str_cat.h"
#include "format/gguf_metadata.h"
#include "format/portable.h"
#include "format/tokenizer_hash.h"

namespace rill::convert {
namespace {

using format::Metadata;

struct BoundKey {
  std::string_view key;
  std::string_view architecture_key;  // after "<general.architecture>."
};
constexpr BoundKey kBounds[] = {
    {"rill.bounds.max_sequence_length", "context_length"},
    {"rill.bounds.conv_kernel", "shortconv.l_cache"},
    {"rill.bounds.experts", "expert_count"},
    {"rill.bounds.experts_used", "expert_used_count"},
};

std::vector<std::string_view> names_of(std::span<const OutputTensor> tensors) {
  std::vector<std::string_view> names;
  names.reserve(tensors.size());
  for (const OutputTensor& tensor : tensors) names.push_back(tensor.name);
  return names;
}

Status set_bounds(std::span<const std::string_view> names, Metadata& metadata) {
  RILL_ASSIGN_OR_RETURN(const std::string architecture,
                        metadata.get_string("general.architecture"));
  for (const BoundKey& bound : kBounds) {
    const std::string own_key = cat(architecture, ".", bound.architecture_key);
    if (!metadata.has(own_key)) continue;
    RILL_ASSIGN_OR_RETURN(const uint32_t value, metadata.get_u32(own_key));
    metadata.set(std::string(bound.key), format::metadata_u32(value));
  }
  const auto codebooks = std::count_if(names.begin(), names.end(), [](std::string_view name) {
    return name.starts_with("depth_embeddings.") && name.ends_with(".to_logits.weight");
  });
  if (codebooks > 0) {
    metadata.set("rill.bounds.codebooks", format::metadata_u32(static_cast<uint32_t>(codebooks)));
  }
  return {};
}

void set_layouts(std::span<const std::string_view> ops, Metadata& metadata) {
  const auto needs = [&](std::string_view op) {
    return std::find(ops.begin(), ops.end(), op) != ops.end();
  };
  const auto set = [&](const char* key, const char* value) {
    metadata.set(key, format::metadata_string(value));
  };
  if (needs("has_gated_conv")) set("rill.layout.conv", "channel_tap");
  if (needs("has_moe")) set("rill.layout.experts", "expert_out_in");
  if (needs("has_grouped_attention")) set("rill.layout.rope", "half");
}

void set_quantization(std::span<const OutputTensor> tensors, Metadata& metadata) {
  std::vector<std::string> lines;
  for (const OutputTensor& tensor : tensors) {
    if (!is_quantized(tensor.dtype)) continue;
    const DTypeInfo& info = dtype_info(tensor.dtype);
    lines.push_back(cat(tensor.name, "=", info.name, ":", info.block_values));
  }
  metadata.set("rill.quantization", format::metadata_strings(std::move(lines)));
}

Status set_hashes(Metadata& metadata) {
  if (metadata.has("tokenizer.ggml.tokens")) {
    RILL_ASSIGN_OR_RETURN(std::string hash, format::tokenizer_sha256(metadata));
    metadata.set("rill.tokenizer.sha256", format::metadata_string(std::move(hash)));
  }
  if (metadata.has("tokenizer.chat_template")) {
    RILL_ASSIGN_OR_RETURN(std::string hash, format::chat_template_sha256(metadata));
    metadata.set("rill.chat_template.sha256", format::metadata_string(std::move(hash)));
  }
  return {};
}

/// Only an alignment that the portable format allows is stated.
Status set_alignment(Metadata& metadata) {
  RILL_ASSIGN_OR_RETURN(const uint32_t bytes,
                        metadata.get_u32_or(format::kGgufAlignmentKey,
                                            static_cast<uint32_t>(format::kDefaultGgufAlignment)));
  constexpr uint32_t kBytes = 32;
  if (bytes % kBytes == 0) metadata.set("rill.alignment_bits", format::metadata_u32(8 * kBytes));
  return {};
}

}  // namespace

Status set_portable_keys(std::span<const OutputTensor> tensors, Metadata& metadata) {
  metadata.set("rill.format_version",
               format::metadata_string(std::string(format::kPortableVersion)));
  const std::vector<std::string_view> names = names_of(tensors);
  const std::vector<std::string_view> ops = format::operators_of(names);
  for (const std::string_view op : format::known_operators()) {
    const bool needed = std::find(ops.begin(), ops.end(), op) != ops.end();
    metadata.set(cat("rill.ops.", op), format::metadata_bool(needed));
  }
  RILL_RETURN_IF_ERROR(set_bounds(names, metadata));
  set_layouts(ops, metadata);
  RILL_RETURN_IF_ERROR(set_alignment(metadata));
  set_quantization(tensors, metadata);
  return set_hashes(metadata);
}

}  // namespace rill::convert
