// SPDX-License-Identifier: Apache-2.0
// The subjects of a text set.
#include "base/str_cat.h"
#include "verify/set_files.h"
#include "verify/text_data.h"
#include "verify/text_models.h"
#include "verify/verify.h"

namespace rill::verify {
namespace {

Status add_checkpoints(const std::string& set_dir, std::vector<Subject>& out) {
  RILL_ASSIGN_OR_RETURN(const Json manifest, read_json(set_dir + "/manifest.json"));
  const Json* cases = manifest.find("cases");
  if (cases == nullptr || !cases->is_array()) {
    return Error{ErrorCode::kInvalidFormat,
                 cat("read set: ", set_dir, "/manifest.json: 'cases' is missing")};
  }
  for (const Json& test_case : cases->items()) {
    RILL_ASSIGN_OR_RETURN(const std::string name,
                          json_string(test_case, "name", "manifest.json: cases"));
    const Json* variants = test_case.find("variants");
    if (variants == nullptr || !variants->is_array()) continue;
    for (const Json& variant : variants->items()) {
      RILL_ASSIGN_OR_RETURN(const std::string variant_name, json_string(variant, "variant", name));
      out.push_back({cat(name, ".", variant_name), verify_checkpoint});
    }
  }
  return {};
}

Status add_gguf_files(const std::string& set_dir, std::vector<Subject>& out) {
  if (!is_file(set_dir + "/gguf/manifest.json")) return {};
  RILL_ASSIGN_OR_RETURN(const Json manifest, read_json(set_dir + "/gguf/manifest.json"));
  const Json* files = manifest.find("files");
  if (files == nullptr || !files->is_array()) {
    return Error{ErrorCode::kInvalidFormat,
                 cat("read set: ", set_dir, "/gguf/manifest.json: 'files' is missing")};
  }
  for (const Json& entry : files->items()) {
    RILL_ASSIGN_OR_RETURN(const std::string file,
                          json_string(entry, "file", "gguf/manifest.json: files"));
    out.push_back({gguf_subject_name(file), verify_gguf});
  }
  return {};
}

}  // namespace

Result<std::vector<Subject>> text_subjects(const std::string& set_dir) {
  std::vector<Subject> out;
  if (is_file(set_dir + "/vectors/quant_blocks.json"))
    out.push_back({"quant_blocks", verify_quant_blocks});
  if (is_file(set_dir + "/vectors/ops.safetensors")) out.push_back({"ops", verify_ops});
  if (is_file(set_dir + "/tokenizer/cases.json")) out.push_back({"tokenizer", verify_tokenizer});
  if (is_file(set_dir + "/chat_cases.json")) out.push_back({"chat_cases", verify_chat_cases});
  RILL_RETURN_IF_ERROR(add_checkpoints(set_dir, out));
  RILL_RETURN_IF_ERROR(add_gguf_files(set_dir, out));
  return out;
}

}  // namespace rill::verify
