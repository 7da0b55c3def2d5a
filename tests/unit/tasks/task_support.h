// SPDX-License-Identifier: Apache-2.0
// A machine with the tier that RILL_ISA names, and packages to run on it.
#pragma once

#include <gtest/gtest.h>

#include <cstdlib>
#include <memory>
#include <string>

#include "base/cpu_features.h"
#include "kernels/kernel_table.h"
#include "model/lfm2_audio/package.h"
#include "ops/context.h"

namespace rill::tasks {

struct Machine {
  explicit Machine(size_t threads) {
    const char* forced = std::getenv("RILL_ISA");
    auto tier = choose_isa_tier(forced != nullptr ? forced : "");
    if (!tier) {
      lacks_tier = true;
      tier = IsaTier::kScalar;
    }
    pool = std::move(ThreadPool::create(threads)).value();
    context = {&kernels::kernel_table(*tier), pool.get(), &scratch};
  }

  bool lacks_tier = false;
  std::unique_ptr<ThreadPool> pool;
  Arena scratch;
  ops::Context context;
};

/// The demo package, and the tiny random one whose replies the reference implementation recorded.
inline const std::string kDemoPackage = std::string(RILL_SOURCE_DIR) + "/assets/demo";
inline const std::string kTinyPackage = std::string(RILL_TEST_DATA) + "/models/audio";

inline std::unique_ptr<model::lfm2_audio::Model> load_tiny_speaker(ThreadPool& pool) {
  model::lfm2_audio::LoadOptions options;
  options.files.model_gguf = "LFM2.5-Audio-Tiny-F16.gguf";
  options.use = model::lfm2_audio::Use::kSpeak;
  return std::move(model::lfm2_audio::Model::load(kTinyPackage, options, pool)).value();
}

}  // namespace rill::tasks
