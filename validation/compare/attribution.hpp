// Attribution: which phase, rank and link the error of step time comes from. An exact decomposition of the
// difference of two means; it says where time differs, not why.
#pragma once

#include <string>
#include <vector>

#include "workloads/records/result_directory.hpp"

namespace tandem::validation {

/// One part of the error of step time.
struct Contribution {
  std::string phase;  ///< name of the phase; "share of steps": ranks did different numbers of steps
  Rank rank = -1;     ///< of the worker whose step it is; -1: of all
  /// What the rank waited for in that phase: "send", "receive", "read", "compute", ...; empty: not known or
  /// its own work.
  std::string kind{};
  Rank peer = -1;    ///< of a message, -1 otherwise
  double share = 0;  ///< (simulated - measured) / measured mean step time

  friend bool operator==(const Contribution&, const Contribution&) = default;
};

/// Largest first; the shares add up to the relative error of step time. With operations recorded, the time
/// of load, query and exchange is divided by what the rank waited for: the time between the ends of two
/// operations belongs to the later one. Pre: counted steps in simulation and measurement, as for compare().
std::vector<Contribution> attribution(const Results& simulated, const std::vector<Results>& measured);

}  // namespace tandem::validation
