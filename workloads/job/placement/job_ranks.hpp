// The ranks of several jobs in one simulation or one launch. Jobs with data.shared have their cache nodes and
// stores in common: each of these is one rank, which belongs to the job that begins first and serves all of
// them. The other ranks follow each other, job by job.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <vector>

#include "workloads/job/placement/roster.hpp"

namespace tandem {

struct RankedJob {
  const Roster* roster = nullptr;
  Seconds start{0};     ///< when it begins
  bool shares = false;  ///< it shares its cache nodes and stores with the other jobs that share
};

class JobRanks {
 public:
  /// Pre: jobs that share have equally many cache nodes and equally many stores.
  explicit JobRanks(std::span<const RankedJob> jobs);
  /// The same, from the results of `of` for each job.
  JobRanks(std::vector<std::vector<Rank>> ranks_of_jobs, std::span<const Seconds> starts);

  int size() const { return static_cast<int>(places_.size()); }
  std::size_t jobs() const { return of_.size(); }
  /// By rank of the job: the rank among those of all jobs.
  const std::vector<Rank>& of(std::size_t job) const { return of_[job]; }

  struct Place {
    std::size_t job = 0;
    Rank rank = 0;  ///< of the job
    bool operator==(const Place&) const = default;
  };
  /// The places of the rank in each of the jobs that it serves; first in the job to which it belongs.
  std::span<const Place> places(Rank rank) const { return places_[static_cast<std::size_t>(rank)]; }
  /// The place in the job to which it belongs.
  const Place& own(Rank rank) const { return places(rank).front(); }
  /// The rank serves several jobs.
  bool is_shared(Rank rank) const { return places(rank).size() > 1; }
  /// Some jobs have ranks in common.
  bool any_shared() const { return !of_shared_.empty(); }
  /// The other jobs that have ranks in common with this one, in the order of Place.
  std::vector<std::size_t> sharing_with(std::size_t job) const;

  /// To which ranks a rank may send: those of its own job, by their numbers there; then those of each other
  /// job that it serves.
  std::span<const Rank> addresses(Rank rank) const;

  /// The end of the job, if each rank has ended at `ends`. Shared ranks end with the last of their jobs, and
  /// count for that job.
  Seconds end(std::size_t job, std::span<const Seconds> ends) const;

 private:
  Seconds end_alone(std::size_t job, std::span<const Seconds> ends) const;

  std::vector<std::vector<Rank>> of_;            ///< by job
  std::vector<std::vector<Place>> places_;       ///< by rank
  std::map<Rank, std::vector<Rank>> of_shared_;  ///< the addresses of shared ranks
};

}  // namespace tandem
