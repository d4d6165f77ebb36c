// Emulated disks that the ranks of a host share. Runs under mpirun.
#include "runtime/rank/host_disks.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>
#include <vector>

#include "runtime/mpi/mpi_context.hpp"

namespace tandem {
namespace TANDEM_FILE {

struct World {
  int rank = 0;
  int size = 0;
  World() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
};

/// By the clock that the context uses; MPI's own may run at another rate.
double steady_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

/// Everything arrives together: the ends are those of one queue, whoever asked first.
TEST(HostDisks, RanksOfOneHostShareTheirQueue) {
  const World world;
  // Hosts of two ranks; with an odd number of ranks the last one is alone.
  HostDisks disks(MPI_COMM_WORLD, world.rank / 2, 2);
  constexpr int reads = 50;
  const DiskService service{Seconds(0.01), 4};
  std::vector<double> own;
  for (int i = 0; i < reads; ++i)
    own.push_back(disks.serve(1, Seconds(0), service, 1, Seconds(0.001)).count());
  std::vector<double> all(static_cast<std::size_t>(world.size) * reads);
  MPI_Allgather(own.data(), reads, MPI_DOUBLE, all.data(), reads, MPI_DOUBLE, MPI_COMM_WORLD);
  const int first = world.rank / 2 * 2;
  const int ranks = std::min(2, world.size - first);
  std::vector<double> found(all.begin() + first * reads, all.begin() + (first + ranks) * reads);
  std::ranges::sort(found);
  DiskQueue alone;
  for (const double end : found)
    EXPECT_DOUBLE_EQ(end, alone.serve(Seconds(0), service, 1, Seconds(0.001)).count());
  // The other disk is another one.
  MPI_Barrier(MPI_COMM_WORLD);
  EXPECT_LE(disks.serve(0, Seconds(0), service, 1, Seconds(0.001)).count(), 0.012 + 1e-9);
}

TEST(HostDisks, ARankWithoutHostTakesPart) {
  const World world;
  HostDisks disks(MPI_COMM_WORLD, world.rank == 0 ? -1 : 3, world.rank == 0 ? 0 : 1);
  if (world.rank != 0) EXPECT_GT(disks.serve(0, Seconds(0), {}, 1, Seconds(0.001)).count(), 0.0);
}

/// As the simulator says (tests/sim/disk_test): the reads of all ranks, one after the other.
TEST(HostDisks, ReadsOfAllRanksTakeAsLongAsSimulated) {
  const World world;
  const auto disks = std::make_shared<HostDisks>(MPI_COMM_WORLD, 0, 1);
  constexpr double each_s = 0.02;
  MpiSetting setting;
  setting.emulated_disk = [disks](int disk, const DiskAccess& access, bool, Seconds arrival) {
    return disks->serve(disk, arrival, {}, access.requests, Seconds(each_s));
  };
  MpiContext context(MPI_COMM_WORLD, setting);
  double start = steady_s();
  std::array<int, 3> transfers{};
  std::array<Pending, 3> reads;
  for (std::size_t i = 0; i < reads.size(); ++i)
    reads[i] = context.read(0, Bytes(1), [&transfers, i] { ++transfers[i]; });
  context.wait_all(reads);
  double end = steady_s();
  // The clock is that of the machine.
  MPI_Allreduce(MPI_IN_PLACE, &start, 1, MPI_DOUBLE, MPI_MIN, MPI_COMM_WORLD);
  MPI_Allreduce(MPI_IN_PLACE, &end, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
  EXPECT_GE(end - start, 3 * world.size * each_s - 1e-6) << "with a disk for each rank it would be less";
  EXPECT_EQ(transfers, (std::array{1, 1, 1}));
}

}  // namespace TANDEM_FILE
}  // namespace tandem
