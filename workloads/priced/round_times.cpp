#include "workloads/priced/round_times.hpp"

#include <numeric>
#include <utility>

#include "workloads/job/placement/roster.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/job/plan/workers_of_generation.hpp"

namespace tandem::priced {

RoundTimes::RoundTimes(Experiment experiment, platforms::Description platform,
                       const platforms::Network& network, const platforms::Network& of_workers,
                       bool are_alike)
    : experiment_(std::move(experiment)),
      platform_(std::move(platform)),
      network_(network),
      of_workers_(of_workers),
      are_alike_(are_alike),
      counts_updates_(Roster(experiment_).steward().has_value()) {
  auto& placement = experiment_.placement;
  placement.workers.insert(placement.workers.end(), placement.spares.begin(), placement.spares.end());
  placement.spares.clear();
  // Departures, recovery and commits are no part of a round.
  experiment_.transience = {};
  experiment_.recovery = {};
  experiment_.checkpoint = {};
}

const Prediction& RoundTimes::with(const std::vector<int>& slots) {
  const std::vector<int> key = are_alike_ ? std::vector<int>{static_cast<int>(slots.size())} : slots;
  if (const auto known = known_.find(key); known != known_.end()) return known->second;
  std::vector<int> chosen = slots;
  if (are_alike_) std::iota(chosen.begin(), chosen.end(), 0);
  const Job job(with_workers_in(experiment_, chosen), platform_, "", of_workers_);
  return known_.emplace(key, predict(job, network_, counts_updates_)).first->second;
}

const Prediction& RoundTimes::with_first(std::size_t workers) {
  std::vector<int> slots(workers);
  std::iota(slots.begin(), slots.end(), 0);
  return with(slots);
}

}  // namespace tandem::priced
