// SPDX-License-Identifier: Apache-2.0
#include "model/lfm2/load.h"

#include <algorithm>
#include <utility>

#include "base/mapped_file.h"
#include "base/str_cat.h"

namespace rill::model::lfm2 {
namespace {

using format::SafetensorsFile;

Result<std::unique_ptr<Backbone>> build(const WeightSource& source, Config config,
                                        const LoadOptions& options, ThreadPool& pool) {
  RILL_RETURN_IF_ERROR(resolve_intermediate_size(source, config));
  RILL_ASSIGN_OR_RETURN(Weights weights, load_weights(source, config, options, pool));
  return std::make_unique<Backbone>(std::move(config), std::move(weights));
}

/// The shards that an index file lists, each once, in the order of their first tensor.
Result<std::vector<std::string>> read_index(const std::string& directory,
                                            const std::string& index_path) {
  RILL_ASSIGN_OR_RETURN(const Json index, read_json_file(index_path));
  const Json* map = index.find("weight_map");
  const auto wrong = [&](const std::string& got) {
    return Error{ErrorCode::kInvalidFormat, cat("load weights: ", index_path, ": weight_map: got ",
                                                got, ", expected tensor names with file names")};
  };
  if (map == nullptr || !map->is_object()) return wrong("no object");
  std::vector<std::string> paths;
  for (const auto& [tensor, file] : map->members()) {
    // A plain name: an index must not lead out of its directory.
    if (!file.is_string() || file.as_string().empty() ||
        file.as_string().find('/') != std::string::npos) {
      return wrong(printable(file.dump()));
    }
    const std::string path = directory + "/" + file.as_string();
    if (std::find(paths.begin(), paths.end(), path) == paths.end()) paths.push_back(path);
  }
  return paths;
}

Result<TensorMap> merge(const std::vector<SafetensorsFile>& files) {
  TensorMap all;
  for (const SafetensorsFile& file : files) {
    for (const NamedTensor& tensor : file.tensors().all()) {
      if (all.add(tensor)) continue;
      return Error{ErrorCode::kInvalidFormat,
                   cat("load weights: ", file.name(), ": ", printable(tensor.name),
                       ": this tensor is in an earlier file too")};
    }
  }
  return all;
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
                                                  std::span<const std::string> weight_paths,
                                                  ThreadPool& pool) {
  RILL_ASSIGN_OR_RETURN(const Json json, read_json_file(config_path));
  const Json* inner = json.find("lfm");  // an audio checkpoint keeps its backbone there
  RILL_ASSIGN_OR_RETURN(Config config, inner != nullptr
                                           ? config_from_json(*inner, config_path + ": lfm")
                                           : config_from_json(json, config_path));
  std::vector<SafetensorsFile> files;
  for (const std::string& path : weight_paths) {
    RILL_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(path));
    files.push_back(std::move(file));
  }
  RILL_ASSIGN_OR_RETURN(const TensorMap tensors, merge(files));
  WeightSource source;
  source.tensors = &tensors;
  source.name = weight_paths.size() == 1 ? weight_paths[0] : config_path;
  source.scheme = NameScheme::kTransformers;
  source.prefix = inner != nullptr ? "lfm." : "model.";
  return build(source, std::move(config), {}, pool);
}

Result<std::unique_ptr<Backbone>> load_directory(const std::string& directory, ThreadPool& pool) {
  const std::string index_path = directory + "/model.safetensors.index.json";
  std::vector<std::string> paths = {directory + "/model.safetensors"};
  const Result<MappedFile> index = MappedFile::open(index_path);
  if (index) {
    RILL_ASSIGN_OR_RETURN(paths, read_index(directory, index_path));
  } else if (index.error().code != ErrorCode::kNotFound) {
    return index.error();
  }
  return load_checkpoint(directory + "/config.json", paths, pool);
}

}  // namespace rill::model::lfm2
