// SPDX-License-Identifier: Apache-2.0
// rill_engine: the kernel tier, the threads and the log sink.
#include <algorithm>
#include <cstddef>
#include <cstdlib>
#include <cstring>

#include "base/cpu_features.h"
#include "base/str_cat.h"
#include "objects.h"

using namespace rill;
using namespace rill::c_api;

namespace {

constexpr int32_t kMaxThreads = 256;

void forward_log(void* user, LogLevel level, std::string_view message) {
  const auto* engine = static_cast<const rill_engine*>(user);
  // A sink gets a zero-terminated string, whatever the message was cut from.
  const std::string text(message);
  engine->log_fn(engine->log_user, static_cast<rill_log_level>(level), text.c_str(), text.size());
}

Status check_threads(const char* field, int32_t threads) {
  if (threads >= 0 && threads <= kMaxThreads) return {};
  return Error{ErrorCode::kInvalidArgument,
               cat("create engine: ", field, ": got ", threads, ", expected 0 to ", kMaxThreads)};
}

/// The fields that the caller's version of the struct has.
rill_engine_options known_fields(const rill_engine_options* given) {
  rill_engine_options options = {};
  // Before there was a later field, callers were not made to set the size.
  constexpr size_t kFirst = offsetof(rill_engine_options, threads_batch);
  if (given != nullptr) {
    std::memcpy(&options, given, std::clamp(given->struct_size, kFirst, sizeof options));
  }
  return options;
}

Result<std::unique_ptr<rill_engine>> create_engine(const rill_engine_options& options) {
  RILL_RETURN_IF_ERROR(check_threads("threads", options.threads));
  RILL_RETURN_IF_ERROR(check_threads("threads_batch", options.threads_batch));
  const char* isa = options.isa != nullptr ? options.isa : std::getenv("RILL_ISA");
  RILL_ASSIGN_OR_RETURN(const IsaTier tier, choose_isa_tier(isa != nullptr ? isa : ""));
  auto engine = std::make_unique<rill_engine>();
  const size_t threads =
      options.threads > 0 ? static_cast<size_t>(options.threads) : default_num_threads();
  RILL_ASSIGN_OR_RETURN(engine->pool, ThreadPool::create(threads));
  const auto batch_threads = static_cast<size_t>(options.threads_batch);
  if (batch_threads != 0 && batch_threads != threads) {
    RILL_ASSIGN_OR_RETURN(engine->batch_pool, ThreadPool::create(batch_threads));
  }
  engine->kernels = &kernels::kernel_table(tier);
  engine->isa_name = std::string(isa_tier_name(tier));
  engine->log_fn = options.log;
  engine->log_user = options.log_user;
  if (options.log != nullptr) engine->logger.sink = forward_log;
  engine->logger.user = engine.get();
  engine->logger.min_level = static_cast<LogLevel>(options.log_min_level);
  return engine;
}

}  // namespace

extern "C" {

rill_status rill_engine_create(const rill_engine_options* options, rill_engine** engine,
                               rill_error** error) {
  if (engine == nullptr)
    return fail(ErrorCode::kInvalidArgument, "create engine: engine is NULL", error);
  auto created = create_engine(known_fields(options));
  if (!created) return fail(std::move(created).error(), error);
  *engine = std::move(created).value().release();
  return RILL_OK;
}

void rill_engine_destroy(rill_engine* engine) { delete engine; }

const char* rill_engine_isa(const rill_engine* engine) { return engine->isa_name.c_str(); }

int32_t rill_engine_threads(const rill_engine* engine) {
  return static_cast<int32_t>(engine->pool->num_threads());
}

}  // extern "C"
