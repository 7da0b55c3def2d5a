// SPDX-License-Identifier: Apache-2.0
// The report of `rill verify`: rows of the library, and their table with one line per subject or
// per stage.
#pragma once

#include <string>
#include <vector>

#include "rill/rill.h"

namespace rill::cli {

/// A rill_verify_row that outlives the callback.
struct VerifyRow {
  explicit VerifyRow(const rill_verify_row& row);

  std::string subject;
  std::string stage;
  double worst_error;
  double tolerance;
  std::string measure;
  std::string verdict;
  std::string note;
};

/// One line per subject, in order of appearance: its worst stage, a miss before a pass, then the
/// largest part of its tolerance. Stages that could not run, and those that are only measured, get
/// a line of their own. The stage column tells of how many stages it is the worst.
std::vector<VerifyRow> worst_per_subject(const std::vector<VerifyRow>& rows);

/// The rows as aligned columns under a heading. highlight: misses in red, for a terminal.
std::string format_verify_table(const std::vector<VerifyRow>& rows, bool highlight);

/// "12 subjects: 10 pass, 1 miss, 1 not built", from the rows of worst_per_subject.
std::string format_verify_summary(const std::vector<VerifyRow>& subjects);

}  // namespace rill::cli
