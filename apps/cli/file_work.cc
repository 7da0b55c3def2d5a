// SPDX-License-Identifier: Apache-2.0
#include "file_work.h"

#include <string>

#include "exit_codes.h"
#include "output.h"

namespace rill::cli {

int32_t FileWork::tell(void* user, double done) {
  static_cast<FileWork*>(user)->bar_.update(done);
  return interrupt_exit_code() == 0 ? 1 : 0;
}

int FileWork::finish(rill_status status, const StringHandle& report_text, const ErrorSlot& error) {
  if (status == RILL_OK) {
    return write_stdout(
        std::string(rill_string_data(report_text.get()), rill_string_size(report_text.get())));
  }
  const int exit_code = report(status, error);
  return interrupt_exit_code() != 0 ? interrupt_exit_code() : exit_code;
}

}  // namespace rill::cli
