#include "workloads/job/placement/job_ranks.hpp"

#include <algorithm>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

bool may_be_shared(RankAssignment::Role role) {
  return role == RankAssignment::Role::cache_node || role == RankAssignment::Role::store;
}

/// The sharing job that begins first; as many as there are jobs: none shares.
std::size_t first_to_share(std::span<const RankedJob> jobs) {
  std::size_t first = jobs.size();
  for (std::size_t job = 0; job < jobs.size(); ++job)
    if (jobs[job].shares && (first == jobs.size() || jobs[job].start < jobs[first].start)) first = job;
  return first;
}

std::vector<std::vector<Rank>> number_ranks(std::span<const RankedJob> jobs) {
  constexpr Rank none = -1;
  const std::size_t owner = first_to_share(jobs);
  std::vector<std::vector<Rank>> ranks(jobs.size());
  Rank next = 0;
  for (std::size_t job = 0; job < jobs.size(); ++job)
    for (const RankAssignment& assignment : jobs[job].roster->assignments()) {
      const bool is_of_owner = jobs[job].shares && job != owner && may_be_shared(assignment.role);
      ranks[job].push_back(is_of_owner ? none : next++);
    }
  for (std::size_t job = 0; job < jobs.size(); ++job)
    for (std::size_t rank = 0; rank < ranks[job].size(); ++rank) {
      if (ranks[job][rank] != none) continue;
      const RankAssignment& assignment = jobs[job].roster->assignments()[rank];
      const auto of_owner = jobs[owner].roster->ranks_of(assignment.role);
      const auto index = static_cast<std::size_t>(assignment.index);
      TANDEM_CHECK(index < of_owner.size(), "rank", index, "of", of_owner.size(), "in common");
      ranks[job][rank] = ranks[owner][static_cast<std::size_t>(of_owner[index])];
    }
  return ranks;
}

std::vector<Seconds> starts_of(std::span<const RankedJob> jobs) {
  std::vector<Seconds> starts;
  for (const RankedJob& job : jobs) starts.push_back(job.start);
  return starts;
}

}  // namespace

JobRanks::JobRanks(std::span<const RankedJob> jobs) : JobRanks(number_ranks(jobs), starts_of(jobs)) {}

JobRanks::JobRanks(std::vector<std::vector<Rank>> ranks_of_jobs, std::span<const Seconds> starts)
    : of_(std::move(ranks_of_jobs)) {
  TANDEM_CHECK(of_.size() == starts.size(), "jobs", of_.size(), "starts", starts.size());
  for (std::size_t job = 0; job < of_.size(); ++job)
    for (std::size_t rank = 0; rank < of_[job].size(); ++rank) {
      const auto among_all = static_cast<std::size_t>(of_[job][rank]);
      if (among_all >= places_.size()) places_.resize(among_all + 1);
      places_[among_all].push_back({job, static_cast<Rank>(rank)});
    }
  for (std::size_t rank = 0; rank < places_.size(); ++rank) {
    auto& places = places_[rank];
    TANDEM_CHECK(!places.empty(), "no job has rank", rank);
    const auto start_of = [&](const Place& place) { return starts[place.job]; };
    const auto first = std::ranges::min_element(places, {}, start_of);
    std::rotate(places.begin(), first, first + 1);
    if (places.size() == 1) continue;
    auto& addresses = of_shared_[static_cast<Rank>(rank)];
    for (const Place& place : places)
      addresses.insert(addresses.end(), of_[place.job].begin(), of_[place.job].end());
  }
}

std::vector<std::size_t> JobRanks::sharing_with(std::size_t job) const {
  std::vector<std::size_t> others;
  for (const Rank rank : of_[job])
    for (const Place& place : places(rank))
      if (place.job != job && std::ranges::find(others, place.job) == others.end())
        others.push_back(place.job);
  return others;
}

std::span<const Rank> JobRanks::addresses(Rank rank) const {
  const auto shared = of_shared_.find(rank);
  return shared == of_shared_.end() ? of_[own(rank).job] : shared->second;
}

Seconds JobRanks::end_alone(std::size_t job, std::span<const Seconds> ends) const {
  Seconds end{0};
  for (const Rank rank : of_[job])
    if (!is_shared(rank)) end = std::max(end, ends[static_cast<std::size_t>(rank)]);
  return end;
}

Seconds JobRanks::end(std::size_t job, std::span<const Seconds> ends) const {
  Seconds end = end_alone(job, ends);
  const auto ended_later = [&, own = end](std::size_t other) { return end_alone(other, ends) > own; };
  if (std::ranges::any_of(sharing_with(job), ended_later)) return end;
  for (const Rank rank : of_[job]) end = std::max(end, ends[static_cast<std::size_t>(rank)]);
  return end;
}

}  // namespace tandem
