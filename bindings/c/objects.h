// SPDX-License-Identifier: Apache-2.0
// What the opaque handles of rill.h hold, and how results become statuses.
#pragma once

#include <atomic>
#include <memory>
#include <mutex>
#include <string>
#include <vector>

#include "base/arena.h"
#include "base/log.h"
#include "base/result.h"
#include "base/thread_pool.h"
#include "kernels/kernel_table.h"
#include "model/lfm2_audio/package.h"
#include "rill/rill.h"
#include "tasks/asr.h"
#include "tasks/asr_options.h"
#include "tasks/audio_input.h"
#include "tasks/transcript.h"

struct rill_error {
  rill_status status;
  std::string message;
};

struct rill_string {
  std::string text;
};

struct rill_engine {
  rill_log_fn log_fn = nullptr;
  void* log_user = nullptr;
  rill::Logger logger;
  std::unique_ptr<rill::ThreadPool> pool;
  const rill::kernels::KernelTable* kernels = nullptr;
  std::string isa_name;
  std::mutex compute;  // computing calls take turns on the pool
};

struct rill_model {
  rill_engine* engine = nullptr;
  std::unique_ptr<rill::model::lfm2_audio::Model> package;
  double max_pass_duration_s = 0;
  std::string language;
};

struct rill_request {
  rill_task task = RILL_TASK_ASR;
  rill::tasks::AudioInput audio;
  rill::tasks::AsrOptions asr;
  rill_progress_fn progress = nullptr;
  void* progress_user = nullptr;
};

struct rill_session {
  rill_model* model = nullptr;
  rill::Arena scratch;
  std::atomic<bool> busy{false};
  std::atomic<bool> cancel{false};
};

struct rill_result {
  rill::tasks::Transcript transcript;
  std::string stop_reason;
};

namespace rill::c_api {

rill_status to_status(ErrorCode code);
/// Hands the error to the caller, who may not want it.
rill_status fail(Error error, rill_error** out);
rill_status fail(ErrorCode code, const char* message, rill_error** out);

}  // namespace rill::c_api
