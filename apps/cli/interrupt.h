// SPDX-License-Identifier: Apache-2.0
// Ctrl-C and SIGTERM: cancel the running request, or end the program where there is none. A second
// signal ends it at once.
#pragma once

#include "rill/rill.h"

namespace rill::cli {

/// Installs the handlers of SIGINT and SIGTERM, and ignores SIGPIPE (a closed pipe is then a write
/// error).
void install_signal_handlers();

/// 130 after SIGINT, 143 after SIGTERM, 0 if no signal came.
[[nodiscard]] int interrupt_exit_code();

/// The same, and forgets the signal: the program goes on.
int take_interrupt();

/// While it lives, a signal ends a wait for input (read fails with EINTR) instead of the program.
class InterruptInput {
 public:
  InterruptInput();
  ~InterruptInput();
  InterruptInput(const InterruptInput&) = delete;
  InterruptInput& operator=(const InterruptInput&) = delete;
};

/// While it lives, the calling thread takes no signals, nor do threads that it starts: so only the
/// main thread ever runs the handlers.
class SignalsBlocked {
 public:
  SignalsBlocked();
  ~SignalsBlocked();
  SignalsBlocked(const SignalsBlocked&) = delete;
  SignalsBlocked& operator=(const SignalsBlocked&) = delete;
};

/// While it lives, a signal cancels the session's request instead of ending the program.
class CancelOnSignal {
 public:
  explicit CancelOnSignal(rill_session* session);
  ~CancelOnSignal();
  CancelOnSignal(const CancelOnSignal&) = delete;
  CancelOnSignal& operator=(const CancelOnSignal&) = delete;
};

/// While it lives, a first signal only sets interrupt_exit_code(), so that the command can end its
/// work and leave no half-written file behind.
class HoldSignals {
 public:
  HoldSignals();
  ~HoldSignals();
  HoldSignals(const HoldSignals&) = delete;
  HoldSignals& operator=(const HoldSignals&) = delete;
};

}  // namespace rill::cli
