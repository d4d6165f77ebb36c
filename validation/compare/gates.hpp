// The two gates that come before any error figure: parity (both worlds did the same) and replay (the recorded
// events explain the recorded decisions). Reads records; changes nothing.
#pragma once

#include <cstdint>
#include <string>
#include <vector>

#include "workloads/records/result_directory.hpp"

namespace tandem::validation {

/// What a gate found. `detail` says what was compared, why it was not, or shows the first divergence.
struct Gate {
  enum class State { passed, failed, not_checked };
  State state = State::not_checked;
  std::int64_t checked = 0;  ///< operations or decisions looked at
  std::string detail;
};
const char* state_name(Gate::State state);

/// Why operations and decisions of this experiment may rightly differ between the worlds; empty when they may
/// not.
std::string timing_reason(const Experiment& experiment);

/// Each rank did the same operations: for every (kind, peer, channel, work, bucket) the same sequence of
/// bytes and samples. The order between different peers may differ.
Gate operations_parity(const Results& simulated, const std::vector<Results>& measured);

/// The policies decided the same: for workers and caches of one client the same sequence, for servers the
/// same multiset of decisions in each version of the model, since workers may arrive in another order.
Gate decisions_parity(const Results& simulated, const std::vector<Results>& measured);

/// Fresh policy objects, given the recorded events of servers, coordinators and workers, decide what was
/// recorded. Errors: ConfigError when a record is no event.
Gate replay(const Results& simulated, const std::vector<Results>& measured);

/// "rank 3 (worker on lab-2)"
std::string describe_rank(const RunInfo& info, Rank rank);

}  // namespace tandem::validation
