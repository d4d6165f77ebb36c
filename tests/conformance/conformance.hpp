// What every Context must do, as programs that run on any of them: each scenario is a body for a fixed number
// of ranks, checks values and never durations, and depends on neither an implementation of Context nor a test
// framework.
#pragma once

#include <functional>
#include <ostream>
#include <vector>

#include "workloads/context.hpp"

namespace tandem::conformance {

/// One behaviour. Every rank runs `body` on its own context; the host of each rank has a disk number 0.
/// Errors: std::runtime_error naming the rank, what was expected and what was found.
struct Scenario {
  const char* name;
  int ranks;
  std::function<void(Context&)> body;
  /// Cancels messages, disconnects or lets a rank leave, which the context under SMPI does not support.
  bool withdraws = false;
  /// Calls Context::stop_work.
  bool stops_work = false;

  friend std::ostream& operator<<(std::ostream& out, const Scenario& scenario) {
    return out << scenario.name;
  }
};

/// All scenarios, in a fixed order; names are unique and are valid identifiers.
const std::vector<Scenario>& scenarios();

/// Of these, the few that send most, in order, to and from everyone, or withdraw what they send; or all
/// others.
std::vector<Scenario> scenarios_of_messages(bool few);

}  // namespace tandem::conformance
