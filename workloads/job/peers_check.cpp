#include "workloads/job/peers_check.hpp"

#include <string>

#include "policies/cache/policy.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/experiment/overrides.hpp"

namespace tandem {

/// A policy that knows what all nodes keep chooses the node that it reads from; for another one, the owners
/// of samples are known, or a directory knows who has them.
void check_peers(const Experiment& experiment, const Locate& locate) {
  const auto& data = experiment.data;
  const cache::Needs needs = cache::catalog().find(data.cache).make.needs;
  const auto fail_at = [&](const std::string& path, const std::string& expected, const std::string& found) {
    const Origin origin = locate(path);
    fail(origin.place, origin.label, expected, found);
  };
  const std::string found = quote(to_text(data.peers));
  const bool asks_directory = data.peers == Peers::directory;
  const bool is_for_any = data.peers == Peers::partition || data.peers == Peers::ring || asks_directory;
  if (needs.peers && is_for_any)
    fail_at("data.peers", "plan, because cache policy " + data.cache + " chooses the node it reads from",
            found);
  // A policy that compares rates does without.
  if (needs.peers && !needs.rates && data.peers == Peers::none && experiment.placement.cache_nodes.size() > 1)
    fail_at("data.cache",
            "a policy that reads from no other cache node, because data.peers is none (with data.peers: plan "
            "they read from each other)",
            quote(data.cache));
  if (!needs.peers && data.peers == Peers::plan)
    fail_at("data.peers",
            "none, partition, ring or directory, because cache policy " + data.cache +
                " does not know what other cache nodes keep",
            found);
  cache::Needs more = needs;
  more.manifest = false;
  if (is_for_any && more != cache::Needs{})
    fail_at(
        "data.peers",
        "none, because cache policy " + data.cache + " needs more than requests: " + cache::describe(more),
        found);
  if (data.source == DataSource::memory && data.peers != Peers::none)
    fail_at("data.peers",
            "none, because workers have their samples in memory (data.source) and no cache nodes; use "
            "data.source: storage",
            found);
  if (data.copies > 0 && !is_for_any)
    fail_at("data.copies", "0, because data.peers is neither partition, ring nor directory",
            quote(data.copies));
  if (!experiment.placement.directory.empty() && !asks_directory)
    fail_at("placement.directory",
            "nothing, because data.peers is " + to_text(data.peers) + ", not directory",
            quote(experiment.placement.directory));
}

}  // namespace tandem
