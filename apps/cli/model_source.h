// SPDX-License-Identifier: Apache-2.0
// What -m and -hf lead to: a path as it is, or a model of the cache.
#pragma once

#include <string>
#include <vector>

#include "options.h"

namespace rill::cli {

/// What a command opens.
struct ModelSource {
  std::string path;             ///< empty: no model was named
  std::vector<KeyValue> extra;  ///< model options that go with it: the backbone of a package
};

/// Finds the model. A path that exists is taken as it is; a name is looked up in the cache, without
/// the network; what -hf names is fetched if it is not there and the network is allowed.
/// Returns 0, or an exit code after printing why.
int find_model(const std::string& model, const std::string& hf_repo, bool offline,
               ModelSource& source);

/// The file with the language model, where the cache says which one of a package it is; else the
/// path.
std::string main_file(const ModelSource& source);

}  // namespace rill::cli
