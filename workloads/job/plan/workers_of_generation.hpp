// If a job starts again with fewer workers: which workers a generation has, and the numbers that its ranks
// have in the whole job. The workers of a generation are numbered without gaps. In results each has the
// number of its slot.
#pragma once

#include <vector>

#include "workloads/job/placement/roster.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/records/records.hpp"

namespace tandem {

/// The experiment of a generation that has the workers of these slots alone.
Experiment with_workers_in(Experiment whole, const std::vector<int>& slots);
/// The experiment of the job with all of its workers; `job` may be a generation with fewer.
Experiment whole_experiment(const Job& job);

/// The workers that earlier generations of the job may have had and this one does not, with the numbers in
/// the names of their files.
std::vector<RankAssignment> absent_workers(const Job& job);

/// Gives the ranks of a generation the numbers that they have in the whole job, also in texts with sets of
/// ranks. `all`: workers of the whole job.
void number_as_in_whole(Journal& journal, const std::vector<int>& slots, int all);

}  // namespace tandem
