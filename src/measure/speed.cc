// SPDX-License-Identifier: Apache-2.0
#include "measure/speed.h"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/cpu_features.h"
#include "base/str_cat.h"
#include "kernels/kernel_table.h"
#include "measure/lookup_speed.h"
#include "measure/machine_limits.h"
#include "measure/read_share.h"
#include "measure/repeat.h"
#include "measure/speech_speed.h"
#include "model/lfm2/load.h"
#include "model/lfm2_audio/package.h"
#include "ops/elementwise.h"
#include "session/sequence.h"

namespace rill::measure {
namespace {

using model::lfm2::Backbone;
using model::lfm2_audio::Model;
using session::Sequence;

/// A text model, or a package whose backbone is measured like one.
struct Loaded {
  std::unique_ptr<format::GgufFile> file;
  std::unique_ptr<Backbone> text;
  std::unique_ptr<Model> package;

  [[nodiscard]] const Backbone& backbone() const {
    return package != nullptr ? package->backbone() : *text;
  }
};

Result<Loaded> load(const SpeedOptions& options, ThreadPool& pool) {
  Loaded loaded;
  std::error_code ignored;
  if (std::filesystem::is_directory(options.model, ignored)) {
    model::lfm2_audio::LoadOptions load;
    load.repack = options.repack;
    load.tokenizer = false;  // made-up weights often come with a made-up vocabulary
    if (options.frames > 0) load.use = model::lfm2_audio::Use::kSpeak;
    RILL_ASSIGN_OR_RETURN(loaded.package, Model::load(options.model, load, pool));
    return loaded;
  }
  RILL_ASSIGN_OR_RETURN(auto file, format::GgufFile::open(options.model));
  loaded.file = std::make_unique<format::GgufFile>(std::move(file));
  const auto form =
      options.repack ? model::lfm2::MatrixForm::kPacked : model::lfm2::MatrixForm::kBorrowed;
  RILL_ASSIGN_OR_RETURN(loaded.text, model::lfm2::load_gguf(*loaded.file, {.form = form}, pool));
  return loaded;
}

/// The logits after two steps, with the kernels of `context`.
Result<std::vector<float>> two_steps(ops::Context& context, const Backbone& backbone,
                                     DType kv_type) {
  RILL_ASSIGN_OR_RETURN(Sequence sequence, Sequence::create(backbone, kv_type));
  RILL_RETURN_IF_ERROR(
      sequence.append_tokens(context, make_tokens(2, backbone.config().vocab_size)));
  RILL_ASSIGN_OR_RETURN(const auto logits, sequence.logits(context));
  return std::vector<float>(logits.begin(), logits.end());
}

Status check_against_scalar(ops::Context& context, const Backbone& backbone, DType kv_type) {
  ops::Context scalar = context;
  scalar.kernels = &kernels::kernel_table(IsaTier::kScalar);
  RILL_ASSIGN_OR_RETURN(const auto got, two_steps(context, backbone, kv_type));
  RILL_ASSIGN_OR_RETURN(const auto want, two_steps(scalar, backbone, kv_type));
  if (std::memcmp(got.data(), want.data(), got.size() * sizeof(float)) == 0) return {};
  return Error{ErrorCode::kInternal,
               cat("bench: the logits of tier ", isa_tier_name(context.kernels->tier),
                   " are not those of the scalar tier")};
}

/// Tokens per second of a prompt, its last logits included.
Result<double> prefill_rate(ops::Context& context, const Backbone& backbone, DType kv_type,
                            size_t length) {
  const auto tokens = make_tokens(length, backbone.config().vocab_size);
  RILL_ASSIGN_OR_RETURN(Sequence sequence, Sequence::create(backbone, kv_type));
  RILL_RETURN_IF_ERROR(sequence.reserve(length));
  const auto start = Clock::now();
  RILL_RETURN_IF_ERROR(sequence.append_tokens(context, tokens));
  RILL_RETURN_IF_ERROR(sequence.logits(context));
  return static_cast<double>(length) / seconds_since(start);
}

Result<Json> measure_prefill(ops::Context& context, const Backbone& backbone,
                             const SpeedOptions& options) {
  Json list = Json::array();
  for (const size_t length : options.prefill) {
    RILL_ASSIGN_OR_RETURN(auto rates, repeated(options.repeat, [&] {
                            return prefill_rate(context, backbone, options.kv_type, length);
                          }));
    Json entry = Json::object();
    entry.set("tokens", Json::integer(static_cast<int64_t>(length)));
    std::vector<double> waits;  // until the logits of the first token of a reply are there
    waits.reserve(rates.size());
    for (const double rate : rates) waits.push_back(1000.0 * static_cast<double>(length) / rate);
    set_statistics(entry, "first_token_ms", std::move(waits));
    set_statistics(entry, "prefill_tokens_per_s", std::move(rates));
    list.items().push_back(std::move(entry));
  }
  return list;
}

/// Tokens per second of greedy decoding after `prompt`, which is cloned for each run.
Result<double> decode_rate(ops::Context& context, const Sequence& prompt, size_t count) {
  Sequence sequence = prompt.clone();
  RILL_RETURN_IF_ERROR(sequence.reserve(count));
  const auto start = Clock::now();
  for (size_t i = 0; i < count; ++i) {
    RILL_ASSIGN_OR_RETURN(const auto logits, sequence.logits(context));
    RILL_RETURN_IF_ERROR(sequence.append_token(context, static_cast<int32_t>(ops::argmax(logits))));
  }
  return static_cast<double>(count) / seconds_since(start);
}

/// A sequence of `depth` tokens to decode from; one token has to be there.
Result<Sequence> prompt_of(ops::Context& context, const Backbone& backbone, DType kv_type,
                           size_t depth) {
  RILL_ASSIGN_OR_RETURN(Sequence prompt, Sequence::create(backbone, kv_type));
  RILL_RETURN_IF_ERROR(prompt.append_tokens(
      context, make_tokens(std::max<size_t>(depth, 1), backbone.config().vocab_size)));
  return prompt;
}

/// All depths take turns, so that a machine whose speed changes does not change their ratio.
Result<Json> measure_decode(ops::Context& context, const Backbone& backbone,
                            const SpeedOptions& options) {
  const size_t depths = options.depths.size();
  std::vector<Sequence> prompts;
  for (const size_t depth : options.depths) {
    RILL_ASSIGN_OR_RETURN(Sequence prompt, prompt_of(context, backbone, options.kv_type, depth));
    prompts.push_back(std::move(prompt));
  }
  std::vector<std::vector<double>> rates(depths);
  std::vector<std::vector<double>> ratios(depths);
  for (size_t turn = 0; turn <= options.repeat; ++turn) {
    for (size_t i = 0; i < depths; ++i) {
      RILL_ASSIGN_OR_RETURN(const double rate, decode_rate(context, prompts[i], options.decode));
      if (turn == 0) continue;  // to warm up
      rates[i].push_back(rate);
      ratios[i].push_back(rate / rates[0].back());
    }
  }
  Json list = Json::array();
  for (size_t i = 0; i < depths; ++i) {
    Json entry = Json::object();
    entry.set("depth", Json::integer(static_cast<int64_t>(options.depths[i])));
    entry.set("tokens", Json::integer(static_cast<int64_t>(options.decode)));
    set_statistics(entry, "decode_tokens_per_s", std::move(rates[i]));
    if (i > 0) set_statistics(entry, "over_first_depth", std::move(ratios[i]));
    list.items().push_back(std::move(entry));
  }
  return list;
}

size_t decode_bytes(const Backbone& backbone) {
  const auto& weights = backbone.weights();
  return weights.step_bytes(backbone.config().num_experts_per_tok) + weights.head_bytes();
}

/// The memory's read bandwidth, and how much of it decoding and speaking use.
Status measure_memory(ops::Context& context, const Loaded& loaded, const SpeedOptions& options,
                      Json& report) {
  const size_t tokens = std::min<size_t>(options.decode, 12);  // a turn of decoding
  const size_t turns = 3 * options.repeat;
  RILL_ASSIGN_OR_RETURN(ReadBandwidth bandwidth, ReadBandwidth::create(*context.pool));
  std::vector<double> bandwidths = {bandwidth.measure()};
  const auto report_shares = [&](const char* key, ReadShares shares) {
    bandwidths.insert(bandwidths.end(), shares.bandwidths.begin(), shares.bandwidths.end());
    set_statistics(report, key, std::move(shares.shares));
  };
  if (options.decode > 0) {
    RILL_ASSIGN_OR_RETURN(Sequence prompt, Sequence::create(loaded.backbone(), options.kv_type));
    RILL_RETURN_IF_ERROR(prompt.append_token(context, 1));
    const auto bytes = static_cast<double>(decode_bytes(loaded.backbone()));
    RILL_ASSIGN_OR_RETURN(
        ReadShares shares, measure_read_shares(bandwidth, turns, [&]() -> Result<double> {
          RILL_ASSIGN_OR_RETURN(const double rate, decode_rate(context, prompt, tokens));
          return rate * bytes;
        }));
    report_shares("decode_read_share", std::move(shares));
  }
  if (options.frames > 0) {
    RILL_ASSIGN_OR_RETURN(ReadShares shares,
                          measure_speech_read_shares(context, *loaded.package, turns, bandwidth));
    report_shares("speech_read_share", std::move(shares));
  }
  for (double& value : bandwidths) value /= 1e9;
  set_statistics(report, "read_bandwidth_gb_per_s", std::move(bandwidths));
  return {};
}

Status check_options(const SpeedOptions& options, const Loaded& loaded) {
  const size_t context = loaded.backbone().config().context_length;
  for (const size_t length : options.prefill) {
    if (length == 0 || length > context) {
      return Error{ErrorCode::kInvalidArgument,
                   cat("bench: prefill: got ", length, ", expected 1 to ", context)};
    }
  }
  for (const size_t depth : options.depths) {
    if (depth + options.decode >= context) {
      return Error{ErrorCode::kInvalidArgument, cat("bench: depth ", depth, " and ", options.decode,
                                                    " tokens do not fit the context of ", context)};
    }
  }
  const bool speech = options.audio_seconds > 0 || options.frames > 0;
  if (speech && loaded.package == nullptr) {
    return Error{ErrorCode::kInvalidArgument,
                 "bench: audio needs a package directory, not a single GGUF"};
  }
  if (options.repeat == 0)
    return Error{ErrorCode::kInvalidArgument, "bench: repeat: got 0, expected 1 or more"};
  return {};
}

}  // namespace

Result<Json> measure_speed(ops::Context& context, const SpeedOptions& options) {
  const auto start = Clock::now();
  RILL_ASSIGN_OR_RETURN(const Loaded loaded, load(options, *context.pool));
  const double load_ms = seconds_since(start) * 1000.0;
  RILL_RETURN_IF_ERROR(check_options(options, loaded));
  if (options.check)
    RILL_RETURN_IF_ERROR(check_against_scalar(context, loaded.backbone(), options.kv_type));

  Json report = Json::object();
  report.set("model", Json::string(options.model));
  report.set("cpu", Json::string(cpu_model_name()));
  report.set("isa", Json::string(std::string(isa_tier_name(context.kernels->tier))));
  report.set("threads", Json::integer(static_cast<int64_t>(context.pool->num_threads())));
  const ops::Context batch = context.for_rows(SIZE_MAX);
  report.set("threads_batch", Json::integer(static_cast<int64_t>(batch.pool->num_threads())));
  report.set("kv_type", Json::string(std::string(dtype_name(options.kv_type))));
  report.set("checked", Json::boolean(options.check));
  report.set("load_ms", Json::number(load_ms));
  report.set("weights_bytes",
             Json::integer(static_cast<int64_t>(loaded.backbone().weights().owned_bytes())));
  report.set("decode_bytes_per_token",
             Json::integer(static_cast<int64_t>(decode_bytes(loaded.backbone()))));
  RILL_ASSIGN_OR_RETURN(Json prefill, measure_prefill(context, loaded.backbone(), options));
  report.set("prefill", std::move(prefill));
  if (options.decode > 0) {
    RILL_ASSIGN_OR_RETURN(Json decode, measure_decode(context, loaded.backbone(), options));
    report.set("decode", std::move(decode));
  }
  if (options.prompt_lookup > 0) {
    RILL_ASSIGN_OR_RETURN(Json lookup, measure_lookup(context, loaded.backbone(), options));
    report.set("prompt_lookup", std::move(lookup));
  }
  if (options.audio_seconds > 0) {
    RILL_ASSIGN_OR_RETURN(Json encode, measure_encode(context, *loaded.package,
                                                      options.audio_seconds, options.repeat));
    report.set("encode", std::move(encode));
  }
  if (options.frames > 0) {
    RILL_ASSIGN_OR_RETURN(Json speech,
                          measure_speech(context, *loaded.package, options.frames, options.repeat));
    report.set("speech", std::move(speech));
  }
  // Before the bandwidth is measured, whose buffer is no part of the model's memory.
  report.set("peak_rss_bytes", Json::integer(static_cast<int64_t>(peak_rss_bytes())));
  RILL_RETURN_IF_ERROR(measure_memory(context, loaded, options, report));
  return report;
}

}  // namespace rill::measure
