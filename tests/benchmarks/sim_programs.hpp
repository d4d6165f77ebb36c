// The programs that the simulator's benchmark measures: on Context and, where there is a baseline, written by
// hand on S4U. Each runs a whole simulation, so a process can run only one of them.
#pragma once

#include <cstdint>
#include <string>

namespace tandem::benchmarks {

struct Outcome {
  double cpu_s;       ///< CPU time from the start of the first body to the end of the last one
  double makespan_s;  ///< simulated
};

/// In every round each worker computes and pushes a message; the server computes on each push and answers it.
Outcome server_on_context(int workers, int rounds);
Outcome server_on_s4u(int workers, int rounds);
/// `repetitions` ring all-reduces of 64 MB over all ranks.
Outcome ring_on_context(int ranks, int repetitions);
Outcome ring_on_s4u(int ranks, int repetitions);
/// One all-reduce of 64 MB by halving-doubling over all ranks: run by a role, and as bare messages.
Outcome halving_doubling_on_context(int ranks);
Outcome halving_doubling_on_s4u(int ranks);
/// All-reduces of so many floats over all ranks with the given collective, one after the other; reductions
/// take time.
Outcome all_reduces_on_context(const std::string& collective, int ranks, int rounds, std::int64_t elements);
/// One of them.
Outcome all_reduce_on_s4u(const std::string& collective, int ranks, std::int64_t elements);
/// Number of messages that all ranks send in one all-reduce.
double messages_of_all_reduce(const std::string& collective, int ranks, std::int64_t elements);
/// BSP: each worker computes, sends a shard to each server and waits for all replies; a server replies to all
/// workers after it has received from all. The step times of the workers differ by up to `spread`.
Outcome bsp_on_context(int workers, int servers, int steps, double spread);
/// A whole job with modelled mathematics: BSP over one server. `departures` of the workers' machines depart
/// one after the other and are replaced; 0: no machine may depart (transience.lifetime never).
Outcome job_with_departures(int workers, int rounds, int departures);

}  // namespace tandem::benchmarks
