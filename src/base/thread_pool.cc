// SPDX-License-Identifier: Apache-2.0
// One 64-bit ticket hands out the work: the run's number in the high half, the indices still to
// hand out in the low half. A thread claims an index by compare-and-swap on the whole ticket, so
// that one that wakes late can neither take an index of a later run with an earlier run's function
// nor the other way round.
#include "base/thread_pool.h"

#include <algorithm>
#include <atomic>
#include <cstdint>
#include <vector>

#include "base/str_cat.h"
#include "base/system.h"
#if defined(__x86_64__)
#include <immintrin.h>
#endif

namespace rill {
namespace {

constexpr size_t kMaxThreads = 256;
constexpr size_t kMaxIndicesPerRun = UINT32_MAX;
// Two ops of one step follow each other within microseconds; a parked thread takes some 50 us to
// wake.
constexpr int kSpins = 2000;
// Others need the core when there are more threads than cores.
constexpr int kSpinsOversubscribed = 20;

void pause_briefly() {
#if defined(__x86_64__)
  _mm_pause();
#elif defined(__aarch64__)
  __asm__ __volatile__("isb");  // longer than yield, which is a no-op on many cores
#endif
}

using Call = void (*)(const void* fn, size_t index);

}  // namespace

struct ThreadPool::State {
  std::vector<size_t> threads;
  int spins = kSpins;

  // The current run. Plain relaxed stores are enough: the ticket publishes them.
  std::atomic<Call> call{nullptr};
  std::atomic<const void*> fn{nullptr};
  std::atomic<uint32_t> count{0};

  // Changes of the two that threads park on are sequentially consistent, as notify needs to see a
  // waiter.
  alignas(64) std::atomic<uint64_t> ticket{0};
  alignas(64) std::atomic<int> unfinished{0};  // 0 only once every index of the run is done
  alignas(64) std::atomic<int> epoch{0};       // changes when there is something to look at
  std::atomic<bool> stop{false};

  void work();
  void worker();
  void wait_for_change(std::atomic<int>& value, int old) const;
};

/// Takes and runs indices of the current run until none is left.
void ThreadPool::State::work() {
  int done = 0;
  uint64_t seen = ticket.load(std::memory_order_acquire);
  while (static_cast<uint32_t>(seen) != 0) {
    // These may belong to a later run, but then the exchange fails: a run ends only after its
    // ticket reached zero.
    const Call run_call = call.load(std::memory_order_relaxed);
    const void* run_fn = fn.load(std::memory_order_relaxed);
    const uint32_t run_count = count.load(std::memory_order_relaxed);
    if (!ticket.compare_exchange_weak(seen, seen - 1, std::memory_order_acq_rel,
                                      std::memory_order_acquire)) {
      continue;
    }
    run_call(run_fn, run_count - static_cast<uint32_t>(seen));
    ++done;
    seen = ticket.load(std::memory_order_acquire);
  }
  if (done > 0 && unfinished.fetch_sub(done) == done) unfinished.notify_one();
}

void ThreadPool::State::wait_for_change(std::atomic<int>& value, int old) const {
  for (int i = 0; i < spins; ++i) {
    if (value.load(std::memory_order_acquire) != old) return;
    pause_briefly();
  }
  value.wait(old, std::memory_order_acquire);
}

void ThreadPool::State::worker() {
  int seen = 0;
  while (!stop.load(std::memory_order_acquire)) {
    wait_for_change(epoch, seen);
    seen = epoch.load(std::memory_order_acquire);
    work();
  }
}

ThreadPool::ThreadPool(std::unique_ptr<State> state) : state_(std::move(state)) {}

Result<std::unique_ptr<ThreadPool>> ThreadPool::create(size_t num_threads) {
  if (num_threads == 0 || num_threads > kMaxThreads) {
    return Error{ErrorCode::kInvalidArgument,
                 cat("thread pool: got ", num_threads, " threads, expected 1 to ", kMaxThreads)};
  }
  auto state = std::make_unique<State>();
  if (num_threads > system::allowed_cpus().size()) state->spins = kSpinsOversubscribed;
  std::unique_ptr<ThreadPool> pool(new ThreadPool(std::move(state)));
  for (size_t i = 1; i < num_threads; ++i) {
    size_t id = 0;
    const auto entry = [](void* raw) { static_cast<State*>(raw)->worker(); };
    if (!system::start_thread(entry, pool->state_.get(), id)) {
      return Error{ErrorCode::kInternal, cat("thread pool: the system does not start thread ",
                                             i + 1, " of ", num_threads)};
    }
    pool->state_->threads.push_back(id);
  }
  return pool;
}

ThreadPool::~ThreadPool() {
  state_->stop.store(true, std::memory_order_release);
  state_->epoch.fetch_add(1);
  state_->epoch.notify_all();
  for (const size_t id : state_->threads) system::join_thread(id);
}

size_t ThreadPool::num_threads() const { return state_->threads.size() + 1; }

void ThreadPool::run(size_t count, Call call, const void* fn) {
  if (count <= 1 || state_->threads.empty()) {
    for (size_t i = 0; i < count; ++i) call(fn, i);
    return;
  }
  // `unfinished` counts in int.
  RILL_CHECK(count <= kMaxIndicesPerRun / 2, "ThreadPool: too many indices in one run");
  State& state = *state_;
  const auto indices = static_cast<uint32_t>(count);
  state.call.store(call, std::memory_order_relaxed);
  state.fn.store(fn, std::memory_order_relaxed);
  state.count.store(indices, std::memory_order_relaxed);
  state.unfinished.store(static_cast<int>(count), std::memory_order_relaxed);
  const uint64_t number = (state.ticket.load(std::memory_order_relaxed) >> 32) + 1;
  state.ticket.store(number << 32 | indices, std::memory_order_release);
  state.epoch.fetch_add(1);
  state.epoch.notify_all();
  state.work();
  for (int left = state.unfinished.load(std::memory_order_acquire); left != 0;
       left = state.unfinished.load(std::memory_order_acquire)) {
    state.wait_for_change(state.unfinished, left);
  }
}

size_t default_num_threads() {
  const std::vector<size_t> cpus = system::allowed_cpus();
  const size_t cores = system::count_physical_cores(cpus, "");
  const size_t quota = system::cpu_quota("");
  return std::min({cores, quota == 0 ? cores : quota, kMaxThreads});
}

}  // namespace rill
