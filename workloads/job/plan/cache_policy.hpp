// The policy of a cache node, as the experiment of a job asks for it.
#pragma once

#include <cstdint>
#include <memory>

#include "policies/cache/policy.hpp"
#include "workloads/experiment/experiment.hpp"

namespace tandem {

struct CacheNodePlace {
  int node = 0;  ///< among the cache nodes
  int nodes = 1;
  int jobs = 1;                       ///< that the nodes serve
  const cache::Plan* plan = nullptr;  ///< of the whole run, for policies that need it
};

/// Of the policy, with defaults for those that are not stated.
Options cache_options(const Experiment::Data& data);

/// What the cache saves a job, for policies that weigh jobs by it (JobChange::benefit): as it is stated; and
/// the steps in each phase of a BenefitProbe, if it is to be measured: 0: not.
double stated_benefit(const Experiment::Data& data);
std::int64_t probe_steps(const Experiment::Data& data);

/// With the owners of samples, where nodes share their caches by them. `seed`: of the experiment. What the
/// manifest views must outlive the policy.
std::unique_ptr<cache::CachePolicy> make_cache_policy(const Experiment::Data& data, std::uint64_t seed,
                                                      const cache::Manifest& manifest,
                                                      const CacheNodePlace& place);

}  // namespace tandem
