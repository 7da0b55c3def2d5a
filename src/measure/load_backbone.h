// SPDX-License-Identifier: Apache-2.0
// Loading what can predict text: a model with its tokenizer, from any of the forms that it comes
// in.
#pragma once

#include <memory>
#include <optional>
#include <string>

#include "base/result.h"
#include "base/thread_pool.h"
#include "format/gguf.h"
#include "model/lfm2/backbone.h"
#include "text/tokenizer.h"

namespace rill::measure {

struct LoadedBackbone {
  std::unique_ptr<format::GgufFile> file;
  std::unique_ptr<model::lfm2::Backbone> backbone;
  /// Nothing if the files hold none, which `no_tokenizer` explains.
  std::optional<text::Tokenizer> tokenizer;
  std::string no_tokenizer;
};

/// A GGUF file, a checkpoint directory (config.json), or a speech package's directory.
/// Errors: those of the loaders.
Result<LoadedBackbone> load_backbone(const std::string& path, ThreadPool& pool);

}  // namespace rill::measure
