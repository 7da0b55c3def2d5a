// SPDX-License-Identifier: Apache-2.0
// The names under which models are known, and how other repositories are written.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <string_view>

namespace rill::cli::hub {

/// A model of the table. Names that end where the entry's files hold several types take ":TYPE".
struct CatalogEntry {
  std::string_view name;
  std::string_view repo;
  std::string_view revision;       ///< a commit where one is documented, else "main": unpinned
  std::string_view default_quant;  ///< "" for checkpoints
  std::string_view about;
};

/// What to fetch or to open.
struct ModelRef {
  std::string repo;
  std::string revision = "main";
  std::string quant;          ///< type that was asked for; "" for the default
  std::string default_quant;  ///< to look for where none was asked for
  bool speech = false;        ///< a package of four files is wanted
};

[[nodiscard]] std::span<const CatalogEntry> catalog();

/// Reads NAME[:TYPE] of the catalog (also the documented package ids such as
/// lfm2_audio_1_5b_q8_0), or ORG/REPO[:TYPE][@REVISION]. Nothing if the text is neither.
[[nodiscard]] std::optional<ModelRef> parse_model_ref(std::string_view text);

/// Only the ORG/REPO form. Nothing for anything else.
[[nodiscard]] std::optional<ModelRef> parse_repo_ref(std::string_view text);

/// True for 40 hex digits in lower case.
[[nodiscard]] bool is_commit(std::string_view revision);

}  // namespace rill::cli::hub
