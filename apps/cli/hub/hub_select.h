// SPDX-License-Identifier: Apache-2.0
// Which files of a repository make up a model.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "hub_catalog.h"

namespace rill::cli::hub {

/// The files of one model, in the order in which to fetch them: what opens the model comes last, so
/// that it is there only when everything is.
struct Selection {
  enum class Kind { kText, kPackage, kCheckpoint };

  Kind kind = Kind::kText;
  std::vector<std::string> files;
  std::string main;  ///< the text model's or the backbone's GGUF, or config.json
};

/// Chooses by name: the GGUF that ends in the type that is wanted, with the mmproj-, vocoder- and
/// tokenizer- files of the same name if there are any, or else a Transformers directory.
/// Nothing if the names hold no such model; `why` then says what they hold.
std::optional<Selection> select_files(const ModelRef& ref, const std::vector<std::string>& names,
                                      std::string& why);

}  // namespace rill::cli::hub
