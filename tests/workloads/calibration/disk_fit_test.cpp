// What measured reads say of a disk.
#include <gtest/gtest.h>

#include "workloads/calibration/calibration.hpp"

namespace tandem {
namespace TANDEM_FILE {

TEST(DiskFit, FindsLatencyRateAndParallelRequests) {
  // 100 us alone, of which 4 are for the bytes; eight at the same time; 1 GB/s.
  Profile::DiskEntry disk;
  disk.reads = {
      {4096, 1, 1e4, 0.0}, {4096, 16, 8e4, 0.0}, {1 << 20, 1, 500, 0.0}, {1 << 20, 16, 1e9 / (1 << 20), 0.0}};
  fit_disk(disk);
  EXPECT_NEAR(disk.latency_s, 95.9e-6, 1e-7);
  EXPECT_EQ(disk.parallel, 8);
  EXPECT_NEAR(disk.read_rate, 1e9, 1.0);
}

/// Where one read uses the whole bandwidth, more at the same time are no faster.
TEST(DiskFit, ADiskWithoutLatencyServesOneRequest) {
  Profile::DiskEntry disk;
  disk.reads = {{4096, 1, 1e8 / 4096, 0.0}, {4096, 16, 1e8 / 4096, 0.0}, {1 << 20, 1, 1e8 / (1 << 20), 0.0}};
  fit_disk(disk);
  EXPECT_NEAR(disk.latency_s, 0.0, 1e-12);
  EXPECT_EQ(disk.parallel, 1);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
