// The programs that the simulator's benchmark measures, on Context and, where there is a baseline, by hand on
// S4U. Each runs a whole simulation, so a process may run one of them only.
#pragma once

#include <string>

namespace tandem::benchmarks {

struct Outcome {
  double cpu_s;       ///< computed from the first body's start to the last one's end
  double makespan_s;  ///< simulated
};

/// Every round each worker computes and pushes a message; the server computes on each push and answers it.
Outcome server_on_context(int workers, int rounds);
Outcome server_on_s4u(int workers, int rounds);
/// `repetitions` ring all-reduces of 64 MB over all ranks.
Outcome ring_on_context(int ranks, int repetitions);
Outcome ring_on_s4u(int ranks, int repetitions);
/// One all-reduce of 64 MB by halving and doubling over all ranks: as a role runs it, and its messages alone.
Outcome halving_doubling_on_context(int ranks);
Outcome halving_doubling_on_s4u(int ranks);
/// All-reduces of 102.4 MB over all ranks by the collective, whose sums take time, one after the other.
Outcome all_reduces_on_context(const std::string& collective, int ranks, int rounds);
/// Messages that all ranks send in one of them.
double messages_of_all_reduce(const std::string& collective, int ranks);
/// BSP: each worker computes, sends a shard to each server and waits for all of them; a server answers all
/// when it has heard from all. Unequal workers differ by up to `spread` in the time of a step.
Outcome bsp_on_context(int workers, int servers, int steps, double spread);

}  // namespace tandem::benchmarks
