#include "workloads/job/plan/workers_of_generation.hpp"

#include <cstddef>
#include <string>
#include <utility>

#include "workloads/records/rank_sets.hpp"

namespace tandem {

Experiment with_workers_in(Experiment whole, const std::vector<int>& slots) {
  auto& placement = whole.placement;
  std::vector<std::string> hosts;
  for (const int slot : slots) hosts.push_back(placement.workers.at(static_cast<std::size_t>(slot)));
  placement.workers = std::move(hosts);
  if (placement.worker_count > 0) placement.worker_count = static_cast<int>(placement.workers.size());
  return whole;
}

Experiment whole_experiment(const Job& job) {
  Experiment experiment = job.spec().experiment;
  const Generation* const generation = job.generation();
  if (generation == nullptr || generation->hosts.empty()) return experiment;
  auto& placement = experiment.placement;
  placement.workers = generation->hosts;
  if (placement.worker_count > 0) placement.worker_count = static_cast<int>(placement.workers.size());
  return experiment;
}

std::vector<RankAssignment> absent_workers(const Job& job) {
  std::vector<RankAssignment> absent;
  const Generation* const generation = job.generation();
  if (generation == nullptr) return absent;
  const auto present = static_cast<int>(job.roster().workers().size());
  for (int index = present; index < static_cast<int>(generation->hosts.size()); ++index)
    absent.push_back({RankAssignment::Role::worker, index, std::string()});
  return absent;
}

void number_as_in_whole(Journal& journal, const std::vector<int>& slots, int all) {
  const auto present = static_cast<int>(slots.size());
  // Workers come first; the others are the same in every generation.
  const auto number = [&](Rank& rank) {
    if (rank >= present)
      rank += all - present;
    else if (rank >= 0)
      rank = slots[static_cast<std::size_t>(rank)];
  };
  const auto number_all = [&](auto& records) {
    for (auto& record : records) number(record.rank);
  };
  number_all(journal.steps);
  number_all(journal.decisions);
  number_all(journal.caches);
  number_all(journal.requests);
  number_all(journal.losses);
  number_all(journal.staleness);
  number_all(journal.operations);
  for (OperationRecord& operation : journal.operations) {
    // There, the peer is a disk.
    if (!operation.kind.starts_with("read") && !operation.kind.starts_with("write")) number(operation.peer);
    if (operation.kind.starts_with("all-reduce")) {
      auto members = ranks_of_text(operation.work);
      for (Rank& member : members) number(member);
      operation.work = text_of_ranks(members);
    }
  }
  for (MembershipRecord& change : journal.membership) number(change.slot);
}

}  // namespace tandem
