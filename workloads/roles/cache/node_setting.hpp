// The settings of a cache node's parts, for the jobs that it serves, its own one first.
#pragma once

#include <span>

#include "workloads/job/plan/job.hpp"
#include "workloads/roles/cache/cache_service.hpp"
#include "workloads/roles/cache/node_jobs.hpp"
#include "workloads/roles/cache/sample_read.hpp"
#include "workloads/roles/cache/served_job.hpp"

namespace tandem {

/// `index`: of the node among the cache nodes.
ReadPlaces places_of(const Job& job, int index);
NodeJobs::Events job_events(const Job& job);
/// `may_depart`: whether the node may depart.
CacheService::Setting service_setting(std::span<const ServedJob> jobs, const ReadPlaces& places,
                                      bool may_depart);
/// An engine with the policy. Events of the policy are recorded as those of `rank`. `incarnation`: of the
/// node in its slot.
CacheEngine make_engine(std::span<const ServedJob> served, Rank rank, const ReadPlaces& places,
                        int incarnation);
/// Samples in the largest batch of the jobs.
int largest_own_batch(std::span<const ServedJob> jobs);

}  // namespace tandem
