// SPDX-License-Identifier: Apache-2.0
// From files to a Backbone: a GGUF file, or a Transformers checkpoint (config.json and
// safetensors).
#pragma once

#include <memory>
#include <string>

#include "base/json.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "format/gguf.h"
#include "model/lfm2/backbone.h"

namespace rill::model::lfm2 {

/// Errors: those of config_from_gguf and load_weights.
/// Lifetime: with MatrixForm::kBorrowed the file must outlive the backbone.
Result<std::unique_ptr<Backbone>> load_gguf(const format::GgufFile& file,
                                            const LoadOptions& options, ThreadPool& pool);

/// A checkpoint directory: config.json with model.safetensors or the shards that
/// model.safetensors.index.json lists. In an audio checkpoint (config.json has "lfm") the backbone
/// inside it is loaded. Matrices are always packed. Errors: those of config_from_json and
/// load_weights, and of reading the files.
Result<std::unique_ptr<Backbone>> load_directory(const std::string& directory, ThreadPool& pool);

/// The same with the configuration and the weights named apart: weights_path is a safetensors file,
/// an index of shards, or a directory.
Result<std::unique_ptr<Backbone>> load_checkpoint(const std::string& config_path,
                                                  const std::string& weights_path,
                                                  ThreadPool& pool);

/// Reads and parses a JSON file. Errors: kNotFound, kIo, kInvalidFormat; the path is named.
Result<Json> read_json_file(const std::string& path);

}  // namespace rill::model::lfm2
