#include "runtime/mpi/clock_comparison.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "runtime/mpi/mpi_check.hpp"

namespace tandem {
namespace {

/// The shortest of many is least disturbed by other programs and messages.
constexpr int round_trips = 100;
constexpr int clock_tag = 0;

int rank_in(MPI_Comm communicator) {
  int rank = 0;
  check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  return rank;
}

/// Rank 0's part of the comparison with one rank.
void answer_clock_requests(MPI_Comm communicator, int other, const std::function<Seconds()>& now) {
  for (int i = 0; i < round_trips; ++i) {
    check_mpi(MPI_Recv(nullptr, 0, MPI_BYTE, other, clock_tag, communicator, MPI_STATUS_IGNORE), "MPI_Recv");
    const double own_s = now().count();
    check_mpi(MPI_Send(&own_s, 1, MPI_DOUBLE, other, clock_tag, communicator), "MPI_Send");
  }
}

ClockReading compare_with_rank_0(MPI_Comm communicator, const std::function<Seconds()>& now) {
  ClockReading best{.own = {}, .offset = {}, .uncertainty = Seconds(std::numeric_limits<double>::infinity())};
  for (int i = 0; i < round_trips; ++i) {
    double theirs_s = 0.0;
    const Seconds start = now();
    check_mpi(MPI_Send(nullptr, 0, MPI_BYTE, 0, clock_tag, communicator), "MPI_Send");
    check_mpi(MPI_Recv(&theirs_s, 1, MPI_DOUBLE, 0, clock_tag, communicator, MPI_STATUS_IGNORE), "MPI_Recv");
    const Seconds half = (now() - start) / 2.0;
    if (half >= best.uncertainty) continue;
    best = {.own = start + half, .offset = Seconds(theirs_s) - (start + half), .uncertainty = half};
  }
  return best;
}

}  // namespace

ClockReading compare_clocks(MPI_Comm communicator, MPI_Comm machine, const std::function<Seconds()>& now) {
  const int rank = rank_in(communicator);
  const int leads = rank_in(machine) == 0 ? 1 : 0;
  int size = 0;
  check_mpi(MPI_Comm_size(communicator, &size), "MPI_Comm_size");
  std::vector<int> leaders(static_cast<std::size_t>(size));
  check_mpi(MPI_Gather(&leads, 1, MPI_INT, leaders.data(), 1, MPI_INT, 0, communicator), "MPI_Gather");

  // Rank 0 leads its machine, which needs no comparison.
  ClockReading reading{.own = now(), .offset = {}, .uncertainty = {}};
  if (rank == 0) {
    for (int other = 1; other < size; ++other)
      if (leaders[static_cast<std::size_t>(other)] != 0) answer_clock_requests(communicator, other, now);
  } else if (leads != 0) {
    reading = compare_with_rank_0(communicator, now);
  }
  double of_machine[] = {reading.own.count(), reading.offset.count(), reading.uncertainty.count()};
  check_mpi(MPI_Bcast(of_machine, 3, MPI_DOUBLE, 0, machine), "MPI_Bcast");
  return {Seconds(of_machine[0]), Seconds(of_machine[1]), Seconds(of_machine[2])};
}

double ClockLine::drift() const {
  const Seconds between = after.own - before.own;
  return between.count() > 0.0 ? (after.offset - before.offset) / between : 0.0;
}

Seconds ClockLine::on_rank_0(Seconds own) const { return own + before.offset + (own - before.own) * drift(); }

Seconds ClockLine::uncertainty() const { return std::max(before.uncertainty, after.uncertainty); }

}  // namespace tandem
