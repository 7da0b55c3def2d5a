// SPDX-License-Identifier: Apache-2.0
// What the commands that write model files share: progress, Ctrl-C, the report.
#pragma once

#include "handles.h"
#include "interrupt.h"
#include "progress.h"

namespace rill::cli {

/// Work on files. While it lives, a signal stops the work, which leaves no half-written file.
class FileWork {
 public:
  explicit FileWork(const char* label) : bar_(label) {}

  /// A rill_convert_progress_fn; user is the FileWork.
  static int32_t tell(void* user, double done);
  /// Prints the report, or why there is none. Returns the exit code.
  int finish(rill_status status, const StringHandle& report, const ErrorSlot& error);

 private:
  HoldSignals hold_;
  ProgressBar bar_;
};

}  // namespace rill::cli
