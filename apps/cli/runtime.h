// SPDX-License-Identifier: Apache-2.0
// Runtime: the engine, model and session that a command works with, made from its flags.
#pragma once

#include "handles.h"
#include "log_sink.h"
#include "options.h"

namespace rill::cli {

/// Members are destroyed last to first, as the C API wants.
struct Runtime {
  LogSink log;
  EngineHandle engine;
  VadHandle vad;  ///< null: this program has no speech detector
  ModelHandle model;
  SessionHandle session;
};

/// Creates the engine. Returns 0, or an exit code after printing why.
int open_engine(const EngineOptions& options, Runtime& runtime);

/// Loads the speech detector's weights from a file or, without one, those that the program carries
/// inside, if any. Needs the engine. Returns 0, or an exit code after printing why.
int open_vad(const std::string& vad_file, Runtime& runtime);

/// Opens the detector, then the model, or the embedded demo model with one line on stderr that says
/// so, and creates a session. Needs the engine. Returns 0, or an exit code after printing why.
int open_model(const ModelOptions& options, Runtime& runtime);

}  // namespace rill::cli
