// SPDX-License-Identifier: Apache-2.0
#include <pthread.h>
#include <sched.h>
#include <sys/mman.h>
#include <unistd.h>
#if defined(__linux__)
#include <sys/auxv.h>
#endif

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <cstring>
#include <memory>
#include <string_view>
#include <thread>

#include "base/parse_number.h"
#include "base/str_cat.h"
#include "base/system.h"

namespace rill::system {
namespace {

struct Start {
  void (*entry)(void*);
  void* argument;
};

void* run_thread(void* raw) {
  const std::unique_ptr<Start> start(static_cast<Start*>(raw));
  start->entry(start->argument);
  return nullptr;
}

/// The first 4 KiB of a small system file without trailing white space; "" if there is no such
/// file.
std::string read_small_file(const std::string& path) {
  std::FILE* file = std::fopen(path.c_str(), "rb");
  if (file == nullptr) return "";
  char bytes[4096];
  std::string text(bytes, std::fread(bytes, 1, sizeof bytes, file));
  std::fclose(file);
  while (!text.empty() && (text.back() == '\n' || text.back() == ' ')) text.pop_back();
  return text;
}

/// ceil(quota / period), 0 if either is no positive number ("max", -1).
size_t quota_cpus(std::string_view quota, std::string_view period) {
  const int64_t quota_us = parse_int(quota).value_or(0);
  const int64_t period_us = parse_int(period).value_or(0);
  if (quota_us <= 0 || period_us <= 0) return 0;
  return static_cast<size_t>((quota_us - 1) / period_us + 1);
}

size_t tighter(size_t a, size_t b) {
  if (a == 0 || b == 0) return std::max(a, b);
  return std::min(a, b);
}

/// The tightest quota of a group and its parents. v2: cpu.max holds "quota period"; v1: two files.
size_t group_quota(const std::string& mount, std::string group, bool v2) {
  size_t tightest = 0;
  for (;;) {
    const std::string folder = group == "/" ? mount : mount + group;
    size_t cpus = 0;
    if (v2) {
      const std::string text = read_small_file(folder + "/cpu.max");
      const size_t space = text.find(' ');
      if (space != std::string::npos) {
        cpus = quota_cpus(std::string_view(text).substr(0, space),
                          std::string_view(text).substr(space + 1));
      }
    } else {
      cpus = quota_cpus(read_small_file(folder + "/cpu.cfs_quota_us"),
                        read_small_file(folder + "/cpu.cfs_period_us"));
    }
    tightest = tighter(tightest, cpus);
    if (group.size() <= 1) return tightest;
    group.resize(std::max<size_t>(group.rfind('/'), 1));
  }
}

bool lists_cpu_controller(std::string_view controllers) {
  while (!controllers.empty()) {
    const size_t comma = std::min(controllers.find(','), controllers.size());
    if (controllers.substr(0, comma) == "cpu") return true;
    controllers.remove_prefix(std::min(comma + 1, controllers.size()));
  }
  return false;
}

/// madvise for the pages that lie inside the range whole.
void advise(void* data, size_t size_bytes, int advice) {
  const auto page = static_cast<uintptr_t>(::sysconf(_SC_PAGESIZE));
  const auto begin = (reinterpret_cast<uintptr_t>(data) + page - 1) / page * page;
  const auto end = (reinterpret_cast<uintptr_t>(data) + size_bytes) / page * page;
  if (begin < end) ::madvise(reinterpret_cast<void*>(begin), end - begin, advice);
}

}  // namespace

bool start_thread(void (*entry)(void*), void* argument, size_t& thread_id) {
  auto start = std::make_unique<Start>(Start{entry, argument});
  pthread_t handle{};
  if (pthread_create(&handle, nullptr, run_thread, start.get()) != 0) return false;
  static_cast<void>(start.release());  // run_thread owns it now
  static_assert(sizeof(pthread_t) <= sizeof(size_t));
  thread_id = 0;
  std::memcpy(&thread_id, &handle, sizeof handle);
  return true;
}

void join_thread(size_t thread_id) {
  pthread_t handle{};
  std::memcpy(&handle, &thread_id, sizeof handle);
  pthread_join(handle, nullptr);
}

std::vector<size_t> allowed_cpus() {
  std::vector<size_t> cpus;
#if defined(__linux__)
  cpu_set_t set;
  CPU_ZERO(&set);
  if (sched_getaffinity(0, sizeof set, &set) == 0) {
    for (size_t cpu = 0; cpu < CPU_SETSIZE; ++cpu) {
      if (CPU_ISSET(cpu, &set)) cpus.push_back(cpu);
    }
  }
#endif
  if (cpus.empty()) {
    const size_t count = std::max<size_t>(std::thread::hardware_concurrency(), 1);
    for (size_t cpu = 0; cpu < count; ++cpu) cpus.push_back(cpu);
  }
  return cpus;
}

size_t count_physical_cores(std::span<const size_t> cpus, const std::string& root) {
  std::vector<std::string> cores;  // each core's list of sibling processors names it
  size_t unknown = 0;
  for (const size_t cpu : cpus) {
    const std::string topology = cat(root, "/sys/devices/system/cpu/cpu", cpu, "/topology/");
    std::string siblings = read_small_file(topology + "core_cpus_list");
    if (siblings.empty()) siblings = read_small_file(topology + "thread_siblings_list");
    if (siblings.empty()) {
      ++unknown;
    } else if (std::find(cores.begin(), cores.end(), siblings) == cores.end()) {
      cores.push_back(std::move(siblings));
    }
  }
  return std::max<size_t>(cores.size() + unknown, 1);
}

size_t cpu_quota(const std::string& root) {
  size_t tightest = 0;
  const std::string groups = read_small_file(root + "/proc/self/cgroup");
  // Lines are "id:controllers:path"; v2 has id 0 and no controllers.
  for (size_t begin = 0; begin < groups.size();) {
    const size_t end = std::min(groups.find('\n', begin), groups.size());
    const std::string_view line = std::string_view(groups).substr(begin, end - begin);
    begin = end + 1;
    const size_t first = line.find(':');
    const size_t second = first == std::string_view::npos ? first : line.find(':', first + 1);
    if (second == std::string_view::npos) continue;
    const std::string_view controllers = line.substr(first + 1, second - first - 1);
    const std::string group(line.substr(second + 1));
    if (group.empty() || group[0] != '/') continue;
    if (controllers.empty()) {
      tightest = tighter(tightest, group_quota(root + "/sys/fs/cgroup", group, true));
    } else if (lists_cpu_controller(controllers)) {
      tightest = tighter(tightest, group_quota(root + "/sys/fs/cgroup/cpu", group, false));
    }
  }
  return tightest;
}

void advise_huge_pages(void* data, size_t size_bytes) {
#if defined(MADV_HUGEPAGE)
  advise(data, size_bytes, MADV_HUGEPAGE);
#else
  static_cast<void>(data);
  static_cast<void>(size_bytes);
#endif
}

void release_pages(void* data, size_t size_bytes) {
#if defined(__linux__)
  advise(data, size_bytes, MADV_DONTNEED);
#else
  advise(data, size_bytes, MADV_FREE);
#endif
}

unsigned long hardware_capabilities() {
#if defined(__linux__)
  return getauxval(AT_HWCAP);
#else
  return 0;
#endif
}

}  // namespace rill::system
