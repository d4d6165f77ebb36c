#include "runtime/mpi/node_routes.hpp"

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstddef>
#include <thread>

#include "policies/vocabulary/check.hpp"
#include "runtime/mpi/machine_ranks.hpp"
#include "runtime/mpi/mpi_check.hpp"
#include "runtime/mpi/node_memory.hpp"

namespace tandem {

NodeRoutes::NodeRoutes(std::vector<Row> rows) : rows_(std::move(rows)) {
  TANDEM_CHECK(std::ranges::is_sorted(rows_, {}, &Row::up_to), "rows", rows_.size());
}

NodeRoute NodeRoutes::of(Bytes size) const {
  if (rows_.empty()) return NodeRoute::shared;
  const auto row = std::ranges::lower_bound(rows_, size, {}, &Row::up_to);
  return row == rows_.end() ? rows_.back().route : row->route;
}

Bytes NodeRoutes::eager_limit(Bytes largest, Bytes library) const {
  Bytes below(0);
  for (const Row& row : rows_) {
    if (row.route == NodeRoute::library) return std::min(largest, std::max(below, library));
    below = row.up_to;
  }
  return largest;
}

NodeRoutes fastest_routes(const std::vector<NodeRouteTimes>& times) {
  constexpr double noticeable = 1.05;
  std::vector<NodeRoutes::Row> rows;
  for (std::size_t i = 0; i < times.size(); ++i) {
    const auto& seconds = times[i].seconds;
    const auto least = std::ranges::min_element(seconds);
    const double shared_s = seconds[static_cast<std::size_t>(NodeRoute::shared)];
    const auto route =
        shared_s <= *least * noticeable ? NodeRoute::shared : static_cast<NodeRoute>(least - seconds.begin());
    const double next = static_cast<double>(times[std::min(i + 1, times.size() - 1)].size.count());
    const Bytes up_to(
        static_cast<std::int64_t>(std::sqrt(static_cast<double>(times[i].size.count()) * next)));
    if (!rows.empty() && rows.back().route == route)
      rows.back().up_to = up_to;
    else
      rows.push_back({up_to, route});
  }
  return NodeRoutes(std::move(rows));
}

namespace {

constexpr std::array<std::int64_t, 6> probed_sizes = {16 << 10, 64 << 10, 256 << 10,
                                                      1 << 20,  4 << 20,  16 << 20};
// The first turn touches the memory, and is not counted. A turn of the largest size takes tens of
// milliseconds.
constexpr int most_turns = 6;
constexpr int fewest_turns = 3;
constexpr std::int64_t bytes_of_turns = std::int64_t{48} << 20;
// Together in a turn, so that its time is well above the resolution of the clock.
constexpr std::int64_t bytes_per_turn = 256 << 10;

/// One of the two ranks that send each other messages at the same time, as in an all-reduce: then each core
/// makes all copies of its rank, which one that waits would do for nothing.
class Prober {
 public:
  /// `peer`: in the communicator of `memory`; `other`: the same rank among those of `machine`.
  Prober(MPI_Comm machine, int other, NodeMemory& memory, Rank peer)
      : machine_(machine), other_(other), memory_(memory), peer_(peer) {}

  /// Seconds of an exchange, the least of some turns.
  NodeRouteTimes measure(std::int64_t size) {
    NodeRouteTimes times{.size = Bytes(size)};
    times.seconds.fill(std::numeric_limits<double>::infinity());
    out_.resize(static_cast<std::size_t>(size));
    in_.resize(static_cast<std::size_t>(size));
    const int exchanges = static_cast<int>(std::max<std::int64_t>(1, bytes_per_turn / size));
    const int turns =
        static_cast<int>(std::clamp<std::int64_t>(bytes_of_turns / size, fewest_turns, most_turns));
    for (int turn = 0; turn < turns; ++turn)
      for (std::size_t i = 0; i < times.seconds.size(); ++i) {
        const auto start = std::chrono::steady_clock::now();
        for (int n = 0; n < exchanges; ++n) exchange(static_cast<NodeRoute>(i));
        const std::chrono::duration<double> taken = std::chrono::steady_clock::now() - start;
        if (turn > 0) times.seconds[i] = std::min(times.seconds[i], taken.count() / exchanges);
      }
    return times;
  }

 private:
  static constexpr int place_tag = 1;
  static constexpr int payload_tag = 2;
  static constexpr std::int64_t by_library = -1;

  /// As in the transport: the place of the payload is sent first.
  void exchange(NodeRoute route) {
    const auto size = static_cast<int>(out_.size());
    const auto reserved = route == NodeRoute::library ? std::nullopt : memory_.reserve(size);
    const std::int64_t own_place = reserved.value_or(by_library);
    std::array<MPI_Request, 2> sent = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    check_mpi(MPI_Isend(&own_place, 1, MPI_INT64_T, other_, place_tag, machine_, sent.data()), "MPI_Isend");
    if (reserved)
      memory_.put(own_place, out_.data(), size, route == NodeRoute::streamed);
    else
      check_mpi(MPI_Isend(out_.data(), size, MPI_BYTE, other_, payload_tag, machine_, &sent[1]), "MPI_Isend");
    std::int64_t place = 0;
    check_mpi(MPI_Recv(&place, 1, MPI_INT64_T, other_, place_tag, machine_, MPI_STATUS_IGNORE), "MPI_Recv");
    if (place == by_library)
      check_mpi(MPI_Recv(in_.data(), size, MPI_BYTE, other_, payload_tag, machine_, MPI_STATUS_IGNORE),
                "MPI_Recv");
    else
      memory_.take(peer_, place, in_.data(), size, [] { std::this_thread::yield(); });
    check_mpi(MPI_Waitall(2, sent.data(), MPI_STATUSES_IGNORE), "MPI_Waitall");
  }

  MPI_Comm machine_;
  int other_;
  NodeMemory& memory_;
  Rank peer_;
  std::vector<std::byte> out_;
  std::vector<std::byte> in_;
};

/// Returns when all ranks have called it. Leaves the cores to the ranks that probe.
void sleep_until_all_are_here(MPI_Comm machine) {
  MPI_Request here = MPI_REQUEST_NULL;
  check_mpi(MPI_Ibarrier(machine, &here), "MPI_Ibarrier");
  for (int are_here = 0;;) {
    check_mpi(MPI_Test(&here, &are_here, MPI_STATUS_IGNORE), "MPI_Test");
    if (are_here != 0) return;
    std::this_thread::sleep_for(std::chrono::microseconds(200));
  }
}

}  // namespace

NodeRoutes probe_node_routes(MPI_Comm communicator, NodeMemory& memory, Bytes message) {
  const MachineRanks machine(communicator);
  int own = 0;
  int rank = 0;
  check_mpi(MPI_Comm_rank(machine.communicator(), &own), "MPI_Comm_rank");
  check_mpi(MPI_Comm_rank(communicator, &rank), "MPI_Comm_rank");
  std::array<std::int64_t, 2> most = {memory.largest(), message.count()};
  check_mpi(MPI_Allreduce(MPI_IN_PLACE, most.data(), 2, MPI_INT64_T, MPI_MAX, communicator), "MPI_Allreduce");
  const auto [largest, needed] = most;
  std::vector<NodeRouteTimes> times;
  // The next smaller size, a quarter, represents messages up to half of this one.
  for (const std::int64_t size : probed_sizes)
    if (size <= largest && size / 2 < needed) times.push_back({.size = Bytes(size)});
  if (times.empty()) return NodeRoutes();
  if (memory.largest() > 0 && own < 2) {
    std::vector<Rank> probers(2, rank);
    check_mpi(MPI_Sendrecv(&rank, 1, MPI_INT, 1 - own, 0, &probers[1], 1, MPI_INT, 1 - own, 0,
                           machine.communicator(), MPI_STATUS_IGNORE),
              "MPI_Sendrecv");
    Prober prober(machine.communicator(), 1 - own, memory, probers[1]);
    for (NodeRouteTimes& entry : times) {
      const NodeRouteTimes measured = prober.measure(entry.size.count());
      if (own == 0) entry = measured;
    }
  }
  sleep_until_all_are_here(machine.communicator());
  for (NodeRouteTimes& entry : times)
    check_mpi(MPI_Allreduce(MPI_IN_PLACE, entry.seconds.data(), static_cast<int>(entry.seconds.size()),
                            MPI_DOUBLE, MPI_SUM, communicator),
              "MPI_Allreduce");
  return fastest_routes(times);
}

}  // namespace tandem
