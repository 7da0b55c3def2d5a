// SPDX-License-Identifier: Apache-2.0
#include "convert/quantize_rules.h"

#include <array>
#include <optional>

#include "base/parse_number.h"
#include "base/str_cat.h"
#include "convert/layer_stack.h"

namespace rill::convert {
namespace {

/// Matrices that stay F32, by a part of their name.
struct KeptTensor {
  std::string_view part;
  const char* note;
};
constexpr KeptTensor kKept[] = {
    {".ffn_gate_inp.", kRouterNote},
    {".shortconv.conv.", kConvNote},
    {"a.conv1d.", kConvNote},
    {".conv_dw.", kConvNote},
    {".pos_bias_", "attention bias: small, added in F32"},
    {"a.position_embd.", "embedding of generated codes: its rows are summed in F32"},
    {"_norm.", kVectorNote},
};

std::optional<std::string> kept_note(std::string_view name, const Shape& shape,
                                     const FileFacts& facts, FileType type) {
  if (shape.rows() == 1) return kVectorNote;
  for (const KeptTensor& kept : kKept) {
    if (name.find(kept.part) != std::string_view::npos) return kept.note;
  }
  if (!name.ends_with(".weight")) return "not a matrix of weights";
  const bool pointwise = name.find(".conv_pw1.") != std::string_view::npos ||
                         name.find(".conv_pw2.") != std::string_view::npos;
  if (facts.is_encoder && pointwise && is_plain(type)) {
    return "pointwise convolution: F32 as in published packages";
  }
  return std::nullopt;
}

/// Layer number of "blk.N.", if the name has one.
std::optional<size_t> layer_of(std::string_view name) {
  constexpr std::string_view kPrefix = "blk.";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  const std::string_view rest = name.substr(kPrefix.size());
  const auto number = parse_uint(rest.substr(0, rest.find('.')));
  return number ? std::optional<size_t>(static_cast<size_t>(*number)) : std::nullopt;
}

/// The layers that the _M mixes give more bits: the first and last eighth, and every third between.
bool gets_more_bits(size_t index, size_t count) {
  const size_t eighth = count / 8;
  return index < eighth || index >= 7 * count / 8 || (index - eighth) % 3 == 2;
}

/// The type before its block has to fit the rows.
TypeChoice wanted_type(FileType type, std::string_view name, const FileFacts& facts,
                       size_t attention_index) {
  const DType base = base_dtype(type);
  const bool head = name == "output.weight" || (name == "token_embd.weight" && facts.tied_head);
  if (head && !is_plain(type) && type != FileType::kQ8_0) {
    return {DType::kQ6_K, "output matrix: every logit depends on it"};
  }
  if (type != FileType::kQ4_K_M && type != FileType::kQ5_K_M) return {base, ""};
  const bool down = name.find(".ffn_down.") != std::string_view::npos ||
                    name.find(".ffn_down_exps.") != std::string_view::npos;
  const auto layer = layer_of(name);
  if (down && layer && facts.num_layers > 0 && gets_more_bits(*layer, facts.num_layers)) {
    return {DType::kQ6_K, "layer to which the mix gives more bits"};
  }
  if (name.ends_with(".attn_v.weight") && layer && facts.num_layers > 0 &&
      gets_more_bits(attention_index, facts.num_attention_layers)) {
    return {DType::kQ6_K, "layer to which the mix gives more bits"};
  }
  return {base, ""};
}

/// What a type becomes where rows are not whole blocks: 32 values instead of 256, else half
/// precision.
DType narrower_block(DType dtype) {
  switch (dtype) {
    case DType::kQ4_K:
      return DType::kQ5_0;
    case DType::kQ5_K:
      return DType::kQ5_1;
    case DType::kQ6_K:
      return DType::kQ8_0;
    default:
      return DType::kF16;
  }
}

}  // namespace

FileFacts file_facts(const format::GgufFile& file) {
  FileFacts facts;
  const auto& metadata = file.metadata();
  const auto architecture = metadata.get_string("general.architecture");
  facts.is_encoder = architecture && *architecture == "clip";
  facts.tied_head = file.tensors().find("token_embd.weight") != nullptr &&
                    file.tensors().find("output.weight") == nullptr;
  for (const NamedTensor& tensor : file.tensors().all()) {
    const auto layer = layer_of(tensor.name);
    if (!layer) continue;
    if (*layer >= facts.num_layers) facts.num_layers = *layer + 1;
    if (tensor.name.ends_with(".attn_v.weight")) ++facts.num_attention_layers;
  }
  return facts;
}

TypeChoice choose_type(FileType type, std::string_view name, const Shape& shape,
                       const FileFacts& facts, size_t attention_index) {
  if (auto note = kept_note(name, shape, facts, type)) {
    return {DType::kF32, type == FileType::kF32 ? "" : *std::move(note)};
  }
  TypeChoice choice = wanted_type(type, name, facts, attention_index);
  const DType wanted = choice.dtype;
  while (shape.cols() % dtype_info(choice.dtype).block_values != 0) {
    choice.dtype = narrower_block(choice.dtype);
  }
  if (choice.dtype != wanted) {
    choice.note = cat("rows of ", shape.cols(), " are not a multiple of ",
                      dtype_info(wanted).block_values, ", which ", dtype_name(wanted), " needs");
  }
  return choice;
}

}  // namespace rill::convert
