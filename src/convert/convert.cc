// SPDX-License-Identifier: Apache-2.0
#include "convert/convert.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/json.h"
#include "base/parse_number.h"
#include "base/str_cat.h"
#include "convert/audio_parts.h"
#include "convert/layer_stack.h"
#include "convert/tokenizer_keys.h"
#include "format/safetensors_shards.h"
#include "model/lfm2/load.h"

namespace rill::convert {
namespace {

namespace fs = std::filesystem;

using format::Metadata;
using format::SafetensorsCheckpoint;
using model::lfm2::Config;

constexpr uint32_t kQuantizationVersion = 2;

Error bad_option(std::string_view option, std::string_view got, std::string_view expected) {
  return Error{ErrorCode::kInvalidArgument,
               cat("convert: ", option, ": got '", printable(got), "', expected ", expected)};
}

Status check_options(const ConvertOptions& options) {
  if (options.input.empty()) return bad_option("input", "", "a checkpoint's directory");
  if (options.output.empty()) return bad_option("output", "", "a file or directory to write");
  if (options.type && !is_plain(*options.type)) {
    return bad_option("type", file_type_name(*options.type),
                      "F32, F16 or BF16 (quantize makes the others from these)");
  }
  if (!options.language.empty() && options.language != "en" && options.language != "ja") {
    return bad_option("language", options.language, "en or ja");
  }
  const std::string& name = options.name;
  if (name.find('/') != std::string::npos || name == "." || name == "..") {
    return bad_option("name", name, "a name without a path");
  }
  return {};
}

/// The last part of the input's path.
std::string default_name(const std::string& input) {
  std::error_code ignored;
  fs::path path = fs::weakly_canonical(fs::path(input), ignored);
  if (path.empty()) path = fs::path(input).lexically_normal();
  return path.has_filename() ? path.filename().string() : path.parent_path().filename().string();
}

/// The type that loses nothing: that of the checkpoint's embedding table.
FileType stored_type(const TensorMap& tensors, const std::string& table) {
  const NamedTensor* tensor = tensors.find(table);
  if (tensor == nullptr) return FileType::kF32;  // reported when the table is taken
  if (tensor->view.dtype == DType::kF16) return FileType::kF16;
  return tensor->view.dtype == DType::kBF16 ? FileType::kBF16 : FileType::kF32;
}

/// What every file starts with, after its architecture.
void add_general_keys(const ConvertOptions& options, const std::string& name, const char* kind,
                      FileType type, Metadata& metadata) {
  metadata.set("general.type", format::metadata_string(kind));
  metadata.set("general.name", format::metadata_string(name));
  metadata.set("general.file_type", format::metadata_u32(static_cast<uint32_t>(type)));
  metadata.set("general.quantization_version", format::metadata_u32(kQuantizationVersion));
  if (!options.source_repo.empty()) {
    metadata.set("rill.source.repo", format::metadata_string(options.source_repo));
  }
  if (!options.source_revision.empty()) {
    metadata.set("rill.source.revision", format::metadata_string(options.source_revision));
  }
}

/// The model's own defaults for request options.
void add_defaults(const ConvertOptions& options, Metadata& metadata) {
  for (const auto& [name, value] : options.defaults) {
    metadata.set(cat("rill.generation.", name), default_value(value));
  }
}

/// A configuration with the feed-forward width that the tensors have.
Result<Config> read_stack_config(const Json& json, const std::string& name,
                                 const SafetensorsCheckpoint& checkpoint, const std::string& prefix,
                                 model::lfm2::Role role) {
  RILL_ASSIGN_OR_RETURN(Config config, model::lfm2::config_from_json(json, name, role));
  model::lfm2::WeightSource source;
  source.tensors = &checkpoint.tensors();
  source.name = name;
  source.scheme = model::lfm2::NameScheme::kTransformers;
  source.prefix = prefix;
  RILL_RETURN_IF_ERROR(model::lfm2::resolve_intermediate_size(source, config));
  return config;
}

/// A conversion in progress: what all files of it share.
struct Job {
  const ConvertOptions& options;
  std::string name;
  std::string tokenizer_directory;
  std::vector<std::string> notes;
  std::vector<OutputFile> files;
};

Result<Report> finish(Job& job, ThreadPool& pool) {
  for (const OutputFile& file : job.files) {
    RILL_RETURN_IF_ERROR(check_free(file.path, job.options.overwrite));
  }
  RILL_ASSIGN_OR_RETURN(Report report, write_files(job.files, pool, job.options.progress));
  report.notes = std::move(job.notes);
  return report;
}

/// The file with the layers, the tokenizer and the chat template; `config` and its tensors have
/// been read.
Result<OutputFile> language_file(Job& job, const Config& config, const std::string& prefix,
                                 FileType type, SourceTensors& source) {
  OutputFile file;
  file.type = type;
  add_stack_keys(config, file.metadata);
  add_general_keys(job.options, job.name, "model", type, file.metadata);
  RILL_RETURN_IF_ERROR(
      add_tokenizer_keys(job.tokenizer_directory, config.vocab_size, file.metadata, job.notes));
  RILL_RETURN_IF_ERROR(add_chat_keys(job.tokenizer_directory, file.metadata));
  add_defaults(job.options, file.metadata);
  RILL_RETURN_IF_ERROR(add_stack_tensors(config, prefix, base_dtype(type), source, file.tensors));
  return file;
}

Result<Report> convert_text(Job& job, const Json& json, const std::string& config_path,
                            ThreadPool& pool) {
  RILL_ASSIGN_OR_RETURN(const auto checkpoint, SafetensorsCheckpoint::open(job.options.input));
  RILL_ASSIGN_OR_RETURN(
      const Config config,
      read_stack_config(json, config_path, checkpoint, "model.", model::lfm2::Role::kGenerator));
  const FileType type =
      job.options.type.value_or(stored_type(checkpoint.tensors(), "model.embed_tokens.weight"));
  SourceTensors source(checkpoint.tensors(), job.options.input);
  RILL_ASSIGN_OR_RETURN(OutputFile file, language_file(job, config, "model.", type, source));
  // Some writers store the tied head a second time.
  RILL_RETURN_IF_ERROR(source.refuse_unused(
      [&](std::string_view name) { return config.tie_embedding && name == "lm_head.weight"; }));
  file.path = job.options.output;
  job.files.push_back(std::move(file));
  return finish(job, pool);
}

/// A part of a package: its file is named after its role and the backbone.
OutputFile package_file(const Job& job, std::string_view role, FileType type) {
  OutputFile file;
  file.type = type;
  const std::string name = cat(role, job.name, "-", file_type_name(type), ".gguf");
  file.path = (fs::path(job.options.output) / name).string();
  return file;
}

void add_language(const Job& job, Metadata& metadata) {
  const std::string& language = job.options.language;
  metadata.set("general.languages", format::metadata_strings({language.empty() ? "en" : language}));
}

Result<OutputFile> detokenizer_file(const Job& job, const Config& config, FileType type,
                                    SourceTensors& source) {
  OutputFile file = package_file(job, "tokenizer-", type);
  add_stack_keys(config, file.metadata);
  add_general_keys(job.options, job.name + " detokenizer", "model", type, file.metadata);
  file.metadata.set("tokenizer.ggml.model", format::metadata_string("none"));
  RILL_RETURN_IF_ERROR(add_stack_tensors(config, "lfm.", base_dtype(type), source, file.tensors));
  RILL_RETURN_IF_ERROR(add_detokenizer_projection(config, base_dtype(type), source, file.tensors));
  RILL_RETURN_IF_ERROR(source.refuse_unused(is_training_tensor));
  return file;
}

Status make_directory(const std::string& path) {
  std::error_code failed;
  fs::create_directories(path, failed);
  if (!failed) return {};
  return Error{ErrorCode::kIo,
               cat("convert: output: ", printable(path, 4096), ": ", failed.message())};
}

/// A liquid-audio checkpoint: the model, and the detokenizer in its own folder.
struct AudioCheckpoint {
  AudioConfig config;
  Config backbone;
  SafetensorsCheckpoint tensors;
  std::string detokenizer_directory;
  Config detokenizer;
  SafetensorsCheckpoint detokenizer_tensors;
};

Result<AudioCheckpoint> open_audio(const std::string& directory, const Json& json,
                                   const std::string& config_path) {
  using model::lfm2::Role;
  const std::string folder = directory + "/audio_detokenizer";
  const std::string folder_config = folder + "/config.json";
  RILL_ASSIGN_OR_RETURN(AudioConfig config, read_audio_config(json, config_path));
  RILL_ASSIGN_OR_RETURN(auto tensors, SafetensorsCheckpoint::open(directory));
  RILL_ASSIGN_OR_RETURN(Config backbone, read_stack_config(*json.find("lfm"), config_path + ": lfm",
                                                           tensors, "lfm.", Role::kGenerator));
  RILL_ASSIGN_OR_RETURN(const Json detokenizer_json, model::lfm2::read_json_file(folder_config));
  RILL_ASSIGN_OR_RETURN(auto detokenizer_tensors, SafetensorsCheckpoint::open(folder));
  RILL_ASSIGN_OR_RETURN(Config detokenizer,
                        read_stack_config(detokenizer_json, folder_config, detokenizer_tensors,
                                          "lfm.", Role::kDetokenizer));
  return AudioCheckpoint{config, std::move(backbone),    std::move(tensors),
                         folder, std::move(detokenizer), std::move(detokenizer_tensors)};
}

Result<OutputFile> backbone_file(Job& job, const AudioCheckpoint& in, FileType type,
                                 SourceTensors& source) {
  RILL_ASSIGN_OR_RETURN(OutputFile file, language_file(job, in.backbone, "lfm.", type, source));
  file.path = package_file(job, "", type).path;
  add_language(job, file.metadata);
  return file;
}

Result<OutputFile> encoder_file(const Job& job, const AudioCheckpoint& in, FileType type,
                                Extent extent, SourceTensors& source) {
  OutputFile file = package_file(job, "mmproj-", type);
  add_encoder_keys(in.config, in.backbone, file.metadata);
  add_general_keys(job.options, job.name, "mmproj", type, file.metadata);
  RILL_RETURN_IF_ERROR(
      add_encoder_tensors(in.config, in.backbone, base_dtype(type), extent, source, file.tensors));
  return file;
}

Result<Report> convert_audio(Job& job, const Json& json, const std::string& config_path,
                             ThreadPool& pool) {
  const ConvertOptions& options = job.options;
  RILL_ASSIGN_OR_RETURN(const AudioCheckpoint in, open_audio(options.input, json, config_path));
  const FileType type =
      options.type.value_or(stored_type(in.tensors.tensors(), "lfm.embed_tokens.weight"));
  const Extent extent = options.lean ? Extent::kLean : Extent::kAll;
  SourceTensors source(in.tensors.tensors(), options.input);
  SourceTensors detokenizer(in.detokenizer_tensors.tensors(), in.detokenizer_directory);

  RILL_ASSIGN_OR_RETURN(OutputFile backbone, backbone_file(job, in, type, source));
  job.files.push_back(std::move(backbone));
  RILL_ASSIGN_OR_RETURN(OutputFile encoder, encoder_file(job, in, type, extent, source));
  job.files.push_back(std::move(encoder));
  OutputFile vocoder = package_file(job, "vocoder-", type);
  add_vocoder_keys(in.config, vocoder.metadata);
  RILL_RETURN_IF_ERROR(add_vocoder_tensors(in.config, in.backbone, base_dtype(type), extent, source,
                                           detokenizer, vocoder.tensors));
  job.files.push_back(std::move(vocoder));
  RILL_ASSIGN_OR_RETURN(OutputFile stack, detokenizer_file(job, in.detokenizer, type, detokenizer));
  job.files.push_back(std::move(stack));

  RILL_RETURN_IF_ERROR(source.refuse_unused([&](std::string_view name) {
    return is_training_tensor(name) || (options.lean && name.starts_with("audio_embedding."));
  }));
  RILL_RETURN_IF_ERROR(make_directory(options.output));
  return finish(job, pool);
}

}  // namespace

format::MetadataValue default_value(const std::string& text) {
  const auto whole = parse_uint(text);
  if (whole && *whole <= UINT32_MAX) return format::metadata_u32(static_cast<uint32_t>(*whole));
  if (const auto number = parse_double(text))
    return format::metadata_f32(static_cast<float>(*number));
  return format::metadata_string(text);
}

Result<Report> convert_checkpoint(const ConvertOptions& options, ThreadPool& pool) {
  RILL_RETURN_IF_ERROR(check_options(options));
  const std::string config_path = options.input + "/config.json";
  RILL_ASSIGN_OR_RETURN(const Json json, model::lfm2::read_json_file(config_path));
  Job job{options,
          options.name.empty() ? default_name(options.input) : options.name,
          options.tokenizer.empty() ? options.input : options.tokenizer,
          {},
          {}};
  const Json* backbone = json.find("lfm");
  if (backbone != nullptr && backbone->is_object()) {
    return convert_audio(job, json, config_path, pool);
  }
  return convert_text(job, json, config_path, pool);
}

}  // namespace rill::convert
