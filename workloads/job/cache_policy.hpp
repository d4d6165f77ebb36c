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

/// With the owners of samples, where nodes share their caches by them. `seed`: of the experiment. What the
/// manifest views must outlive the policy.
std::unique_ptr<cache::CachePolicy> make_cache_policy(const Experiment::Data& data, std::uint64_t seed,
                                                      const cache::Manifest& manifest,
                                                      const CacheNodePlace& place);

}  // namespace tandem
