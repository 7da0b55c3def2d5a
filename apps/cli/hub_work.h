// SPDX-License-Identifier: Apache-2.0
// What the commands that use the model cache share: errors become exit codes, a bar shows what
// comes, and Ctrl-C ends it.
#pragma once

#include <functional>

#include "hub_download.h"
#include "hub_settings.h"

namespace rill::cli {

/// Runs the work and reports what it throws. Returns its exit code.
int hub_work(const std::function<int()>& work);

/// Fetches a model.
/// Throws hub::HubError, hub::HubInterrupted.
hub::Installed install_with_progress(const hub::HubSettings& settings, const hub::HubCache& cache,
                                     const hub::ModelRef& ref, const hub::InstallOptions& options);

}  // namespace rill::cli
