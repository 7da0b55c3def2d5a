// SPDX-License-Identifier: Apache-2.0
// Where models are kept and where they come from, as the environment says. The variables are those
// of Hugging Face's own tools, so that both use one cache.
#pragma once

#include <string>

namespace rill::cli::hub {

struct HubSettings {
  std::string endpoint;  ///< HF_ENDPOINT, without a slash at its end
  std::string token;     ///< HF_TOKEN, or the content of the token file; may be empty
  std::string
      cache_dir;  ///< HF_HUB_CACHE, $HF_HOME/hub, $XDG_CACHE_HOME/huggingface/hub, ~/.cache/...
  bool offline = false;  ///< HF_HUB_OFFLINE or the flag
};

/// Reads the environment.
/// Throws HubError (usage) for an endpoint that is no http or https address.
HubSettings read_hub_settings(bool offline_flag);

}  // namespace rill::cli::hub
