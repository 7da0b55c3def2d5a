// SPDX-License-Identifier: Apache-2.0
// check_portable: one function per group of keys of docs/portable-format.md.
#include "format/portable.h"

#include <algorithm>
#include <optional>
#include <set>

#include "base/parse_number.h"
#include "base/str_cat.h"
#include "format/tokenizer_hash.h"

namespace rill::format {
namespace {

constexpr std::string_view kOpsPrefix = "rill.ops.";
constexpr std::string_view kGenerationPrefix = "rill.generation.";

// Which tensors need an operator: those whose name starts with `prefix` and contains `part` after
// it.
struct OpTensors {
  std::string_view op;
  std::string_view prefix;
  std::string_view part;
};
constexpr OpTensors kOpTensors[] = {
    {"has_gated_conv", "blk.", ".shortconv."}, {"has_grouped_attention", "blk.", ".attn_k."},
    {"has_moe", "blk.", ".ffn_gate_exps."},    {"has_moe", "blk.", ".ffn_gate_up_exps."},
    {"has_conformer", "a.blk.", ""},           {"has_depthformer", "depthformer.layers.", ""},
    {"has_detokenizer", "dense_2.", ""},       {"has_detokenizer", "emb.emb.", ""},
};
constexpr std::string_view kKnownOps =
    "has_gated_conv, has_grouped_attention, has_moe, has_conformer, has_depthformer, "
    "has_detokenizer";

// Where else a bound shows: a key under the architecture's name, or a dimension of tensors.
struct Bound {
  std::string_view key;
  std::string_view architecture_key;  // after "<general.architecture>."; empty if there is none
  std::string_view tensor_prefix;     // empty if no tensor shows it
  std::string_view tensor_part;
  size_t axis;
};
constexpr Bound kBounds[] = {
    {"rill.bounds.max_sequence_length", "context_length", "", "", 0},
    {"rill.bounds.conv_kernel", "shortconv.l_cache", "blk.", ".shortconv.conv.weight", 1},
    {"rill.bounds.experts", "expert_count", "blk.", "_exps.weight", 0},
    {"rill.bounds.experts_used", "expert_used_count", "", "", 0},
};
constexpr std::string_view kCodebooksKey = "rill.bounds.codebooks";

struct Layout {
  std::string_view key;
  std::string_view known;
  std::string_view also_known;  // empty if there is one value only
};
constexpr Layout kLayouts[] = {
    {"rill.layout.conv", "channel_tap", ""},
    {"rill.layout.experts", "expert_out_in", ""},
    {"rill.layout.rope", "half", "pair"},
};

constexpr std::string_view kStringKeys[] = {"rill.source.repo", "rill.source.revision",
                                            "rill.source.sha256"};
constexpr std::string_view kOtherKeys[] = {"rill.format_version",       "rill.alignment_bits",
                                           "rill.quantization",         "rill.tokenizer.sha256",
                                           "rill.chat_template.sha256", kCodebooksKey};

bool starts_with(std::string_view text, std::string_view start) {
  return text.substr(0, start.size()) == start;
}

bool matches(std::string_view name, std::string_view prefix, std::string_view part) {
  return starts_with(name, prefix) && name.find(part, prefix.size()) != std::string_view::npos;
}

Error refuse(const GgufFile& file, std::string_view key, std::string_view got,
             std::string_view expected, ErrorCode code = ErrorCode::kInvalidFormat) {
  return Error{code, cat("check portable format: ", printable(file.name(), 4096), ": ",
                         printable(key), ": got ", got, ", expected ", expected)};
}

Status check_version(const GgufFile& file) {
  constexpr std::string_view kKey = "rill.format_version";
  RILL_ASSIGN_OR_RETURN(const std::string version, file.metadata().get_string(kKey));
  const size_t first = version.find('.');
  const size_t second = first == std::string::npos ? first : version.find('.', first + 1);
  const std::string_view text = version;
  std::optional<uint64_t> major;
  if (second != std::string::npos && parse_uint(text.substr(first + 1, second - first - 1)) &&
      parse_uint(text.substr(second + 1))) {
    major = parse_uint(text.substr(0, first));
  }
  if (!major) return refuse(file, kKey, printable(version), "MAJOR.MINOR.PATCH");
  if (*major != 1)
    return refuse(file, kKey, printable(version), "major version 1", ErrorCode::kUnsupported);
  return {};
}

bool is_known_op(std::string_view op) {
  return std::any_of(std::begin(kOpTensors), std::end(kOpTensors),
                     [&](const OpTensors& known) { return known.op == op; });
}

// The first tensor that needs the operator, or nullptr.
const NamedTensor* find_tensor_of(const GgufFile& file, std::string_view op) {
  for (const NamedTensor& tensor : file.tensors().all()) {
    for (const OpTensors& known : kOpTensors) {
      if (known.op == op && matches(tensor.name, known.prefix, known.part)) return &tensor;
    }
  }
  return nullptr;
}

Status check_op(const GgufFile& file, const std::string& key) {
  const std::string_view op = std::string_view(key).substr(kOpsPrefix.size());
  RILL_ASSIGN_OR_RETURN(const bool needed, file.metadata().get_bool(key));
  if (!is_known_op(op)) {
    if (!needed) return {};
    return refuse(file, key, "an operator that this build does not know", kKnownOps,
                  ErrorCode::kUnsupported);
  }
  const NamedTensor* tensor = find_tensor_of(file, op);
  if (needed == (tensor != nullptr)) return {};
  if (needed) return refuse(file, key, "true and no tensor of that operator", "false");
  return refuse(file, key, cat("false and tensor ", printable(tensor->name)), "true");
}

Status check_ops(const GgufFile& file) {
  for (const auto& pair : file.metadata().all()) {
    if (starts_with(pair.first, kOpsPrefix)) RILL_RETURN_IF_ERROR(check_op(file, pair.first));
  }
  return {};
}

Status check_bound(const GgufFile& file, const Bound& bound) {
  const Metadata& metadata = file.metadata();
  if (!metadata.has(bound.key)) return {};
  RILL_ASSIGN_OR_RETURN(const uint32_t value, metadata.get_u32(bound.key));
  RILL_ASSIGN_OR_RETURN(const std::string architecture,
                        metadata.get_string_or("general.architecture", ""));
  const std::string own_key = cat(architecture, ".", bound.architecture_key);
  if (metadata.has(own_key)) {
    RILL_ASSIGN_OR_RETURN(const uint32_t own, metadata.get_u32(own_key));
    if (own != value)
      return refuse(file, bound.key, cat(value), cat(own, ", as ", printable(own_key), " says"));
  }
  if (bound.tensor_prefix.empty()) return {};
  for (const NamedTensor& tensor : file.tensors().all()) {
    const Shape& shape = tensor.view.shape;
    if (!matches(tensor.name, bound.tensor_prefix, bound.tensor_part) || shape.rank() <= bound.axis)
      continue;
    if (shape.dim(bound.axis) != value) {
      return refuse(file, bound.key, cat(value),
                    cat(shape.dim(bound.axis), ", as tensor ", printable(tensor.name), " has"));
    }
  }
  return {};
}

// A depthformer has one output matrix for each codebook.
Status check_codebooks(const GgufFile& file) {
  if (!file.metadata().has(kCodebooksKey)) return {};
  RILL_ASSIGN_OR_RETURN(const uint32_t value, file.metadata().get_u32(kCodebooksKey));
  const std::vector<NamedTensor>& tensors = file.tensors().all();
  const auto count = std::count_if(tensors.begin(), tensors.end(), [](const NamedTensor& tensor) {
    return matches(tensor.name, "depth_embeddings.", ".to_logits.weight");
  });
  if (count != 0 && static_cast<uint64_t>(count) != value) {
    return refuse(file, kCodebooksKey, cat(value),
                  cat(count, ", as the depth_embeddings tensors say"));
  }
  return {};
}

Status check_bounds(const GgufFile& file) {
  for (const Bound& bound : kBounds) RILL_RETURN_IF_ERROR(check_bound(file, bound));
  RILL_RETURN_IF_ERROR(check_codebooks(file));
  const Metadata& metadata = file.metadata();
  if (!metadata.has("rill.bounds.experts") || !metadata.has("rill.bounds.experts_used")) return {};
  RILL_ASSIGN_OR_RETURN(const uint32_t experts, metadata.get_u32("rill.bounds.experts"));
  RILL_ASSIGN_OR_RETURN(const uint32_t used, metadata.get_u32("rill.bounds.experts_used"));
  if (used > experts) {
    return refuse(file, "rill.bounds.experts_used", cat(used),
                  cat("at most rill.bounds.experts, ", experts));
  }
  return {};
}

Status check_layouts(const GgufFile& file) {
  for (const Layout& layout : kLayouts) {
    if (!file.metadata().has(layout.key)) continue;
    RILL_ASSIGN_OR_RETURN(const std::string value, file.metadata().get_string(layout.key));
    if (value == layout.known || (!layout.also_known.empty() && value == layout.also_known))
      continue;
    const std::string known = layout.also_known.empty()
                                  ? std::string(layout.known)
                                  : cat(layout.known, " or ", layout.also_known);
    return refuse(file, layout.key, printable(value), known, ErrorCode::kUnsupported);
  }
  return {};
}

Status check_alignment(const GgufFile& file) {
  constexpr std::string_view kKey = "rill.alignment_bits";
  if (!file.metadata().has(kKey)) return {};
  RILL_ASSIGN_OR_RETURN(const uint32_t bits, file.metadata().get_u32(kKey));
  if (bits < 256 || bits % 8 != 0)
    return refuse(file, kKey, cat(bits), "a whole number of bytes, 256 bits or more");
  if (file.alignment() % (bits / 8) != 0) {
    return refuse(file, kKey, cat(bits),
                  cat("a divisor of general.alignment, ", file.alignment() * 8, " bits"));
  }
  return {};
}

// "tensor=type:block": the last '=' and the last ':' part it, as a name may hold either.
Result<std::string> check_quantization_line(const GgufFile& file, std::string_view key,
                                            const std::string& line) {
  const size_t equals = line.rfind('=');
  const size_t colon = line.rfind(':');
  if (equals == std::string::npos || colon == std::string::npos || colon < equals) {
    return refuse(file, key, printable(line), "tensor=type:block");
  }
  std::string name = line.substr(0, equals);
  const NamedTensor* tensor = file.tensors().find(name);
  if (tensor == nullptr) return refuse(file, key, printable(line), "a tensor of the file");
  const DTypeInfo& info = dtype_info(tensor->view.dtype);
  const std::string stored = cat(info.name, ":", info.block_values);
  if (line.substr(equals + 1) != stored) {
    return refuse(file, key, printable(line), cat(stored, ", as the tensor table says"));
  }
  return name;
}

Status check_quantization(const GgufFile& file) {
  constexpr std::string_view kKey = "rill.quantization";
  if (!file.metadata().has(kKey)) return {};
  RILL_ASSIGN_OR_RETURN(const std::vector<std::string> lines, file.metadata().get_strings(kKey));
  std::set<std::string> listed;
  for (const std::string& line : lines) {
    RILL_ASSIGN_OR_RETURN(std::string name, check_quantization_line(file, kKey, line));
    if (!listed.insert(std::move(name)).second) {
      return refuse(file, kKey, cat(printable(line), " a second time"), "each tensor once");
    }
  }
  for (const NamedTensor& tensor : file.tensors().all()) {
    if (is_quantized(tensor.view.dtype) && listed.count(tensor.name) == 0) {
      return refuse(file, kKey, cat("no line for tensor ", printable(tensor.name)),
                    "one for each quantized tensor");
    }
  }
  return {};
}

Status check_hash(const GgufFile& file, std::string_view key,
                  Result<std::string> (*computed)(const Metadata& metadata)) {
  if (!file.metadata().has(key)) return {};
  RILL_ASSIGN_OR_RETURN(const std::string stated, file.metadata().get_string(key));
  Result<std::string> hash = computed(file.metadata());
  if (!hash) {
    return Error{ErrorCode::kInvalidFormat, cat("check portable format: ", printable(key),
                                                ": cannot hash: ", hash.error().message)};
  }
  if (stated != *hash)
    return refuse(file, key, printable(stated), cat(*hash, ", the hash of what the file holds"));
  return {};
}

Status check_types(const GgufFile& file) {
  for (std::string_view key : kStringKeys)
    RILL_RETURN_IF_ERROR(file.metadata().get_string_or(key, ""));
  for (const auto& [key, value] : file.metadata().all()) {
    if (!starts_with(key, kGenerationPrefix)) continue;
    const auto type = static_cast<GgufType>(value.type);
    if (type != GgufType::kF32 && type != GgufType::kU32 && type != GgufType::kString) {
      return refuse(file, key, metadata_type_name(value.type), "f32, u32 or string");
    }
  }
  return {};
}

}  // namespace

Status check_portable(const GgufFile& file) {
  if (!file.metadata().has("rill.format_version")) return {};
  RILL_RETURN_IF_ERROR(check_version(file));
  RILL_RETURN_IF_ERROR(check_ops(file));
  RILL_RETURN_IF_ERROR(check_bounds(file));
  RILL_RETURN_IF_ERROR(check_layouts(file));
  RILL_RETURN_IF_ERROR(check_alignment(file));
  RILL_RETURN_IF_ERROR(check_quantization(file));
  RILL_RETURN_IF_ERROR(check_hash(file, "rill.tokenizer.sha256", tokenizer_sha256));
  RILL_RETURN_IF_ERROR(check_hash(file, "rill.chat_template.sha256", chat_template_sha256));
  return check_types(file);
}

std::vector<std::string_view> operators_of(const GgufFile& file) {
  std::vector<std::string_view> names;
  for (const NamedTensor& tensor : file.tensors().all()) names.push_back(tensor.name);
  return operators_of(names);
}

std::vector<std::string_view> operators_of(std::span<const std::string_view> names) {
  std::vector<std::string_view> ops;
  for (const OpTensors& known : kOpTensors) {
    const bool listed = std::find(ops.begin(), ops.end(), known.op) != ops.end();
    const bool needed = std::any_of(names.begin(), names.end(), [&](std::string_view name) {
      return matches(name, known.prefix, known.part);
    });
    if (!listed && needed) ops.push_back(known.op);
  }
  return ops;
}

std::vector<std::string_view> known_operators() {
  std::vector<std::string_view> ops;
  for (const OpTensors& known : kOpTensors) {
    if (std::find(ops.begin(), ops.end(), known.op) == ops.end()) ops.push_back(known.op);
  }
  return ops;
}

std::vector<std::string> unknown_portable_keys(const Metadata& metadata) {
  std::vector<std::string> unknown;
  for (const auto& pair : metadata.all()) {
    const std::string_view key = pair.first;
    if (!starts_with(key, "rill.") || starts_with(key, kOpsPrefix) ||
        starts_with(key, kGenerationPrefix))
      continue;
    const auto has_key = [&](const auto& entry) { return entry.key == key; };
    const bool known = std::any_of(std::begin(kBounds), std::end(kBounds), has_key) ||
                       std::any_of(std::begin(kLayouts), std::end(kLayouts), has_key) ||
                       std::count(std::begin(kStringKeys), std::end(kStringKeys), key) > 0 ||
                       std::count(std::begin(kOtherKeys), std::end(kOtherKeys), key) > 0;
    if (!known) unknown.emplace_back(key);
  }
  return unknown;
}

}  // namespace rill::format
