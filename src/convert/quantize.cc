// SPDX-License-Identifier: Apache-2.0
#include "convert/quantize.h"

#include <algorithm>
#include <filesystem>
#include <memory>
#include <system_error>
#include <utility>

#include "base/str_cat.h"
#include "convert/quantize_rules.h"
#include "format/gguf.h"
#include "format/portable.h"
#include "model/lfm2_audio/files.h"

namespace rill::convert {
namespace {

namespace fs = std::filesystem;

using format::GgufFile;
using format::Metadata;

constexpr char kFileTypeKey[] = "general.file_type";
constexpr uint32_t kQuantizationVersion = 2;

/// Types that values can be read from without having lost precision to blocks.
bool is_source_type(DType dtype) {
  return dtype == DType::kF32 || dtype == DType::kF16 || dtype == DType::kBF16;
}

Error quantized_already(const GgufFile& file, const NamedTensor& tensor, DType to) {
  return Error{ErrorCode::kInvalidArgument,
               cat("quantize: ", printable(file.name(), 4096), ": ", printable(tensor.name),
                   ": got ", dtype_name(tensor.view.dtype),
                   ", which has lost precision already, "
                   "expected F32, F16 or BF16 to make ",
                   dtype_name(to), " from; use the original file, or the option allow-requantize")};
}

/// Integers and doubles are no weights: copied.
bool is_weight(DType dtype) { return is_source_type(dtype) || is_quantized(dtype); }

Result<OutputTensor> plan_tensor(const GgufFile& file, const NamedTensor& tensor, TypeChoice choice,
                                 bool allow_requantize) {
  const DType from = tensor.view.dtype;
  OutputTensor out;
  out.name = tensor.name;
  out.shape = tensor.view.shape;
  out.parts = {tensor.view};
  out.dtype = choice.dtype;
  out.note = std::move(choice.note);
  if (!is_weight(from)) {
    out.dtype = from;
    out.note = "no weights: copied";
  } else if (is_quantized(from) && from != out.dtype && !allow_requantize) {
    return quantized_already(file, tensor, out.dtype);
  }
  return out;
}

Result<std::vector<OutputTensor>> plan_tensors(const GgufFile& file, FileType type,
                                               bool allow_requantize) {
  const FileFacts facts = file_facts(file);
  std::vector<OutputTensor> tensors;
  size_t attention_index = 0;
  for (const NamedTensor& tensor : file.tensors().all()) {
    TypeChoice choice = choose_type(type, tensor.name, tensor.view.shape, facts, attention_index);
    if (tensor.name.ends_with(".attn_v.weight")) ++attention_index;
    RILL_ASSIGN_OR_RETURN(OutputTensor out,
                          plan_tensor(file, tensor, std::move(choice), allow_requantize));
    tensors.push_back(std::move(out));
  }
  return tensors;
}

/// A vocoder file has no file type, and gets none.
void update_keys(FileType type, Metadata& metadata) {
  const auto architecture = metadata.get_string("general.architecture");
  const bool vocoder = architecture && architecture->starts_with("this model cannot");
  if (!vocoder || metadata.has(kFileTypeKey)) {
    metadata.set(kFileTypeKey, format::metadata_u32(static_cast<uint32_t>(type)));
    metadata.set("general.quantization_version", format::metadata_u32(kQuantizationVersion));
  }
}

Result<OutputFile> plan_file(const GgufFile& file, const std::string& path,
                             const QuantizeOptions& options) {
  RILL_RETURN_IF_ERROR(format::check_portable(file));
  OutputFile out;
  out.path = path;
  out.type = options.type;
  out.metadata = file.metadata();
  update_keys(options.type, out.metadata);
  RILL_ASSIGN_OR_RETURN(out.tensors, plan_tensors(file, options.type, options.allow_requantize));
  return out;
}

/// "model-F16.gguf" as "model-Q8_0.gguf": the type at the end of a name gives way.
std::string renamed(const std::string& name, FileType type) {
  std::string stem = fs::path(name).stem().string();
  const size_t dash = stem.rfind('-');
  if (dash != std::string::npos && file_type_by_name(stem.substr(dash + 1))) stem.resize(dash);
  return cat(stem, "-", file_type_name(type), ".gguf");
}

struct Pair {
  std::string input;
  std::string output;
};

/// The files of a package: all four, or the two that transcribe.
Result<std::vector<Pair>> package_pairs(const QuantizeOptions& options) {
  using model::lfm2_audio::Use;
  auto files = model::lfm2_audio::select_files(options.input, {}, Use::kSpeak);
  if (!files) files = model::lfm2_audio::select_files(options.input, {}, Use::kListen);
  if (!files) return std::move(files).error();
  std::vector<Pair> pairs;
  for (const std::string& name :
       {files->backbone, files->mmproj, files->vocoder, files->detokenizer}) {
    if (name.empty()) continue;
    pairs.push_back({(fs::path(options.input) / name).string(),
                     (fs::path(options.output) / renamed(name, options.type)).string()});
  }
  std::error_code failed;
  fs::create_directories(options.output, failed);
  if (failed) {
    return Error{ErrorCode::kIo, cat("quantize: output: ", printable(options.output, 4096), ": ",
                                     failed.message())};
  }
  return pairs;
}

Result<std::vector<Pair>> file_pairs(const QuantizeOptions& options) {
  std::error_code ignored;
  if (fs::is_directory(options.input, ignored)) return package_pairs(options);
  return std::vector<Pair>{{options.input, options.output}};
}

}  // namespace

Result<Report> quantize_model(const QuantizeOptions& options, ThreadPool& pool) {
  if (options.input.empty() || options.output.empty()) {
    return Error{ErrorCode::kInvalidArgument, "quantize: input and output must be named"};
  }
  RILL_ASSIGN_OR_RETURN(const std::vector<Pair> pairs, file_pairs(options));
  std::vector<std::unique_ptr<GgufFile>> inputs;  // alive while their tensors are read
  std::vector<OutputFile> outputs;
  for (const Pair& pair : pairs) {
    RILL_RETURN_IF_ERROR(check_free(pair.output, options.overwrite));
    RILL_ASSIGN_OR_RETURN(GgufFile file, GgufFile::open(pair.input));
    inputs.push_back(std::make_unique<GgufFile>(std::move(file)));
    RILL_ASSIGN_OR_RETURN(OutputFile output, plan_file(*inputs.back(), pair.output, options));
    outputs.push_back(std::move(output));
  }
  return write_files(outputs, pool, options.progress);
}

}  // namespace rill::convert
