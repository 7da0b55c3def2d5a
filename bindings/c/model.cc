// SPDX-License-Identifier: Apache-2.0
// rill_model: a loaded package and its options.
#include <cstddef>
#include <memory>
#include <span>
#include <string_view>

#include "base/parse_number.h"
#include "base/str_cat.h"
#include "objects.h"

using namespace rill;
using namespace rill::c_api;

namespace {

using model::lfm2_audio::LoadOptions;
using model::lfm2_audio::MemoryFile;
using model::lfm2_audio::Model;

/// What model options say: how to load, and the limit that requests are held to.
struct ModelOptions {
  LoadOptions load;
  double max_pass_duration_s = tasks::kDefaultMaxPassDurationS;
  std::string vad_model_path;
  size_t conversation_cache_slots = 4;
  TextSettings text;
};

Error bad_option(std::string_view key, std::string_view value, std::string_view expected) {
  return Error{ErrorCode::kInvalidArgument,
               cat("model option ", key, ": got '", printable(value), "', expected ", expected)};
}

Status set_option(std::string_view key, std::string_view value, ModelOptions& options) {
  if (key.starts_with("text.")) return set_text_model_option(key, value, options.text);
  const std::pair<std::string_view, std::optional<std::string>*> files[] = {
      {"lfm2_audio.model_gguf", &options.load.files.model_gguf},
      {"lfm2_audio.mmproj_gguf", &options.load.files.mmproj_gguf},
      {"lfm2_audio.vocoder_gguf", &options.load.files.vocoder_gguf},
      {"lfm2_audio.detokenizer_gguf", &options.load.files.detokenizer_gguf},
  };
  for (const auto& [name, target] : files) {
    if (key == name) {
      *target = std::string(value);
      return {};
    }
  }
  // The old name of the limit still works.
  if (key == "lfm2_audio.max_pass_duration_sec" || key == "lfm2_audio.max_pass_seconds") {
    const auto seconds = parse_double(value);
    if (!seconds || *seconds < 1.0 || *seconds > 1e6)
      return bad_option(key, value, "a number of seconds, 1 or more");
    options.max_pass_duration_s = *seconds;
    return {};
  }
  if (key == "lfm2_audio.cpu_repack") {
    const auto repack = parse_bool(value);
    if (!repack) return bad_option(key, value, "true or false");
    options.load.repack = *repack;
    return {};
  }
  if (key == "lfm2_audio.vad_model_path") {
    if (value.empty()) return bad_option(key, value, "a file or a directory");
    options.vad_model_path = std::string(value);
    return {};
  }
  if (key == "lfm2_audio.conversation_cache_slots") {
    const auto slots = parse_uint(value);
    if (!slots || *slots > 1000) return bad_option(key, value, "an integer, 0 to 1000");
    options.conversation_cache_slots = static_cast<size_t>(*slots);
    return {};
  }
  return Error{ErrorCode::kInvalidArgument,
               cat("LFM2-Audio does not take session option ", printable(key))};
}

Result<ModelOptions> read_options(const rill_model_options* options) {
  ModelOptions out;
  if (options == nullptr) return out;
  for (size_t i = 0; i < options->num_options; ++i) {
    const rill_option& option = options->options[i];
    if (option.key == nullptr || option.value == nullptr) {
      return Error{ErrorCode::kInvalidArgument,
                   cat("open model: option ", i, " has no key or no value")};
    }
    RILL_RETURN_IF_ERROR(set_option(option.key, option.value, out));
  }
  if (options->for_speech != 0) out.load.use = model::lfm2_audio::Use::kSpeak;
  return out;
}

/// The detector that an option names, or the one that the caller has.
Status attach_vad(const rill_model_options* options, const std::string& path, rill_model& model) {
  constexpr size_t kCovers = offsetof(rill_model_options, vad) + sizeof options->vad;
  if (options != nullptr && options->struct_size >= kCovers && options->vad != nullptr)
    model.vad = &options->vad->network;
  if (path.empty()) return {};
  auto vad = model::silero_vad::SileroVad::open(path, *model.engine->pool);
  if (!vad) return std::move(vad.error()).with_context("lfm2_audio.vad_model_path");
  model.own_vad = std::make_unique<model::silero_vad::SileroVad>(std::move(vad).value());
  model.vad = model.own_vad.get();
  return {};
}

/// `load` is called with the options and makes the package.
template <typename Load>
rill_status open_model(rill_engine* engine, const rill_model_options* options, const Load& load,
                       rill_model** model, rill_error** error) {
  auto parsed = read_options(options);
  if (!parsed) return fail(std::move(parsed).error(), error);
  const std::lock_guard<std::mutex> turn(engine->compute);
  auto package = load(parsed->load);
  if (!package) return fail(std::move(package).error(), error);
  auto defaults = tasks::read_task_defaults((*package)->metadata());
  if (!defaults) return fail(std::move(defaults).error(), error);
  auto opened = std::make_unique<rill_model>(rill_model{engine,
                                                        std::move(package).value(),
                                                        parsed->max_pass_duration_s,
                                                        parsed->conversation_cache_slots,
                                                        {},
                                                        *defaults,
                                                        {},
                                                        nullptr});
  opened->text_settings = parsed->text;
  opened->language = std::string(model::lfm2_audio::language_code(opened->package->language()));
  if (Status attached = attach_vad(options, parsed->vad_model_path, *opened); !attached)
    return fail(std::move(attached).error(), error);
  *model = opened.release();
  return RILL_OK;
}

}  // namespace

extern "C" {

rill_status rill_model_open(rill_engine* engine, const char* path,
                            const rill_model_options* options, rill_model** model,
                            rill_error** error) {
  if (engine == nullptr || path == nullptr || model == nullptr) {
    return fail(ErrorCode::kInvalidArgument, "open model: engine, path or model is NULL", error);
  }
  if (opens_as_text(path, options)) return open_text_model(engine, path, options, model, error);
  return open_model(
      engine, options,
      [&](const LoadOptions& load) { return Model::load(std::string(path), load, *engine->pool); },
      model, error);
}

rill_status rill_model_open_memory(rill_engine* engine, const rill_memory_file* files,
                                   size_t num_files, const rill_model_options* options,
                                   rill_model** model, rill_error** error) {
  if (engine == nullptr || model == nullptr || (files == nullptr && num_files > 0)) {
    return fail(ErrorCode::kInvalidArgument, "open model: engine, files or model is NULL", error);
  }
  std::vector<MemoryFile> memory;
  for (const rill_memory_file& file : std::span(files, num_files)) {
    if (file.name == nullptr || file.data == nullptr) {
      return fail(ErrorCode::kInvalidArgument, "open model: a file has no name or no data", error);
    }
    memory.push_back({file.name, {static_cast<const std::byte*>(file.data), file.size}});
  }
  return open_model(
      engine, options,
      [&](const LoadOptions& load) {
        return Model::load(std::span<const MemoryFile>(memory), load, *engine->pool);
      },
      model, error);
}

void rill_model_destroy(rill_model* model) { delete model; }

const char* rill_model_language(const rill_model* model) { return model->language.c_str(); }

const char* rill_model_name(const rill_model* model) {
  return (model->package != nullptr ? model->package->name() : model->text->name()).c_str();
}

}  // extern "C"
