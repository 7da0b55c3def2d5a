// SPDX-License-Identifier: Apache-2.0
#include "inspect/inspect.h"

#include <algorithm>
#include <filesystem>
#include <map>
#include <system_error>
#include <variant>

#include "base/cpu_features.h"
#include "base/json.h"
#include "base/str_cat.h"
#include "base/utf8.h"
#include "format/gguf.h"
#include "format/portable.h"
#include "inspect/memory_plan.h"
#include "inspect/render.h"
#include "model/lfm2_audio/files.h"

namespace rill::inspect {
namespace {

namespace fs = std::filesystem;
using format::GgufFile;
using format::MetadataValue;

// Long arrays (vocabularies) are summarised.
constexpr size_t kMaxArrayItems = 24;

Json to_json(const std::string& value) { return Json::string(to_valid_utf8(value)); }
Json to_json(int64_t value) { return Json::integer(value); }
Json to_json(double value) { return Json::number(value); }
Json to_json(bool value) { return Json::boolean(value); }
Json to_json(uint64_t value) {
  const bool fits = value <= static_cast<uint64_t>(INT64_MAX);
  return fits ? Json::integer(static_cast<int64_t>(value))
              : Json::number(static_cast<double>(value));
}
template <typename T>
Json to_json(const std::vector<T>& values) {
  if (values.size() > kMaxArrayItems) return Json::string(cat("array of ", values.size()));
  Json array = Json::array();
  for (const auto& value : values) array.items().push_back(to_json(static_cast<T>(value)));
  return array;
}

Json metadata_json(const format::Metadata& metadata) {
  Json out = Json::object();
  for (const auto& [key, entry] : metadata.all()) {
    out.set(key, std::visit([](const auto& value) { return to_json(value); }, entry.value));
  }
  return out;
}

Json tensors_json(const TensorMap& tensors) {
  Json out = Json::array();
  for (const NamedTensor& tensor : tensors.all()) {
    Json entry = Json::object();
    entry.set("name", Json::string(to_valid_utf8(tensor.name)));
    entry.set("type", Json::string(std::string(dtype_name(tensor.view.dtype))));
    entry.set("shape", Json::string(tensor.view.shape.to_string()));
    entry.set("offset", to_json(static_cast<uint64_t>(tensor.file_offset)));
    entry.set("bytes", to_json(static_cast<uint64_t>(tensor.view.size_bytes())));
    out.items().push_back(std::move(entry));
  }
  return out;
}

/// Tensors and bytes of each stored type.
Json types_json(const TensorMap& tensors) {
  std::map<std::string, std::pair<uint64_t, uint64_t>> types;
  for (const NamedTensor& tensor : tensors.all()) {
    auto& [count, bytes] = types[std::string(dtype_name(tensor.view.dtype))];
    ++count;
    bytes += tensor.view.size_bytes();
  }
  Json out = Json::object();
  for (const auto& [name, facts] : types) {
    Json entry = Json::object();
    entry.set("tensors", to_json(facts.first));
    entry.set("bytes", to_json(facts.second));
    out.set(name, std::move(entry));
  }
  return out;
}

Json operators_json(const GgufFile& file) {
  Json out = Json::array();
  for (const std::string_view name : format::operators_of(file)) {
    out.items().push_back(Json::string(std::string(name)));
  }
  return out;
}

/// The file's own defaults for request options, as TASK.OPTION.
Json defaults_json(const format::Metadata& metadata) {
  constexpr std::string_view kPrefix = "rill.generation.";
  Json out = Json::object();
  for (const auto& [key, entry] : metadata.all()) {
    if (!key.starts_with(kPrefix)) continue;
    out.set(key.substr(kPrefix.size()),
            std::visit([](const auto& value) { return to_json(value); }, entry.value));
  }
  return out;
}

Json file_report(const GgufFile& file, const InspectOptions& options) {
  Json out = Json::object();
  uint64_t parameters = 0;
  for (const NamedTensor& tensor : file.tensors().all())
    parameters += tensor.view.shape.num_elements();
  out.set("file", Json::string(to_valid_utf8(file.name())));
  out.set("format", Json::string(cat("GGUF v", file.version())));
  out.set("size_bytes", to_json(static_cast<uint64_t>(file.size_bytes())));
  for (const char* key : {"general.architecture", "general.name"}) {
    if (const auto value = file.metadata().get_string(key))
      out.set(std::string(key).substr(8), to_json(*value));
  }
  out.set("parameters", to_json(parameters));
  out.set("operators", operators_json(file));
  out.set("types", types_json(file.tensors()));
  if (Json defaults = defaults_json(file.metadata()); !defaults.members().empty())
    out.set("defaults", std::move(defaults));
  out.set("memory", memory_plan(file));
  if (options.metadata) out.set("metadata", metadata_json(file.metadata()));
  if (options.tensors) out.set("tensors", tensors_json(file.tensors()));
  return out;
}

std::string render(const Json& report, const InspectOptions& options) {
  return options.json ? report.dump() + "\n" : render_text(report);
}

Result<std::vector<std::string>> gguf_files(const std::string& directory) {
  std::error_code error;
  std::vector<std::string> names;
  for (fs::directory_iterator it(directory, error), end; !error && it != end; it.increment(error)) {
    const std::string name = it->path().filename().string();
    if (name.ends_with(".gguf") || name.ends_with(".GGUF")) names.push_back(name);
  }
  if (error)
    return Error{ErrorCode::kIo, cat("inspect: ", printable(directory), ": ", error.message())};
  if (names.empty()) {
    return Error{ErrorCode::kNotFound,
                 cat("inspect: ", printable(directory), ": no GGUF file in this directory")};
  }
  std::sort(names.begin(), names.end());
  return names;
}

Json roles_json(const model::lfm2_audio::PackageFiles& files) {
  Json out = Json::object();
  out.set("backbone", Json::string(files.backbone));
  out.set("mmproj", Json::string(files.mmproj));
  if (!files.vocoder.empty()) out.set("vocoder", Json::string(files.vocoder));
  if (!files.detokenizer.empty()) out.set("detokenizer", Json::string(files.detokenizer));
  return out;
}

/// Which files a package directory would use, or why none.
Json package_json(const std::string& directory) {
  using model::lfm2_audio::Use;
  auto files = model::lfm2_audio::select_files(directory, {}, Use::kSpeak);
  if (!files) files = model::lfm2_audio::select_files(directory, {}, Use::kListen);
  return files ? roles_json(*files) : Json::string(files.error().message);
}

Result<Json> directory_report(const std::string& directory, const InspectOptions& options) {
  RILL_ASSIGN_OR_RETURN(const auto names, gguf_files(directory));
  Json out = Json::object();
  out.set("package", package_json(directory));
  for (const std::string& name : names) {
    RILL_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::open(directory + "/" + name));
    out.set(to_valid_utf8(name), file_report(file, options));
  }
  return out;
}

}  // namespace

Result<std::string> inspect_path(const std::string& path, const InspectOptions& options) {
  std::error_code ignored;
  if (fs::is_directory(path, ignored)) {
    RILL_ASSIGN_OR_RETURN(const Json report, directory_report(path, options));
    return render(report, options);
  }
  RILL_ASSIGN_OR_RETURN(const GgufFile file, GgufFile::open(path));
  return render(file_report(file, options), options);
}

std::string inspect_cpu(const kernels::KernelTable& kernels, size_t num_threads,
                        const InspectOptions& options) {
  Json out = Json::object();
  out.set("processor", Json::string(cpu_model_name()));
  Json tiers = Json::array();
  for (const IsaTier tier :
       {IsaTier::kScalar, IsaTier::kAvx2, IsaTier::kAvx512, IsaTier::kAvx512Vnni, IsaTier::kNeon}) {
    if (cpu_supports(tier)) tiers.items().push_back(Json::string(std::string(isa_tier_name(tier))));
  }
  out.set("tiers", std::move(tiers));
  out.set("tier", Json::string(std::string(isa_tier_name(kernels.tier))));
  out.set("threads", to_json(static_cast<uint64_t>(num_threads)));
  Json functions = Json::object();
  for (const auto& [function, tier] : kernels::functions_of(kernels.tier)) {
    functions.set(std::string(function), Json::string(std::string(isa_tier_name(tier))));
  }
  out.set("kernels", std::move(functions));
  return render(out, options);
}

}  // namespace rill::inspect
