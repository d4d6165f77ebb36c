// The policy of a cache node, by the experiment of a job.
#pragma once

#include <cstdint>
#include <memory>

#include "policies/cache/policy.hpp"
#include "workloads/experiment/experiment.hpp"
#include "workloads/experiment/resolved_experiment.hpp"

namespace tandem {

struct CacheNodePlace {
  int node = 0;  ///< among the cache nodes
  int nodes = 1;
  int jobs = 1;                       ///< jobs that the nodes serve
  const cache::Plan* plan = nullptr;  ///< of the whole run, for policies that need it
};

/// By the options of the policy: the benefit of the cache for a job, for policies that weigh jobs by it
/// (JobChange::benefit): the stated share. The next function: steps in each phase of a BenefitProbe, if it is
/// to be measured; 0: it is not.
double stated_benefit(const Options& options);
std::int64_t probe_steps(const Options& options);

/// The policy, with the owners of samples if nodes share their caches by them. `seed`: of the experiment.
/// The manifest's views must outlive the policy.
std::unique_ptr<cache::CachePolicy> make_cache_policy(const Chosen<cache::Factory>& chosen,
                                                      const Experiment::Data& data, std::uint64_t seed,
                                                      const cache::Manifest& manifest,
                                                      const CacheNodePlace& place);

}  // namespace tandem
