// SPDX-License-Identifier: Apache-2.0
#include "runtime.h"

#include <cerrno>
#include <cstring>

#include "demo_assets.h"
#include "exit_codes.h"
#include "interrupt.h"
#include "model_source.h"
#include "vad_asset.h"

namespace rill::cli {
namespace {

std::vector<KeyValue> collect_model_options(const ModelOptions& options) {
  std::vector<KeyValue> pairs = split_key_values("--session-option", options.session_options);
  if (!options.repack.empty()) pairs.emplace_back("lfm2_audio.cpu_repack", options.repack);
  return pairs;
}

rill_status open_demo_model(const rill_model_options& options, Runtime& runtime, ErrorSlot& error) {
  print_message(
      "no --model given: using the embedded demo model, which knows about 350 English words");
  std::vector<rill_memory_file> files;
  for (size_t i = 0; i < rill_demo_asset_count(); ++i) {
    const rill_demo_asset asset = rill_demo_asset_at(i);
    files.push_back({asset.name, asset.data, asset.size});
  }
  return rill_model_open_memory(runtime.engine.get(), files.data(), files.size(), &options,
                                Out(runtime.model), error.out());
}

}  // namespace

int open_engine(const EngineOptions& options, Runtime& runtime) {
  runtime.log.set_verbosity(options.verbosity);
  if (!options.log_file.empty() && !runtime.log.open_file(options.log_file)) {
    return report(kExitFailed, "--log-file " + options.log_file + ": " + std::strerror(errno));
  }
  rill_engine_options engine_options = {};
  engine_options.struct_size = sizeof(engine_options);
  engine_options.threads = options.threads;
  engine_options.threads_batch = options.threads_batch;
  engine_options.log = LogSink::write;
  engine_options.log_user = &runtime.log;
  engine_options.log_min_level = runtime.log.min_level();
  const SignalsBlocked signals_blocked;  // for the threads that the engine starts
  ErrorSlot error;
  const rill_status status = rill_engine_create(&engine_options, Out(runtime.engine), error.out());
  if (status == RILL_OK) return kExitOk;
  const int exit_code = report(status, error);
  // Here, unlike for files, "unsupported" is about the processor.
  return status == RILL_ERROR_UNSUPPORTED ? kExitResources : exit_code;
}

int open_vad(const std::string& vad_file, Runtime& runtime) {
  ErrorSlot error;
  rill_status status = RILL_OK;
  if (!vad_file.empty()) {
    status = rill_vad_open(runtime.engine.get(), vad_file.c_str(), Out(runtime.vad), error.out());
  } else if (rill_vad_asset_size() > 0) {
    status = rill_vad_open_memory(runtime.engine.get(), rill_vad_asset_data(),
                                  rill_vad_asset_size(), Out(runtime.vad), error.out());
  }
  return status == RILL_OK ? kExitOk : report(status, error);
}

int open_model(const ModelOptions& options, Runtime& runtime) {
  int exit_code = open_vad(options.vad_file, runtime);
  if (exit_code != kExitOk) return exit_code;
  ModelSource source;
  exit_code = find_model(options.model, options.hf_repo, options.offline, source);
  if (exit_code != kExitOk) return exit_code;
  std::vector<KeyValue> pairs = std::move(source.extra);  // what the user says comes after
  for (KeyValue& pair : collect_model_options(options)) pairs.push_back(std::move(pair));
  std::vector<rill_option> model_pairs;
  for (const auto& [key, value] : pairs) model_pairs.push_back({key.c_str(), value.c_str()});
  rill_model_options model_options = {};
  model_options.struct_size = sizeof(model_options);
  model_options.options = model_pairs.data();
  model_options.num_options = model_pairs.size();
  model_options.vad = runtime.vad.get();
  model_options.for_speech = options.for_speech ? 1 : 0;
  model_options.for_text = options.for_text ? 1 : 0;

  ErrorSlot error;
  rill_status status = source.path.empty()
                           ? open_demo_model(model_options, runtime, error)
                           : rill_model_open(runtime.engine.get(), source.path.c_str(),
                                             &model_options, Out(runtime.model), error.out());
  if (status == RILL_OK) {
    status = rill_session_create(runtime.model.get(), Out(runtime.session), error.out());
  }
  return status == RILL_OK ? kExitOk : report(status, error);
}

}  // namespace rill::cli
