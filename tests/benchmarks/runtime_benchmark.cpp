// Overhead of the context over plain MPI. Both are timed in alternation within one run, so that other load
// affects both; the counters are medians in microseconds, and their ratio. With the launcher's flags, for
// ping-pong, node and reads of files:
//   mpirun --oversubscribe --bind-to none --mca pml ob1 -n 2 runtime_benchmark
// For all-reduce; the last flag if cores are fewer:
//   mpirun --oversubscribe --bind-to none --mca pml ob1 -n 4 --mca mpi_yield_when_idle 1 runtime_benchmark
#include <benchmark/benchmark.h>
#include <mpi.h>

#include <algorithm>
#include <array>
#include <cstdlib>
#include <numeric>
#include <utility>
#include <vector>

#include "policies/collectives/schedule.hpp"
#include "runtime/mpi/mpi_check.hpp"
#include "runtime/mpi/mpi_context.hpp"
#include "runtime/mpi/mpi_variable.hpp"
#include "tests/benchmarks/turns.hpp"
#include "workloads/exchange/schedule_runner.hpp"

namespace tandem {
namespace {

constexpr Channel channel{.stream = 7, .carries_note = false};

MpiSetting as_in_jobs() {
  MpiSetting setting{.node_memory = std::make_shared<NodeMemory>(MPI_COMM_WORLD)};
  setting.node_routes = probe_node_routes(MPI_COMM_WORLD, *setting.node_memory);
  return setting;
}

/// Ranks 0 and 1 send a message back and forth.
void ping_pong(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  MpiContext context(MPI_COMM_WORLD, as_in_jobs());
  const Rank peer = 1 - context.rank();
  const bool first = context.rank() == 0;
  std::vector<std::byte> out(size, std::byte{1});
  std::vector<std::byte> in(size);
  const auto plain = [&] {
    std::array<MPI_Request, 2> requests = {MPI_REQUEST_NULL, MPI_REQUEST_NULL};
    int index = 0;
    const auto send = [&] {
      MPI_Isend(out.data(), static_cast<int>(size), MPI_BYTE, peer, 0, MPI_COMM_WORLD, &requests[1]);
    };
    MPI_Irecv(in.data(), static_cast<int>(size), MPI_BYTE, peer, 0, MPI_COMM_WORLD, requests.data());
    if (first) send();
    MPI_Waitany(2, requests.data(), &index, MPI_STATUS_IGNORE);
    if (!first) send();
    MPI_Waitany(2, requests.data(), &index, MPI_STATUS_IGNORE);
  };
  const auto ours = [&] {
    std::array<Pending, 2> pendings;
    const Bytes bytes(static_cast<std::int64_t>(size));
    pendings[0] = context.receive(peer, channel, {bytes, in.data()});
    if (first) pendings[1] = context.send(peer, channel, {bytes, out.data()}, {});
    context.wait_any(pendings);
    if (!first) pendings[1] = context.send(peer, channel, {bytes, out.data()}, {});
    context.wait_any(pendings);
  };
  compare(state, std::max(1, (1 << 20) / static_cast<int>(size)), plain, ours);
}

/// A ring over the context, run by the schedule interpreter, and MPI's own all-reduce. Arguments: total
/// bytes, bytes of a bucket; the ring has all buckets in flight at once, like a job after backward.
void all_reduce(benchmark::State& state) {
  const auto size = static_cast<std::size_t>(state.range(0));
  MpiContext context(MPI_COMM_WORLD, as_in_jobs());
  std::vector<Rank> members(static_cast<std::size_t>(context.world_size()));
  std::iota(members.begin(), members.end(), 0);
  std::vector<float> vector(size / sizeof(float));
  const auto bucket_size = static_cast<std::size_t>(state.range(1));
  const std::vector<Bytes> buckets(size / bucket_size, Bytes(state.range(1)));
  AllReduces ring(context, collectives::catalog().find("ring").make, members, buckets, channel);
  const auto plain = [&] {
    MPI_Allreduce(MPI_IN_PLACE, vector.data(), static_cast<int>(vector.size()), MPI_FLOAT, MPI_SUM,
                  MPI_COMM_WORLD);
  };
  const auto ours = [&] {
    auto* data = reinterpret_cast<std::byte*>(vector.data());
    for (std::size_t bucket = 0; bucket < buckets.size(); ++bucket)
      ring.start(static_cast<int>(bucket), {buckets[bucket], data + bucket * bucket_size});
    ring.finish();
  };
  compare(state, 1, plain, ours);
}

void add_benchmarks(int ranks) {
  for (const std::int64_t size : {std::int64_t{64} << 10, std::int64_t{1} << 20, std::int64_t{16} << 20}) {
    if (ranks != 2) break;
    benchmark::RegisterBenchmark("ping_pong", ping_pong)
        ->Arg(size)
        ->Iterations(size > (1 << 20) ? 100 : 400)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
  if (ranks == 2) add_gpu_benchmarks();
  if (ranks == 2) add_node_benchmarks();
  if (ranks == 2) add_disk_benchmarks();
  constexpr std::int64_t mebibyte = 1 << 20;
  using Sizes = std::pair<std::int64_t, std::int64_t>;
  for (const auto& [size, bucket] : {Sizes{1, 1}, Sizes{4, 1}, Sizes{16, 1}, Sizes{4, 4}, Sizes{16, 16}}) {
    if (ranks == 2) break;
    benchmark::RegisterBenchmark("ring_all_reduce", all_reduce)
        ->ArgNames({"bytes", "bucket_bytes"})
        ->Args({size * mebibyte, bucket * mebibyte})
        ->Iterations(size > 1 ? 100 : 300)
        ->UseManualTime()
        ->Unit(benchmark::kMicrosecond);
  }
}

/// Suppresses the output of ranks other than 0.
class Silence : public benchmark::BenchmarkReporter {
 public:
  bool ReportContext(const Context&) override { return true; }
  void ReportRuns(const std::vector<Run>&) override {}
};

}  // namespace
}  // namespace tandem

int main(int argc, char** argv) {
  tandem::choose_all_reduce_algorithm();
  MPI_Init(&argc, &argv);
  int rank = 0;
  int size = 0;
  MPI_Comm_rank(MPI_COMM_WORLD, &rank);
  MPI_Comm_size(MPI_COMM_WORLD, &size);
  benchmark::Initialize(&argc, argv);
  if (size < 2) {
    std::fprintf(stderr, "start with mpirun -n 2 or -n 4\n");
    MPI_Finalize();
    return 2;
  }
  tandem::add_benchmarks(size);
  tandem::Silence silence;
  if (rank == 0)
    benchmark::RunSpecifiedBenchmarks();
  else
    benchmark::RunSpecifiedBenchmarks(&silence);
  MPI_Finalize();
  return 0;
}
