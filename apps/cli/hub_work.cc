// SPDX-License-Identifier: Apache-2.0
#include "hub_work.h"

#include <optional>
#include <string>

#include "exit_codes.h"
#include "hub_error.h"
#include "interrupt.h"
#include "progress.h"

namespace rill::cli {

int hub_work(const std::function<int()>& work) {
  try {
    return work();
  } catch (const hub::HubInterrupted&) {
    return interrupt_exit_code();
  } catch (const hub::HubError& error) {
    return report(error.exit_code(), error.what());
  }
}

hub::Installed install_with_progress(const hub::HubSettings& settings, const hub::HubCache& cache,
                                     const hub::ModelRef& ref, const hub::InstallOptions& options) {
  const HoldSignals hold;
  std::optional<ProgressBar> bar;
  std::string shown;
  const hub::HubClient client(settings, {[&](const std::string& message) {
                                           bar.reset();
                                           shown.clear();
                                           print_message(message);
                                         },
                                         [] { return interrupt_exit_code() == 0; }});
  return hub::install(client, cache, ref, options, [&](const std::string& file, double done) {
    if (file != shown) {
      bar.reset();  // wipes the last one
      bar.emplace(file);
      shown = file;
    }
    bar->update(done);
  });
}

}  // namespace rill::cli
