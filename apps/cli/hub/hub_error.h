// SPDX-License-Identifier: Apache-2.0
// What ends the work on the model cache: a message and the exit code that goes with it.
#pragma once

#include <stdexcept>
#include <string>

namespace rill::cli::hub {

class HubError : public std::runtime_error {
 public:
  HubError(int exit_code, const std::string& message)
      : std::runtime_error(message), exit_code_(exit_code) {}
  [[nodiscard]] int exit_code() const { return exit_code_; }

 private:
  int exit_code_;
};

/// A signal ended the work; there is nothing to print.
class HubInterrupted : public std::runtime_error {
 public:
  HubInterrupted() : std::runtime_error("interrupted") {}
};

}  // namespace rill::cli::hub
