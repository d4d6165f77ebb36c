// Times two variants of the same operation on all ranks of an MPI program, in alternation, so that other load
// affects both.
#pragma once

#include <benchmark/benchmark.h>
#include <mpi.h>

#include <functional>
#include <vector>

#include "tests/benchmarks/median.hpp"

namespace tandem {

/// Times `plain` and `ours` in alternation, `times` runs in a row each. Every rank takes part in the same
/// turns: the number of iterations is fixed where the benchmark is registered.
inline void compare(benchmark::State& state, int times, const std::function<void()>& plain,
                    const std::function<void()>& ours) {
  const auto timed = [times](const std::function<void()>& exchange) {
    MPI_Barrier(MPI_COMM_WORLD);
    const double start = MPI_Wtime();
    for (int i = 0; i < times; ++i) exchange();
    double seconds = (MPI_Wtime() - start) / times;
    MPI_Allreduce(MPI_IN_PLACE, &seconds, 1, MPI_DOUBLE, MPI_MAX, MPI_COMM_WORLD);
    return seconds;
  };
  timed(plain);
  timed(ours);
  std::vector<double> plain_us;
  std::vector<double> ours_us;
  bool plain_first = true;
  for ([[maybe_unused]] auto iteration : state) {
    for (const bool now_plain : {plain_first, !plain_first})
      (now_plain ? plain_us : ours_us).push_back(1e6 * timed(now_plain ? plain : ours));
    plain_first = !plain_first;
    state.SetIterationTime(1e-6 * ours_us.back());
  }
  state.counters["plain_us"] = median(plain_us);
  state.counters["context_us"] = median(ours_us);
  state.counters["ratio"] = median(ours_us) / median(plain_us);
}

/// Reads of files in a mounted directory.
void add_disk_benchmarks();

/// Batches of a cache node.
void add_node_benchmarks();

/// Messages between the GPU memory of two ranks, if the build has CUDA.
void add_gpu_benchmarks();

}  // namespace tandem
