// SPDX-License-Identifier: Apache-2.0
// Checkpoints in Transformers' layout: every stage of the forward pass, cached decoding, greedy
// replies.
#include "verify/text_models.h"

#include <algorithm>
#include <cstring>

#include "base/str_cat.h"
#include "model/lfm2/load.h"
#include "ops/elementwise.h"
#include "session/sequence.h"
#include "verify/capture.h"
#include "verify/set_files.h"
#include "verify/text_runs.h"

namespace rill::verify {
namespace {

using model::lfm2::Backbone;
using session::Sequence;

/// Expected experts and weights are in the reference's order: both sides as expert-indexed rows.
void compare_experts(Report& report, const std::string& prefix, const Capture& capture,
                     const ExpectedTensors& expected) {
  const Capture::Stage* experts = capture.find(prefix + "experts");
  const Capture::Stage* weights = capture.find(prefix + "expert_weights");
  auto want_experts = expected.ints(prefix + "experts");
  auto want_weights = expected.floats(prefix + "expert_weights");
  if (experts == nullptr || weights == nullptr || !want_experts || !want_weights ||
      want_experts->size() != experts->values.size() ||
      want_weights->values.size() != weights->values.size()) {
    return report.failed(prefix + "experts", "the stage was not computed, or has another shape");
  }
  size_t mismatches = 0;
  std::vector<float> got_sorted;
  std::vector<float> want_sorted;
  const size_t k = experts->cols;
  for (size_t t = 0; t < experts->rows; ++t) {
    std::vector<std::pair<int32_t, float>> got;
    std::vector<std::pair<int32_t, float>> want;
    for (size_t j = 0; j < k; ++j) {
      got.emplace_back(static_cast<int32_t>(experts->values[t * k + j]),
                       weights->values[t * k + j]);
      want.emplace_back((*want_experts)[t * k + j], want_weights->values[t * k + j]);
    }
    std::sort(got.begin(), got.end());
    std::sort(want.begin(), want.end());
    for (size_t j = 0; j < k; ++j) {
      if (got[j].first != want[j].first) ++mismatches;
      got_sorted.push_back(got[j].second);
      want_sorted.push_back(want[j].second);
    }
  }
  report.mismatches(prefix + "experts", mismatches);
  report.floats(prefix + "expert_weights", got_sorted, want_sorted, 5e-6);
}

/// Keys or values of a layer as [G, T, d].
std::vector<float> cached_rows(const ops::KvView& kv, bool values, size_t positions) {
  const size_t size = kv.num_kv_heads * positions * kv.head_dim;
  std::vector<float> rows(2 * size);
  ops::read_kv(kv, 0, positions, reinterpret_cast<std::byte*>(rows.data()));
  const auto middle = rows.begin() + static_cast<std::ptrdiff_t>(size);
  return values ? std::vector<float>(middle, rows.end()) : std::vector<float>(rows.begin(), middle);
}

/// cache_after_prefill.layerI.{k, v, conv_state}.
void compare_cache(Report& report, const std::string& name, size_t layer, std::string_view kind,
                   model::lfm2::SequenceState& state, const model::lfm2::Config& config,
                   const ExpectedTensor& expected, double tolerance) {
  size_t attention_index = 0;
  size_t conv_index = 0;
  for (size_t i = 0; i < layer && i < config.num_layers; ++i) {
    ++(config.is_attention(i) ? attention_index : conv_index);
  }
  if (layer >= config.num_layers || config.is_attention(layer) != (kind != "conv_state")) {
    return report.failed(name, "the model has no such cache");
  }
  if (kind != "conv_state") {
    return report.floats(name,
                         cached_rows(state.kv(attention_index), kind == "v", state.position()),
                         expected.values, tolerance);
  }
  // The reference keeps L columns per channel; the oldest is never used.
  const Mat conv = state.conv(conv_index);
  const size_t columns = expected.shape.cols();
  std::vector<float> got;
  std::vector<float> want;
  for (size_t c = 0; c < expected.shape.rows(); ++c) {
    for (size_t r = 0; r < conv.rows; ++r) {
      got.push_back(c < conv.cols ? conv.row(r)[c] : 0.0f);
      want.push_back(expected.values[c * columns + (columns - conv.rows) + r]);
    }
  }
  report.floats(name, got, want, tolerance);
}

struct CacheName {
  size_t layer = 0;
  std::string_view kind;
};

std::optional<CacheName> parse_cache_name(std::string_view name) {
  constexpr std::string_view kPrefix = "cache_after_prefill.layer";
  if (!name.starts_with(kPrefix)) return std::nullopt;
  name.remove_prefix(kPrefix.size());
  CacheName out;
  size_t digits = 0;
  for (; digits < name.size() && name[digits] >= '0' && name[digits] <= '9' && digits < 6;
       ++digits) {
    out.layer = out.layer * 10 + static_cast<size_t>(name[digits] - '0');
  }
  if (digits == 0 || digits >= name.size() || name[digits] != '.') return std::nullopt;
  out.kind = name.substr(digits + 1);
  return out;
}

bool is_decode_tensor(std::string_view name) {
  return name.starts_with("short") || name.starts_with("long.") || name.starts_with("decode_");
}

/// Every stage of the main prompt that the vectors file holds.
Status compare_stages(Run& run, const Backbone& backbone, std::span<const int32_t> ids,
                      const ExpectedTensors& expected, Report& report) {
  RILL_ASSIGN_OR_RETURN(auto state,
                        model::lfm2::SequenceState::create(backbone.config(), DType::kF32));
  Capture capture;
  const Trace trace = capture.trace();
  RILL_RETURN_IF_ERROR(prompt_logits(run.context, backbone, ids, state, &trace));
  for (const NamedTensor& tensor : expected.all()) {
    const std::string& name = tensor.name;
    if (is_decode_tensor(name) || name.ends_with(".expert_weights")) continue;
    if (name.ends_with(".experts")) {
      compare_experts(report, name.substr(0, name.size() - 7), capture, expected);
      continue;
    }
    RILL_ASSIGN_OR_RETURN(const ExpectedTensor want, expected.floats(name));
    if (const auto cache = parse_cache_name(name)) {
      compare_cache(report, name, cache->layer, cache->kind, state, backbone.config(), want,
                    run.tolerances.hidden);
    } else if (const Capture::Stage* stage = capture.find(name)) {
      report.floats(name, stage->values, want.values, run.tolerances.hidden);
    } else {
      report.failed(name, "this build computes no such stage");
    }
  }
  return {};
}

/// One prompt with its greedy reply; `logits_tensor` holds the logits of the first steps.
Status compare_reply(Run& run, const Backbone& backbone, const Json& entry,
                     const std::string& label, const std::string& where,
                     const ExpectedTensors& expected, const std::string& logits_tensor,
                     Report& report) {
  RILL_ASSIGN_OR_RETURN(const auto prompt, json_ids(entry, "input_ids", where));
  RILL_ASSIGN_OR_RETURN(const auto tokens, json_ids(entry, "greedy_new_tokens", where));
  if (prompt.empty() || tokens.empty())
    return report.failed(label, "the prompt or the reply is empty"), Status();
  RILL_ASSIGN_OR_RETURN(const GreedyRun greedy,
                        run_greedy(run.context, backbone, prompt, tokens.size()));
  report.ids(label + ".greedy", greedy.tokens, tokens);
  report.mismatches(label + ".cached_equals_full", greedy.differs_from_recompute);
  if (expected.has(logits_tensor)) {
    RILL_ASSIGN_OR_RETURN(const ExpectedTensor want, expected.floats(logits_tensor));
    const size_t count = std::min(want.values.size(), greedy.logits.size());
    report.floats(logits_tensor, std::span(greedy.logits).first(count), want.values,
                  run.tolerances.hidden);
  }
  return {};
}

Status verify_variant(Run& run, const Json& test_case, const Json& variant, const std::string& name,
                      Report& report) {
  RILL_ASSIGN_OR_RETURN(const std::string variant_name, json_string(variant, "variant", name));
  const Json* files = test_case.find("files");
  const Json* weights = files != nullptr ? files->find(variant_name) : nullptr;
  if (weights == nullptr || !weights->is_string()) {
    return Error{ErrorCode::kInvalidFormat,
                 cat("read set: ", name, ": 'files' names no weights of the variant")};
  }
  const std::string weights_path = run.set_dir + "/" + weights->as_string();
  const std::string config_path = weights_path.substr(0, weights_path.rfind('/')) + "/config.json";
  RILL_ASSIGN_OR_RETURN(const auto backbone,
                        model::lfm2::load_checkpoint(config_path, weights_path, *run.context.pool));
  RILL_ASSIGN_OR_RETURN(const std::string vectors, json_string(variant, "vectors", name));
  RILL_ASSIGN_OR_RETURN(const auto expected, ExpectedTensors::open(run.set_dir + "/" + vectors));
  RILL_ASSIGN_OR_RETURN(const auto ids, json_ids(variant, "input_ids", name));
  RILL_RETURN_IF_ERROR(compare_stages(run, *backbone, ids, expected, report));
  RILL_RETURN_IF_ERROR(compare_reply(run, *backbone, variant, "main", name, expected,
                                     "decode_logits_first6", report));
  if (const Json* prompts = variant.find("short_prompts");
      prompts != nullptr && prompts->is_array()) {
    for (size_t i = 0; i < prompts->items().size(); ++i) {
      const std::string label = cat("short", i + 1);
      RILL_RETURN_IF_ERROR(compare_reply(run, *backbone, prompts->items()[i], label,
                                         cat(name, ".", label), expected,
                                         label + ".decode_logits_first2", report));
    }
  }
  if (const Json* prompt = variant.find("long_prompt"); prompt != nullptr && prompt->is_object()) {
    RILL_RETURN_IF_ERROR(compare_reply(run, *backbone, *prompt, "long", cat(name, ".long"),
                                       expected, "long.last_logits", report));
  }
  return {};
}

/// Finds the case and variant of a subject "case.variant" and runs it.
Status verify_checkpoint_subject(Run& run, const std::string& name, Report& report) {
  RILL_ASSIGN_OR_RETURN(const Json manifest, read_json(run.set_dir + "/manifest.json"));
  const Json* cases = manifest.find("cases");
  for (const Json& test_case : cases->items()) {
    RILL_ASSIGN_OR_RETURN(const std::string case_name, json_string(test_case, "name", "cases"));
    const Json* variants = test_case.find("variants");
    if (variants == nullptr || !variants->is_array()) continue;
    for (const Json& variant : variants->items()) {
      RILL_ASSIGN_OR_RETURN(const std::string variant_name,
                            json_string(variant, "variant", case_name));
      if (cat(case_name, ".", variant_name) == name)
        return verify_variant(run, test_case, variant, name, report);
    }
  }
  return Error{ErrorCode::kNotFound, cat("read set: no case ", name)};
}

}  // namespace

void verify_checkpoint(Run& run, const std::string& name, Report& report) {
  Status status = verify_checkpoint_subject(run, name, report);
  if (!status) report.failed("", std::move(status).error().message);
}

}  // namespace rill::verify
