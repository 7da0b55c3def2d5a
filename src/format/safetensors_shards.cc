// SPDX-License-Identifier: Apache-2.0
#include "format/safetensors_shards.h"

#include <algorithm>
#include <unordered_map>

#include "base/json.h"
#include "base/str_cat.h"

namespace rill::format {
namespace {

constexpr std::string_view kIndexName = "model.safetensors.index.json";
constexpr std::string_view kSingleName = "model.safetensors";

Error fail(const std::string& path, std::string_view where, std::string_view got,
           std::string_view expected, ErrorCode code = ErrorCode::kInvalidFormat) {
  return Error{code, cat("load checkpoint: ", printable(path, 4096), ": ", where, ": got ", got,
                         ", expected ", expected)};
}

// The index, as (tensor, shard) pairs in its order.
struct Index {
  std::vector<std::pair<std::string, std::string>> lines;
  std::vector<std::string> shards;  // each once, sorted
};

// A plain file name: an index must not reach outside its folder.
bool is_plain_name(std::string_view name) {
  return !name.empty() && name != "." && name != ".." &&
         name.find_first_of("/\\") == std::string_view::npos &&
         name.find('\0') == std::string_view::npos;
}

Result<Index> parse_index(const std::string& path, std::string_view text) {
  JsonLimits limits;
  limits.max_bytes = 100'000'000;
  limits.max_depth = 8;
  limits.max_values = size_t{1} << 22;
  Result<Json> json = parse_json(text, limits);
  if (!json)
    return std::move(json).error().with_context(cat("load checkpoint: ", printable(path, 4096)));
  const Json* map = json->find("weight_map");
  if (map == nullptr || !map->is_object() || map->members().empty()) {
    return fail(path, "weight_map", map == nullptr ? "no such key" : printable(map->dump(), 60),
                "an object of tensor names and file names");
  }
  Index index;
  for (const auto& [tensor, shard] : map->members()) {
    if (!shard.is_string() || !is_plain_name(shard.as_string())) {
      return fail(path, cat("weight_map: ", printable(tensor)), printable(shard.dump(), 200),
                  "the name of a file in the same folder");
    }
    index.lines.emplace_back(tensor, shard.as_string());
    index.shards.push_back(shard.as_string());
  }
  std::sort(index.shards.begin(), index.shards.end());
  index.shards.erase(std::unique(index.shards.begin(), index.shards.end()), index.shards.end());
  return index;
}

std::vector<std::string> names_of(const SafetensorsFile& file) {
  std::vector<std::string> names;
  for (const NamedTensor& tensor : file.tensors().all()) names.push_back(tensor.name);
  for (const RawTensor& tensor : file.raw_tensors()) names.push_back(tensor.name);
  return names;
}

// The index and the shards must tell the same story: every tensor in exactly the shard that its
// line names.
Status check_index(const std::string& path, const Index& index,
                   const std::vector<SafetensorsFile>& files) {
  std::unordered_map<std::string, size_t> place;  // tensor -> shard that holds it
  for (size_t i = 0; i < files.size(); ++i) {
    for (const std::string& name : names_of(files[i])) {
      const auto [it, added] = place.emplace(name, i);
      if (!added) {
        return fail(path, cat("tensor ", printable(name)),
                    cat("it in ", printable(index.shards[it->second]), " and in ",
                        printable(index.shards[i])),
                    "each tensor in one file");
      }
    }
  }
  for (const auto& [tensor, shard] : index.lines) {
    const auto it = place.find(tensor);
    if (it == place.end() || index.shards[it->second] != shard) {
      return fail(path, cat("weight_map: ", printable(tensor)),
                  it == place.end() ? std::string("no such tensor in any file")
                                    : cat("it in ", printable(index.shards[it->second])),
                  cat("it in ", printable(shard)), ErrorCode::kNotFound);
    }
    place.erase(it);
  }
  if (place.empty()) return {};
  const auto least = std::min_element(place.begin(), place.end());  // the same message on every run
  return fail(path, cat("tensor ", printable(least->first)),
              cat("it in ", printable(index.shards[least->second]), " and not in weight_map"),
              "every tensor in weight_map");
}

using Files = std::vector<SafetensorsFile>;

// The shards of an index. Errors: kNotFound also when there is no index file.
Result<Files> open_shards(const std::string& index_path, const std::string& folder) {
  Result<MappedFile> text = MappedFile::open(index_path);
  if (!text) return std::move(text).error().with_context("load checkpoint");
  const auto* begin = reinterpret_cast<const char*>(text->bytes().data());
  RILL_ASSIGN_OR_RETURN(const Index index, parse_index(index_path, {begin, text->bytes().size()}));
  Files files;
  for (const std::string& shard : index.shards) {
    RILL_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(cat(folder, shard)));
    files.push_back(std::move(file));
  }
  RILL_RETURN_IF_ERROR(check_index(index_path, index, files));
  return files;
}

Result<Files> open_single(const std::string& path) {
  RILL_ASSIGN_OR_RETURN(SafetensorsFile file, SafetensorsFile::open(path));
  Files files;
  files.push_back(std::move(file));
  return files;
}

bool file_exists(const std::string& path) {
  const Result<MappedFile> file = MappedFile::open(path);
  return file.has_value() || file.error().code != ErrorCode::kNotFound;
}

Result<Files> open_files(const std::string& path) {
  const std::string_view text = path;
  if (text.ends_with(".json")) return open_shards(path, path.substr(0, path.find_last_of('/') + 1));
  if (text.ends_with(".safetensors")) return open_single(path);
  const std::string folder = cat(path, "/");
  const std::string index_path = cat(folder, kIndexName);
  return file_exists(index_path) ? open_shards(index_path, folder)
                                 : open_single(cat(folder, kSingleName));
}

}  // namespace

Result<SafetensorsCheckpoint> SafetensorsCheckpoint::open(const std::string& path) {
  SafetensorsCheckpoint checkpoint;
  checkpoint.name_ = path;
  RILL_ASSIGN_OR_RETURN(checkpoint.files_, open_files(path));
  // A single file has no name twice, and check_index has refused one in two shards.
  for (const SafetensorsFile& file : checkpoint.files_) {
    for (const NamedTensor& tensor : file.tensors().all()) checkpoint.tensors_.add(tensor);
  }
  return checkpoint;
}

Result<const NamedTensor*> SafetensorsCheckpoint::get(std::string_view name) const {
  if (const NamedTensor* tensor = tensors_.find(name)) return tensor;
  for (const SafetensorsFile& file : files_) {
    Result<const NamedTensor*> found = file.get(name);
    if (!found && found.error().code == ErrorCode::kUnsupported) return found;
  }
  return fail(name_, cat("tensor ", printable(name)), "no such tensor", "it in the checkpoint",
              ErrorCode::kNotFound);
}

}  // namespace rill::format
