// SPDX-License-Identifier: Apache-2.0
// config.json of a liquid-audio checkpoint.
#include <cmath>
#include <variant>

#include "base/str_cat.h"
#include "convert/audio_parts.h"

namespace rill::convert {
namespace {

struct Section {
  const Json& json;
  const std::string& path;
  std::string name;  // "" at the top

  [[nodiscard]] std::string field(std::string_view key) const {
    return name.empty() ? std::string(key) : cat(name, ".", key);
  }
  [[nodiscard]] Error wrong(std::string_view key, const Json* value, std::string_view expected,
                            ErrorCode code) const {
    const std::string got = value == nullptr ? "no such key" : printable(value->dump(), 60);
    return Error{value == nullptr ? ErrorCode::kNotFound : code,
                 cat("convert: ", path, ": ", field(key), ": got ", got, ", expected ", expected)};
  }
  Status read_size(std::string_view key, size_t& out) const {
    const Json* value = json.find(key);
    constexpr int64_t kMax = int64_t{1} << 20;
    if (value == nullptr || !value->is_int() || value->as_int() < 1 || value->as_int() > kMax) {
      return wrong(key, value, cat("an integer from 1 to ", kMax), ErrorCode::kInvalidFormat);
    }
    out = static_cast<size_t>(value->as_int());
    return {};
  }
};

Result<Section> section(const Json& json, const std::string& path, std::string name) {
  const Json* inner = json.find(name);
  const Section top{json, path, ""};
  if (inner == nullptr || !inner->is_object()) {
    return top.wrong(name, inner, "an object", ErrorCode::kInvalidFormat);
  }
  return Section{*inner, path, std::move(name)};
}

/// A setting with the one value that this build computes; absent means that value.
struct FixedSetting {
  std::string_view section;
  std::string_view key;
  std::variant<bool, double, std::string_view> value;
};
constexpr FixedSetting kFixed[] = {
    {"preprocessor", "sample_rate", 16000.0},
    {"preprocessor", "normalize", std::string_view("per_feature")},
    {"preprocessor", "window_size", 0.025},
    {"preprocessor", "window_stride", 0.01},
    {"preprocessor", "window", std::string_view("hann")},
    {"preprocessor", "n_fft", 512.0},
    {"preprocessor", "log", true},
    {"preprocessor", "frame_splicing", 1.0},
    {"encoder", "subsampling", std::string_view("dw_striding")},
    {"encoder", "subsampling_factor", 8.0},
    {"encoder", "causal_downsampling", false},
    {"encoder", "self_attention_model", std::string_view("rel_pos")},
    {"encoder", "xscaling", false},
    {"encoder", "untie_biases", true},
    {"encoder", "conv_norm_type", std::string_view("batch_norm")},
};

bool equals(const Json& value, const FixedSetting& setting) {
  if (const auto* flag = std::get_if<bool>(&setting.value)) {
    return value.is_bool() && value.as_bool() == *flag;
  }
  if (const auto* number = std::get_if<double>(&setting.value)) {
    return value.is_number() && std::fabs(value.as_double() - *number) < 1e-9;
  }
  return value.is_string() && value.as_string() == std::get<std::string_view>(setting.value);
}

std::string shown(const FixedSetting& setting) {
  if (const auto* flag = std::get_if<bool>(&setting.value)) return cat(*flag);
  if (const auto* number = std::get_if<double>(&setting.value)) return cat(*number);
  return std::string(std::get<std::string_view>(setting.value));
}

Status check_fixed(const Json& json, const std::string& path) {
  for (const FixedSetting& setting : kFixed) {
    RILL_ASSIGN_OR_RETURN(const Section in, section(json, path, std::string(setting.section)));
    const Json* value = in.json.find(setting.key);
    if (value == nullptr || value->is_null() || equals(*value, setting)) continue;
    return in.wrong(setting.key, value, shown(setting), ErrorCode::kUnsupported);
  }
  return {};
}

}  // namespace

Result<AudioConfig> read_audio_config(const Json& json, const std::string& path) {
  AudioConfig config;
  const Section top{json, path, ""};
  RILL_RETURN_IF_ERROR(top.read_size("codebooks", config.num_codebooks));
  RILL_RETURN_IF_ERROR(top.read_size("interleaved_n_text", config.interleaved_n_text));
  RILL_RETURN_IF_ERROR(top.read_size("interleaved_n_audio", config.interleaved_n_audio));
  RILL_RETURN_IF_ERROR(check_fixed(json, path));
  RILL_ASSIGN_OR_RETURN(const Section front_end, section(json, path, "preprocessor"));
  RILL_RETURN_IF_ERROR(front_end.read_size("features", config.num_mel_bins));
  RILL_ASSIGN_OR_RETURN(const Section encoder, section(json, path, "encoder"));
  RILL_RETURN_IF_ERROR(encoder.read_size("n_layers", config.encoder_layers));
  RILL_RETURN_IF_ERROR(encoder.read_size("d_model", config.encoder_width));
  RILL_RETURN_IF_ERROR(encoder.read_size("n_heads", config.encoder_heads));
  RILL_ASSIGN_OR_RETURN(const Section depthformer, section(json, path, "depthformer"));
  RILL_RETURN_IF_ERROR(depthformer.read_size("layers", config.depthformer_layers));
  RILL_RETURN_IF_ERROR(depthformer.read_size("dim", config.depthformer_width));
  const Json* tie = depthformer.json.find("tie");
  config.tied_code_heads = tie != nullptr && tie->is_bool() && tie->as_bool();
  return config;
}

}  // namespace rill::convert
