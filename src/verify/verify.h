// SPDX-License-Identifier: Apache-2.0
// Runs conformance sets: reference tensors and token lists, compared stage by stage with what this
// engine computes. The sets' layouts are docs/conformance.md. Nothing about a particular set is
// compiled in.
#pragma once

#include <string>
#include <vector>

#include "base/result.h"
#include "model/silero_vad/silero_vad.h"
#include "ops/context.h"
#include "verify/report.h"

namespace rill::verify {

struct VerifyOptions {
  std::string set;                ///< directory of a text or audio set, or of several
  std::vector<std::string> only;  ///< subjects to run; empty: all. A name also selects "name.*"
  std::string model;  ///< package directory to run an audio set on, instead of the set's own
  const model::silero_vad::SileroVad* vad = nullptr;  ///< the speech detector to check; may be null
};

/// Largest errors that pass, from docs/numerics.md; a manifest's "tolerances" object may set its
/// own.
struct Tolerances {
  double hidden = 5e-6;    ///< hidden states and logits with float weights, relative RMS
  double log_mel = 5e-5;   ///< log-mel features, relative RMS
  double waveform = 5e-5;  ///< speech out, relative RMS
  double q8_0 = 1e-2;      ///< logits with Q8_0 weights
  double q4 = 2e-2;        ///< logits with 4- to 6-bit weights
  double q8_0_tie = 0.05;  ///< top-1 may differ where the reference's best two logits are closer
  double q4_tie = 0.1;
};

/// What a run needs, passed to every subject.
struct Run {
  ops::Context& context;
  std::string set_dir;
  std::string model;  ///< or empty
  Tolerances tolerances;
  RowSink sink;
  const model::silero_vad::SileroVad* vad = nullptr;
};

/// One subject of a set.
struct Subject {
  std::string name;
  void (*verify)(Run& run, const std::string& name, Report& report);
};

/// Runs a set and returns the number of misses.
/// Errors: the set is no set or cannot be read; `only` names an unknown subject.
Result<size_t> verify_set(ops::Context& context, const VerifyOptions& options, RowSink sink);

// The two layouts. Errors: the set's index cannot be read.
Result<std::vector<Subject>> text_subjects(const std::string& set_dir);
Result<std::vector<Subject>> audio_subjects(const std::string& set_dir);

}  // namespace rill::verify
