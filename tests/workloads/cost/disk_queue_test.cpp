// Disks against closed forms: n requests, p places, latency L, bytes that take t each.
#include "workloads/cost/disk_queue.hpp"

#include <gtest/gtest.h>

#include <vector>

#include "policies/vocabulary/rng.hpp"

namespace tandem {
namespace TANDEM_FILE {

/// As the header of DiskQueue says.
double closed_form(int n, int p, double latency, double each) {
  if (p == 1) return n * (latency + each);
  if ((p - 1) * each >= latency) return latency + n * each;
  const int waves = (n + p - 1) / p;
  return waves * (latency + each) + ((n - 1) % p) * each;
}

TEST(DiskQueue, RequestsThatArriveTogetherFollowTheClosedForm) {
  for (const double each : {0.0, 0.001, 0.004, 0.02})
    for (const double latency : {0.0, 0.003, 0.01})
      for (const int p : {1, 2, 3, 8, 256})
        for (const int n : {1, 2, 3, 7, 8, 9, 64, 300}) {
          const double expected = closed_form(n, p, latency, each);
          DiskQueue together;
          EXPECT_NEAR(together.serve(Seconds(0), {Seconds(latency), p}, n, Seconds(n * each)).count(),
                      expected, 1e-9)
              << n << " requests, " << p << " places, " << latency << " s, " << each << " s";
          // The same requests as accesses of their own.
          DiskQueue apart;
          double last = 0;
          for (int i = 0; i < n; ++i)
            last = apart.serve(Seconds(0), {Seconds(latency), p}, 1, Seconds(each)).count();
          EXPECT_NEAR(last, expected, 1e-9) << n << " accesses, " << p << " places";
        }
}

TEST(DiskQueue, AnIdleDiskServesImmediately) {
  DiskQueue disk;
  const DiskService service{Seconds(0.01), 2};
  EXPECT_TRUE(disk.is_idle(Seconds(0)));
  EXPECT_DOUBLE_EQ(disk.serve(Seconds(1), service, 1, Seconds(0.1)).count(), 1.11);
  EXPECT_FALSE(disk.is_idle(Seconds(1.05)));
  EXPECT_TRUE(disk.is_idle(Seconds(1.2)));
  EXPECT_DOUBLE_EQ(disk.serve(Seconds(5), service, 1, Seconds(0.1)).count(), 5.11);
}

/// Two places: the third request waits until the first one has ended; a latency that has passed meanwhile is
/// not paid again.
TEST(DiskQueue, FurtherRequestsWaitInTheOrderOfTheirArrival) {
  DiskQueue disk;
  const DiskService service{Seconds(0.1), 2};
  EXPECT_DOUBLE_EQ(disk.serve(Seconds(0), service, 1, Seconds(0.02)).count(), 0.12);
  EXPECT_DOUBLE_EQ(disk.serve(Seconds(0.05), service, 1, Seconds(0.02)).count(), 0.17);
  EXPECT_DOUBLE_EQ(disk.serve(Seconds(0.06), service, 1, Seconds(0.02)).count(), 0.12 + 0.12);
  EXPECT_DOUBLE_EQ(disk.serve(Seconds(0.3), service, 1, Seconds(0.5)).count(), 0.9);
  EXPECT_DOUBLE_EQ(disk.serve(Seconds(0.3), service, 1, Seconds(0.02)).count(), 0.92)
      << "waits for the bytes only";
}

/// Whatever arrives when: no more requests than places are served at the same time, and bytes take their
/// time.
TEST(DiskQueue, ServesNoMoreThanItCan) {
  for (std::uint64_t seed = 0; seed < 50; ++seed) {
    Rng random(seed);
    const DiskService service{Seconds(0.01 * random.uniform()), 1 + static_cast<int>(random.below(6))};
    DiskQueue disk;
    std::vector<double> ends;
    double arrival = 0, moved = 0;
    for (int i = 0; i < 200; ++i) {
      arrival += 0.005 * random.uniform();
      const double each = 0.004 * random.uniform();
      moved += each;
      const double end = disk.serve(Seconds(arrival), service, 1, Seconds(each)).count();
      EXPECT_GE(end, arrival + service.latency.count() + each - 1e-12) << "seed " << seed;
      EXPECT_GE(end, moved) << "seed " << seed;
      const auto places = static_cast<std::size_t>(service.parallel);
      const double place_free = ends.size() >= places ? ends[ends.size() - places] : 0.0;
      EXPECT_GE(end, place_free + service.latency.count() + each - 1e-12) << "seed " << seed;
      EXPECT_GE(end, ends.empty() ? 0.0 : ends.back()) << "seed " << seed;
      ends.push_back(end);
    }
  }
}

}  // namespace TANDEM_FILE
}  // namespace tandem
