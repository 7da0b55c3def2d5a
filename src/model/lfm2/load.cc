// SPDX-License-Identifier: Apache-2.0
#include "model/lfm2/load.h"

#include <utility>

#include "base/mapped_file.h"
#include "base/str_cat.h"
#include "format/safetensors_shards.h"

namespace rill::model::lfm2 {
namespace {

Result<std::unique_ptr<Backbone>> build(const WeightSource& source, Config config,
                                        const LoadOptions& options, ThreadPool& pool) {
  RILL_RETURN_IF_ERROR(resolve_intermediate_size(source, config));
  RILL_ASSIGN_OR_RETURN(Weights weights, load_weights(source, config, options, pool));
  return std::make_unique<Backbone>(std::move(config), std::move(weights));
}

}  // namespace

Result<Json> read_json_file(const std::string& path) {
  RILL_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path));
  const std::span<const std::byte> bytes = file.bytes();
  Result<Json> json = parse_json({reinterpret_cast<const char*>(bytes.data()), bytes.size()});
  if (!json) return std::move(json).error().with_context(cat("read ", path));
  return json;
}

Result<std::unique_ptr<Backbone>> load_gguf(const format::GgufFile& file,
                                            const LoadOptions& options, ThreadPool& pool) {
  RILL_ASSIGN_OR_RETURN(Config config, config_from_gguf(file, options.role));
  WeightSource source;
  source.tensors = &file.tensors();
  source.name = file.name();
  source.scheme = NameScheme::kGguf;
  source.gguf = &file;
  return build(source, std::move(config), options, pool);
}

Result<std::unique_ptr<Backbone>> load_checkpoint(const std::string& config_path,
                                                  const std::string& weights_path,
                                                  ThreadPool& pool) {
  RILL_ASSIGN_OR_RETURN(const Json json, read_json_file(config_path));
  const Json* inner = json.find("lfm");  // an audio checkpoint keeps its backbone there
  RILL_ASSIGN_OR_RETURN(Config config, inner != nullptr
                                           ? config_from_json(*inner, config_path + ": lfm")
                                           : config_from_json(json, config_path));
  RILL_ASSIGN_OR_RETURN(const auto checkpoint, format::SafetensorsCheckpoint::open(weights_path));
  WeightSource source;
  source.tensors = &checkpoint.tensors();
  source.name = weights_path;
  source.scheme = NameScheme::kTransformers;
  source.prefix = inner != nullptr ? "lfm." : "model.";
  return build(source, std::move(config), {}, pool);
}

Result<std::unique_ptr<Backbone>> load_directory(const std::string& directory, ThreadPool& pool) {
  return load_checkpoint(directory + "/config.json", directory, pool);
}

}  // namespace rill::model::lfm2
