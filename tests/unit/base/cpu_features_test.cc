// SPDX-License-Identifier: Apache-2.0
#include "base/cpu_features.h"

#include <gtest/gtest.h>
#include <unistd.h>

#include <filesystem>
#include <fstream>
#include <string>
#include <vector>

#include "base/system.h"

namespace rill::test {
namespace {

TEST(ChooseIsaTier, TakesTheBestByDefault) {
  const Result<IsaTier> best = choose_isa_tier("");
  ASSERT_TRUE(best.has_value());
  EXPECT_TRUE(cpu_supports(*best));
  if (cpu_supports(IsaTier::kAvx2)) {
    EXPECT_GE(*best, IsaTier::kAvx2);
  }
  if (cpu_supports(IsaTier::kAvx512Vnni)) {
    EXPECT_EQ(*best, IsaTier::kAvx512Vnni);
  }
  if (cpu_supports(IsaTier::kNeon)) {
    EXPECT_EQ(*best, IsaTier::kNeon);
  }
}

TEST(ChooseIsaTier, TakesTheForcedTierOrRefuses) {
  EXPECT_EQ(*choose_isa_tier("scalar"), IsaTier::kScalar);
  for (const IsaTier tier :
       {IsaTier::kAvx2, IsaTier::kAvx512, IsaTier::kAvx512Vnni, IsaTier::kNeon}) {
    const Result<IsaTier> chosen = choose_isa_tier(isa_tier_name(tier));
    if (cpu_supports(tier)) {
      EXPECT_EQ(*chosen, tier);
    } else {
      EXPECT_EQ(chosen.error().code, ErrorCode::kUnsupported);
      EXPECT_NE(chosen.error().message.find(isa_tier_name(tier)), std::string::npos);
    }
  }
}

TEST(ChooseIsaTier, RefusesUnknownNames) {
  const Result<IsaTier> tier = choose_isa_tier("avx9");
  EXPECT_EQ(tier.error().code, ErrorCode::kInvalidArgument);
  EXPECT_NE(tier.error().message.find("avx9"), std::string::npos);
}

TEST(CpuSupports, IncludesTheLowerTiersOfAFamily) {
  EXPECT_TRUE(cpu_supports(IsaTier::kScalar));
  if (cpu_supports(IsaTier::kAvx512Vnni)) {
    EXPECT_TRUE(cpu_supports(IsaTier::kAvx512));
  }
  if (cpu_supports(IsaTier::kAvx512)) {
    EXPECT_TRUE(cpu_supports(IsaTier::kAvx2));
  }
}

TEST(CpuModelName, IsNotEmpty) { EXPECT_FALSE(cpu_model_name().empty()); }

/// A made-up root of /proc and /sys.
class SystemFiles : public testing::Test {
 protected:
  void SetUp() override {
    root_ = std::filesystem::temp_directory_path() /
            ("rill_system_files_" + std::to_string(::getpid()));
    std::filesystem::remove_all(root_);
  }
  void TearDown() override { std::filesystem::remove_all(root_); }
  void write(const std::string& path, const std::string& text) const {
    const std::filesystem::path full = root_ / path;
    std::filesystem::create_directories(full.parent_path());
    std::ofstream(full) << text;
  }
  void write_siblings(size_t cpu, const std::string& text) const {
    write("sys/devices/system/cpu/cpu" + std::to_string(cpu) + "/topology/core_cpus_list", text);
  }
  [[nodiscard]] std::string root() const { return root_.string(); }

 private:
  std::filesystem::path root_;
};

TEST_F(SystemFiles, SiblingsCountAsOneCore) {
  for (size_t cpu = 0; cpu < 8; ++cpu) {
    const size_t core = cpu % 4;
    write_siblings(cpu, std::to_string(core) + "," + std::to_string(core + 4) + "\n");
  }
  const std::vector<size_t> all = {0, 1, 2, 3, 4, 5, 6, 7};
  EXPECT_EQ(system::count_physical_cores(all, root()), 4U);
  EXPECT_EQ(system::count_physical_cores(std::vector<size_t>{1, 5}, root()), 1U);
  EXPECT_EQ(system::count_physical_cores(std::vector<size_t>{1, 6}, root()), 2U);
}

TEST_F(SystemFiles, ProcessorsWithoutTopologyCountAsCores) {
  EXPECT_EQ(system::count_physical_cores(std::vector<size_t>{0, 1, 2}, root()), 3U);
  EXPECT_EQ(system::count_physical_cores(std::vector<size_t>{}, root()), 1U);
}

TEST_F(SystemFiles, QuotaOfVersion2IsRoundedUp) {
  EXPECT_EQ(system::cpu_quota(root()), 0U);
  write("proc/self/cgroup", "0::/a/b\n");
  write("sys/fs/cgroup/a/b/cpu.max", "150000 100000\n");
  EXPECT_EQ(system::cpu_quota(root()), 2U);
  write("sys/fs/cgroup/a/b/cpu.max", "max 100000\n");
  EXPECT_EQ(system::cpu_quota(root()), 0U);
}

TEST_F(SystemFiles, AParentsQuotaCounts) {
  write("proc/self/cgroup", "0::/a/b\n");
  write("sys/fs/cgroup/a/b/cpu.max", "800000 100000\n");
  write("sys/fs/cgroup/a/cpu.max", "300000 100000\n");
  EXPECT_EQ(system::cpu_quota(root()), 3U);
}

TEST_F(SystemFiles, QuotaOfVersion1IsRead) {
  write("proc/self/cgroup", "4:memory:/x\n3:cpuacct,cpu:/job\n0::/\n");
  write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "50000\n");
  write("sys/fs/cgroup/cpu/job/cpu.cfs_period_us", "100000\n");
  EXPECT_EQ(system::cpu_quota(root()), 1U);
  write("sys/fs/cgroup/cpu/job/cpu.cfs_quota_us", "-1\n");
  EXPECT_EQ(system::cpu_quota(root()), 0U);
}

TEST_F(SystemFiles, BrokenFilesMeanNoQuota) {
  write("proc/self/cgroup", "nonsense\n0:\n0::relative\n0::/\n");
  write("sys/fs/cgroup/cpu.max", "what");
  EXPECT_EQ(system::cpu_quota(root()), 0U);
  write("sys/fs/cgroup/cpu.max", "-5 0");
  EXPECT_EQ(system::cpu_quota(root()), 0U);
}

}  // namespace
}  // namespace rill::test
