// The gates before any error figure: parity (simulation and measurement did the same work) and replay (the
// recorded events explain the recorded decisions). Reads records; changes nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/records/result_directory.hpp"

namespace tandem::validation {

/// The result of a gate. `detail` says what was compared, or why nothing was, or shows the first difference.
struct Gate {
  enum class State { passed, failed, not_checked };
  State state = State::not_checked;
  std::int64_t checked = 0;  ///< operations or decisions looked at
  std::string detail;
};
const char* state_name(Gate::State state);

/// Why operations and decisions of this run may differ between simulation and measurement; empty when they
/// must not.
std::string timing_reason(const RunInfo& info);

/// Whether a cache node answers several workers, of one job or of several that share it: what it reads and
/// keeps then depends on the order of their requests.
bool caches_serve_several(const RunInfo& info);

/// Each rank did the same operations: for every (kind, peer, channel, work, bucket) the same sequence of
/// bytes and samples. The order between different peers may differ.
Gate operations_parity(const Results& simulated, const std::vector<Results>& measured);

/// The policies decided the same: workers, and caches with one client, the same sequence; servers the same
/// set of decisions in each version of the model, because workers may arrive in any order.
Gate decisions_parity(const Results& simulated, const std::vector<Results>& measured);

/// Fresh policy objects that receive the recorded events of servers, coordinators, workers and stewards, and
/// those about commits, decide as recorded. Errors: ConfigError when a record is not an event.
Gate replay(const Results& simulated, const std::vector<Results>& measured);

/// "rank 3 (worker on lab-2)"
std::string describe_rank(const RunInfo& info, Rank rank);

}  // namespace tandem::validation
