// SPDX-License-Identifier: Apache-2.0
// What base needs from the operating system about threads and processors. Implementation per
// system: system_posix.cc.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

namespace rill::system {

/// Starts a thread that runs entry(argument). std::thread would throw when the system has none
/// left. Returns false if the system starts no thread.
bool start_thread(void (*entry)(void*), void* argument, size_t& thread_id);
/// Waits for the end of a thread started by start_thread.
void join_thread(size_t thread_id);

/// The logical processors that this process may run on, ascending; at least one.
[[nodiscard]] std::vector<size_t> allowed_cpus();

/// How many physical cores the logical processors belong to, as <root>/sys says; without that
/// information every logical processor counts. `root` is "" outside tests.
[[nodiscard]] size_t count_physical_cores(std::span<const size_t> cpus, const std::string& root);

/// The CPU quota of this process's control groups (v1 and v2), in processors rounded up; 0: no
/// quota.
[[nodiscard]] size_t cpu_quota(const std::string& root);

/// Asks for huge pages for a range of memory that is about to be filled: fewer faults while it is,
/// fewer misses of the address cache when it is read. Only advice: it changes no contents.
void advise_huge_pages(void* data, size_t size_bytes);

/// Gives the physical memory behind a range back to the system, which stays allocated; its contents
/// are lost.
void release_pages(void* data, size_t size_bytes);

/// Bits of AT_HWCAP (Linux on Arm); 0 elsewhere.
[[nodiscard]] unsigned long hardware_capabilities();

}  // namespace rill::system
