#include "workloads/job/plan/cache_policy.hpp"

#include <utility>

#include "policies/cache/bypass.hpp"
#include "policies/cache/shared.hpp"

namespace tandem {

double stated_benefit(const Options& options) {
  return options.values().contains("benefit") ? options.real("benefit") : 1.0;
}

std::int64_t probe_steps(const Options& options) {
  return options.values().contains("probe") ? options.integer("probe") : 0;
}

std::unique_ptr<cache::CachePolicy> make_cache_policy(const Chosen<cache::Factory>& chosen,
                                                      const Experiment::Data& data, std::uint64_t seed,
                                                      const cache::Manifest& manifest,
                                                      const CacheNodePlace& place) {
  std::vector<Bytes> tiers = {data.cache_capacity};
  if (data.disk_capacity > Bytes(0)) tiers.push_back(data.disk_capacity);
  auto policy = chosen->node({.tiers = std::move(tiers),
                              .node = place.node,
                              .nodes = place.nodes,
                              .jobs = place.jobs,
                              .manifest = manifest,
                              .plan = place.plan,
                              .seed = seed,
                              .options = chosen.options()});
  if (place.jobs > 1 && probe_steps(chosen.options()) > 0)
    policy = cache::with_bypass(std::move(policy), place.jobs);
  if (data.peers == Peers::directory && !chosen->follows_directory)
    return cache::share_by_directory(std::move(policy), place.node);
  if (data.peers != Peers::partition && data.peers != Peers::ring) return policy;
  const auto rule = data.peers == Peers::ring ? cache::Owners::Rule::ring : cache::Owners::Rule::in_turn;
  return cache::share(std::move(policy),
                      {.owners = {rule, place.nodes, seed}, .node = place.node, .copies = data.copies});
}

}  // namespace tandem
