// SPDX-License-Identifier: Apache-2.0
#include "interrupt.h"

#include <signal.h>
#include <unistd.h>

#include <atomic>

namespace rill::cli {
namespace {

// The handler may only touch lock-free atomics.
std::atomic<int> g_signal{0};
std::atomic<rill_session*> g_session{nullptr};
std::atomic<int> g_held{0};
static_assert(std::atomic<int>::is_always_lock_free &&
              std::atomic<rill_session*>::is_always_lock_free);

void on_signal(int signal) {
  const bool first = g_signal.exchange(signal) == 0;
  rill_session* session = g_session.load();
  const bool held = g_held.load() != 0;
  if (!first || (session == nullptr && !held)) _exit(128 + signal);
  if (session != nullptr) rill_session_cancel(session);
}

sigset_t handled_signals() {
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, SIGINT);
  sigaddset(&set, SIGTERM);
  return set;
}

void set_handler(int flags) {
  struct sigaction action = {};
  action.sa_handler = on_signal;
  action.sa_mask = handled_signals();
  action.sa_flags = flags;
  sigaction(SIGINT, &action, nullptr);
  sigaction(SIGTERM, &action, nullptr);
}

}  // namespace

void install_signal_handlers() {
  set_handler(SA_RESTART);
  signal(SIGPIPE, SIG_IGN);
}

int take_interrupt() {
  const int signal = g_signal.exchange(0);
  return signal == 0 ? 0 : 128 + signal;
}

InterruptInput::InterruptInput() {
  g_held.store(1);
  set_handler(0);
}

InterruptInput::~InterruptInput() {
  set_handler(SA_RESTART);
  g_held.store(0);
}

int interrupt_exit_code() {
  const int signal = g_signal.load();
  return signal == 0 ? 0 : 128 + signal;
}

SignalsBlocked::SignalsBlocked() {
  const sigset_t set = handled_signals();
  pthread_sigmask(SIG_BLOCK, &set, nullptr);
}

SignalsBlocked::~SignalsBlocked() {
  const sigset_t set = handled_signals();
  pthread_sigmask(SIG_UNBLOCK, &set, nullptr);
}

CancelOnSignal::CancelOnSignal(rill_session* session) { g_session.store(session); }

CancelOnSignal::~CancelOnSignal() { g_session.store(nullptr); }

HoldSignals::HoldSignals() { g_held.store(1); }

HoldSignals::~HoldSignals() { g_held.store(0); }

}  // namespace rill::cli
