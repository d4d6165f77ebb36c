// Clocks that are wrong in a known way, read by ranks of one machine: the comparison finds the truth within
// the uncertainty that it states.
#include "runtime/mpi/clock_comparison.hpp"

#include <gtest/gtest.h>

#include <chrono>
#include <cmath>
#include <thread>

#include "runtime/mpi/machine_ranks.hpp"

namespace tandem {
namespace TANDEM_FILE {

double true_s() {
  return std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count();
}

struct Ranks {
  Ranks() {
    MPI_Comm_rank(MPI_COMM_WORLD, &rank);
    MPI_Comm_size(MPI_COMM_WORLD, &size);
  }
  int rank = 0;
  int size = 0;
};

TEST(ClockComparison, OffsetAndDriftAreFoundWithinTheUncertainty) {
  const Ranks ranks;
  const double epoch = true_s();
  // Every rank as a machine of its own, days apart, whose clocks gain up to a millisecond per second.
  const double offset = 86400.0 * ranks.rank;
  const double rate = 1.0 + 1e-3 * ranks.rank / ranks.size;
  const auto now = [&] { return Seconds(offset + rate * (true_s() - epoch) + epoch); };
  ClockLine line;
  line.before = compare_clocks(MPI_COMM_WORLD, MPI_COMM_SELF, now);
  double worst = 0.0;
  std::vector<std::pair<double, Seconds>> moments;
  constexpr double reading_s = 1e-3;
  while (moments.size() < 20) {
    const double truth = true_s();
    const Seconds own = now();
    // Not if another program ran between the two readings.
    if (true_s() - truth < reading_s) moments.emplace_back(truth, own);
    std::this_thread::sleep_for(std::chrono::milliseconds(10));
  }
  line.after = compare_clocks(MPI_COMM_WORLD, MPI_COMM_SELF, now);
  for (const auto& [truth, own] : moments)
    worst = std::max(worst, std::abs(line.on_rank_0(own).count() - truth));
  EXPECT_LE(worst, line.uncertainty().count() + reading_s) << "rank " << ranks.rank;
  EXPECT_NEAR(line.before.offset.count(), -offset, 1.0);
  if (ranks.rank == 0) {
    EXPECT_EQ(line.uncertainty().count(), 0.0);
    EXPECT_EQ(line.on_rank_0(Seconds(5.0)).count(), 5.0);
  } else {
    EXPECT_GT(line.uncertainty().count(), 0.0);
    EXPECT_NEAR(line.drift(), 1.0 / rate - 1.0, 2.0 * (line.uncertainty().count() + reading_s) / 0.2);
  }
}

TEST(ClockComparison, RanksOfAMachineShareItsReading) {
  const Ranks ranks;
  const MachineRanks machine(MPI_COMM_WORLD);
  EXPECT_EQ(machine.size(), ranks.size);
  EXPECT_EQ(machine.leader(), 0);
  EXPECT_EQ(machine.leads(), ranks.rank == 0);
  EXPECT_EQ(count_machines(MPI_COMM_WORLD, machine), 1);
  const auto reading =
      compare_clocks(MPI_COMM_WORLD, machine.communicator(), [] { return Seconds(true_s()); });
  EXPECT_EQ(reading.offset.count(), 0.0);
  EXPECT_EQ(reading.uncertainty.count(), 0.0);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
