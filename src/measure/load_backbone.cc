// SPDX-License-Identifier: Apache-2.0
#include "measure/load_backbone.h"

#include <filesystem>
#include <system_error>
#include <utility>

#include "base/mapped_file.h"
#include "base/str_cat.h"
#include "model/lfm2/load.h"
#include "model/lfm2_audio/files.h"

namespace rill::measure {
namespace {

namespace fs = std::filesystem;

bool exists(const std::string& path) {
  std::error_code ignored;
  return fs::exists(path, ignored);
}

Result<std::string> read_text(const std::string& path) {
  RILL_ASSIGN_OR_RETURN(const MappedFile file, MappedFile::open(path));
  const auto bytes = file.bytes();
  return std::string(reinterpret_cast<const char*>(bytes.data()), bytes.size());
}

Result<text::Tokenizer> directory_tokenizer(const std::string& directory) {
  RILL_ASSIGN_OR_RETURN(const std::string json, read_text(directory + "/tokenizer.json"));
  std::string config;
  if (exists(directory + "/tokenizer_config.json")) {
    RILL_ASSIGN_OR_RETURN(config, read_text(directory + "/tokenizer_config.json"));
  }
  return text::Tokenizer::from_json(json, config, directory + "/tokenizer.json");
}

void set_tokenizer(Result<text::Tokenizer> tokenizer, LoadedBackbone& loaded) {
  if (tokenizer) {
    loaded.tokenizer = std::move(tokenizer).value();
  } else {
    loaded.no_tokenizer = tokenizer.error().message;
  }
}

}  // namespace

Result<LoadedBackbone> load_backbone(const std::string& path, ThreadPool& pool) {
  LoadedBackbone loaded;
  std::string file_path = path;
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    if (exists(path + "/config.json")) {
      RILL_ASSIGN_OR_RETURN(loaded.backbone, model::lfm2::load_directory(path, pool));
      set_tokenizer(directory_tokenizer(path), loaded);
      return loaded;
    }
    RILL_ASSIGN_OR_RETURN(const auto files, model::lfm2_audio::select_files(
                                                path, {}, model::lfm2_audio::Use::kListen));
    file_path = path + "/" + files.backbone;
  }
  RILL_ASSIGN_OR_RETURN(auto file, format::GgufFile::open(file_path));
  loaded.file = std::make_unique<format::GgufFile>(std::move(file));
  RILL_ASSIGN_OR_RETURN(loaded.backbone, model::lfm2::load_gguf(*loaded.file, {}, pool));
  set_tokenizer(text::Tokenizer::from_metadata(loaded.file->metadata()), loaded);
  return loaded;
}

}  // namespace rill::measure
