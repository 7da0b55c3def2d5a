// SPDX-License-Identifier: Apache-2.0
#include "hub_catalog.h"

#include <array>

namespace rill::cli::hub {
namespace {

constexpr std::string_view kMain = "main";

constexpr std::array<CatalogEntry, 13> kCatalog = {{
    {"lfm2.5-audio-1.5b", "LiquidAI/LFM2.5-Audio-1.5B-GGUF",
     "7d525f883a077e20afb782f2ff618edcae0e39e4", "Q8_0", "speech, English: Q8_0, F16, Q4_0"},
    {"lfm2.5-audio-1.5b-jp", "LiquidAI/LFM2.5-Audio-1.5B-JP-GGUF",
     "64b96718b341dbd5650f9e85627cecdcbd4ac61b", "Q8_0", "speech, Japanese: Q8_0, F16, F32, Q4_0"},
    {"lfm2.5-8b-a1b", "LiquidAI/LFM2.5-8B-A1B-GGUF", kMain, "Q4_K_M", "text, mixture of experts"},
    {"lfm2.5-8b-a1b-checkpoint", "LiquidAI/LFM2.5-8B-A1B", kMain, "",
     "text, the BF16 Transformers directory"},
    {"lfm2.5-2.6b", "LiquidAI/LFM2.5-2.6B-GGUF", kMain, "Q4_K_M", "text"},
    {"lfm2.5-1.2b-instruct", "LiquidAI/LFM2.5-1.2B-Instruct-GGUF", kMain, "Q4_K_M", "text"},
    {"lfm2.5-350m", "LiquidAI/LFM2.5-350M-GGUF", kMain, "Q8_0", "text"},
    {"lfm2.5-230m", "LiquidAI/LFM2.5-230M-GGUF", kMain, "Q8_0", "text"},
    {"lfm2-8b-a1b", "LiquidAI/LFM2-8B-A1B-GGUF", kMain, "Q4_K_M", "text, mixture of experts"},
    {"lfm2-2.6b", "LiquidAI/LFM2-2.6B-GGUF", kMain, "Q4_K_M", "text"},
    {"lfm2-1.2b", "LiquidAI/LFM2-1.2B-GGUF", kMain, "Q4_K_M", "text"},
    {"lfm2-700m", "LiquidAI/LFM2-700M-GGUF", kMain, "Q4_K_M", "text"},
    {"lfm2-350m", "LiquidAI/LFM2-350M-GGUF", kMain, "Q8_0", "text"},
}};

/// Package ids of the documented command line.
struct Alias {
  std::string_view id;
  std::string_view name;
};
constexpr std::array<Alias, 7> kAliases = {{
    {"lfm2_audio_1_5b_q8_0", "lfm2.5-audio-1.5b:Q8_0"},
    {"lfm2_audio_1_5b_f16", "lfm2.5-audio-1.5b:F16"},
    {"lfm2_audio_1_5b_q4_0", "lfm2.5-audio-1.5b:Q4_0"},
    {"lfm2_audio_1_5b_jp_q8_0", "lfm2.5-audio-1.5b-jp:Q8_0"},
    {"lfm2_audio_1_5b_jp_f16", "lfm2.5-audio-1.5b-jp:F16"},
    {"lfm2_audio_1_5b_jp_f32", "lfm2.5-audio-1.5b-jp:F32"},
    {"lfm2_audio_1_5b_jp_q4_0", "lfm2.5-audio-1.5b-jp:Q4_0"},
}};

bool is_name_char(char c) {
  return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '-' ||
         c == '_' || c == '.';
}

/// What a repository, an owner or a type may be called: also a safe name of a folder.
bool is_plain_name(std::string_view name) {
  if (name.empty() || name.size() > 96 || name.front() == '.' || name.front() == '-') return false;
  if (name.find("..") != std::string_view::npos || name.find("--") != std::string_view::npos)
    return false;
  for (const char c : name) {
    if (!is_name_char(c)) return false;
  }
  return true;
}

bool is_revision(std::string_view revision) {
  size_t start = 0;
  while (true) {
    const size_t slash = revision.find('/', start);
    const size_t length = slash == std::string_view::npos ? revision.size() - start : slash - start;
    if (!is_plain_name(revision.substr(start, length))) return false;
    if (slash == std::string_view::npos) return true;
    start = slash + 1;
  }
}

/// Cuts off what follows the separator. False if something should follow and is no plain name.
bool split_tail(std::string_view& text, char separator, std::string_view& tail) {
  const size_t at = text.rfind(separator);
  if (at == std::string_view::npos) return true;
  tail = text.substr(at + 1);
  text = text.substr(0, at);
  return !tail.empty();
}

std::string lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) {
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  }
  return out;
}

}  // namespace

std::span<const CatalogEntry> catalog() { return kCatalog; }

bool is_commit(std::string_view revision) {
  return revision.size() == 40 &&
         revision.find_first_not_of("0123456789abcdef") == std::string_view::npos;
}

std::optional<ModelRef> parse_repo_ref(std::string_view text) {
  std::string_view revision = kMain;
  std::string_view quant;
  if (!split_tail(text, '@', revision) || !split_tail(text, ':', quant)) return std::nullopt;
  const size_t slash = text.find('/');
  if (slash == std::string_view::npos) return std::nullopt;
  if (!is_plain_name(text.substr(0, slash)) || !is_plain_name(text.substr(slash + 1)))
    return std::nullopt;
  if (!is_revision(revision) || (!quant.empty() && !is_plain_name(quant))) return std::nullopt;
  for (const CatalogEntry& entry : kCatalog) {
    // A repository of the table keeps its commit unless another one is named.
    if (entry.repo != text) continue;
    return ModelRef{std::string(text), std::string(revision == kMain ? entry.revision : revision),
                    std::string(quant), std::string(entry.default_quant),
                    entry.about.starts_with("speech")};
  }
  return ModelRef{std::string(text), std::string(revision), std::string(quant), "Q4_K_M", false};
}

std::optional<ModelRef> parse_model_ref(std::string_view text) {
  for (const Alias& alias : kAliases) {
    if (text == alias.id) text = alias.name;
  }
  if (text.find('/') != std::string_view::npos) return parse_repo_ref(text);
  std::string_view quant;
  if (!split_tail(text, ':', quant) || (!quant.empty() && !is_plain_name(quant)))
    return std::nullopt;
  const std::string name = lower(text);
  for (const CatalogEntry& entry : kCatalog) {
    if (entry.name != name) continue;
    return ModelRef{std::string(entry.repo), std::string(entry.revision), std::string(quant),
                    std::string(entry.default_quant), entry.about.starts_with("speech")};
  }
  return std::nullopt;
}

}  // namespace rill::cli::hub
