// SPDX-License-Identifier: Apache-2.0
#include "hub_select.h"

#include <algorithm>
#include <array>
#include <string_view>

namespace rill::cli::hub {
namespace {

constexpr std::array<std::string_view, 3> kCompanions = {"mmproj-", "vocoder-", "tokenizer-"};
constexpr std::string_view kGguf = ".gguf";

std::string_view base_name(std::string_view path) { return path.substr(path.rfind('/') + 1); }
std::string_view folder(std::string_view path) {
  return path.substr(0, path.size() - base_name(path).size());
}

bool is_companion(std::string_view path) {
  const std::string_view name = base_name(path);
  return std::any_of(kCompanions.begin(), kCompanions.end(),
                     [&](std::string_view prefix) { return name.starts_with(prefix); });
}

bool equal_ignoring_case(std::string_view a, std::string_view b) {
  const auto low = [](char c) { return c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c; };
  return std::equal(a.begin(), a.end(), b.begin(), b.end(),
                    [&](char x, char y) { return low(x) == low(y); });
}

/// True if the name ends in the type, as "model-Q4_0.gguf" does.
bool has_quant(std::string_view name, std::string_view quant) {
  const std::string_view stem = name.substr(0, name.size() - kGguf.size());
  if (stem.size() <= quant.size()) return false;
  const char before = stem[stem.size() - quant.size() - 1];
  return (before == '-' || before == '.' || before == '_') &&
         equal_ignoring_case(stem.substr(stem.size() - quant.size()), quant);
}

std::string listed(const std::vector<std::string>& names) {
  std::string out;
  for (const std::string& name : names) out += (out.empty() ? "" : ", ") + name;
  return out;
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::find(names.begin(), names.end(), name) != names.end();
}

/// The file that is asked for; "" if there is none.
std::string choose_gguf(const ModelRef& ref, const std::vector<std::string>& ggufs) {
  const std::string& wanted = ref.quant.empty() ? ref.default_quant : ref.quant;
  for (const std::string& name : ggufs) {
    if (has_quant(name, wanted)) return name;
  }
  if (!ref.quant.empty() || ggufs.empty()) return "";
  for (const std::string& name : ggufs) {
    if (has_quant(name, "Q8_0")) return name;
  }
  return ggufs.size() == 1 ? ggufs.front() : "";
}

Selection with_companions(const std::string& main, const std::vector<std::string>& names) {
  Selection selection;
  selection.main = main;
  for (const std::string_view prefix : kCompanions) {
    const std::string name =
        std::string(folder(main)) + std::string(prefix) + std::string(base_name(main));
    if (contains(names, name)) selection.files.push_back(name);
  }
  if (!selection.files.empty()) selection.kind = Selection::Kind::kPackage;
  selection.files.push_back(main);
  return selection;
}

std::optional<Selection> checkpoint(const std::vector<std::string>& names) {
  Selection selection;
  selection.kind = Selection::Kind::kCheckpoint;
  selection.main = "config.json";
  bool weights = false;
  for (const std::string& name : names) {
    if (name.find('/') != std::string::npos || name == selection.main) continue;
    weights = weights || name.ends_with(".safetensors");
    if (name.ends_with(".safetensors") || name.ends_with(".json") || name.ends_with(".jinja"))
      selection.files.push_back(name);
  }
  if (!weights || !contains(names, selection.main)) return std::nullopt;
  selection.files.push_back(selection.main);
  return selection;
}

}  // namespace

std::optional<Selection> select_files(const ModelRef& ref, const std::vector<std::string>& names,
                                      std::string& why) {
  std::vector<std::string> ggufs;
  for (const std::string& name : names) {
    if (name.ends_with(kGguf) && !is_companion(name)) ggufs.push_back(name);
  }
  std::sort(ggufs.begin(), ggufs.end());
  const std::string main = choose_gguf(ref, ggufs);
  if (!main.empty()) {
    Selection selection = with_companions(main, names);
    if (!ref.speech || selection.kind == Selection::Kind::kPackage) return selection;
    why = main + " is there without its mmproj- file";
    return std::nullopt;
  }
  if (ref.quant.empty()) {
    if (auto selection = checkpoint(names)) return selection;
  }
  if (ggufs.empty()) {
    why = "no GGUF file and no Transformers checkpoint";
  } else if (ref.quant.empty()) {
    why = "several GGUF files, name the type: " + listed(ggufs);
  } else {
    why = "no GGUF file of type " + ref.quant + " among " + listed(ggufs);
  }
  return std::nullopt;
}

}  // namespace rill::cli::hub
