// Attribution: the phases, ranks and links from which the error of step time comes, and the waits in the
// steps of one result. Exact decompositions of means: they show where times differ, not why.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
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
/// of load, query and exchange is divided by the operations for which the rank waited: the time between the
/// ends of two operations belongs to the later one. Pre: counted steps in simulation and measurement, as for
/// compare().
std::vector<Contribution> attribution(const Results& simulated, const std::vector<Results>& measured);

/// What the time of workers' steps, and of the commits after them, is spent on, as shares of it that add up
/// to 1.
struct Binding {
  double computing = 0;
  double data = 0;      ///< waiting for samples
  double decoding = 0;  ///< decoding samples that had arrived, with nothing else to do
  double query = 0;
  double exchange = 0;
  double commits = 0;  ///< waiting until commits are stored (CommitWait)
  /// Parts of `computing`, `data`, `decoding` and `commits` that lie in the exchanges of other workers: these
  /// had finished their own part of the round, and waited for the last worker, which computed longer, had its
  /// samples later, decoded them longer, or had written its part of a commit for longer.
  double slower_workers = 0;
  double later_samples = 0;
  double slower_decoding = 0;
  double slower_commits = 0;
};

/// For rounds in which all workers wait for each other, over servers or an all-reduce: the wait of a worker
/// for the last one of its round is divided by the parts in which the time of that one exceeds its own. For
/// other rounds the phases of the steps count as they are. Empty without counted steps.
std::optional<Binding> binding(const RunInfo& info, const Journal& journal);
/// A part of the time that the others wait for.
struct Bottleneck {
  std::string
      part;  ///< "computing", "exchange", "data", "decoding samples", "the store" ...; empty: not known
  double share = 0;  ///< of the makespan
};

/// The longest of the parts, unless the disk with the data set is busy for all but a twentieth of the time:
/// then the store binds, in whatever part workers wait for it. A worker that has its samples waits in the
/// exchange for those that lack theirs. `storage_busy`: as in CacheSummary. Pre: there are parts.
Bottleneck bottleneck_among(const std::vector<Bottleneck>& parts, std::optional<double> storage_busy);
/// Whether that disk binds.
bool is_saturated(std::optional<double> storage_busy);

/// An object with the names of the members; null: none.
nlohmann::json to_json(const std::optional<Binding>& binding);

}  // namespace tandem::validation
