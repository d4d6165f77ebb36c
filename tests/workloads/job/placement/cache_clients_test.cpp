// Which cache node serves which worker.
#include "workloads/job/placement/cache_clients.hpp"

#include <gtest/gtest.h>

namespace tandem {
namespace TANDEM_FILE {

using Workers = std::vector<std::vector<std::size_t>>;

Roster roster_of(std::vector<std::string> workers, std::vector<std::string> nodes) {
  Experiment experiment;
  experiment.sync.over = sync::Route::all_reduce;
  experiment.data.source = DataSource::storage;
  experiment.placement.workers = std::move(workers);
  experiment.placement.cache_nodes = std::move(nodes);
  return Roster(experiment);
}

TEST(CacheClients, HaveANodeOnTheirHostOrTakeTurns) {
  const Roster roster = roster_of({"a", "b", "c", "a", "d"}, {"a", "n", "b"});
  EXPECT_EQ(clients_of_nodes(roster), (Workers{{0, 3}, {4}, {1, 2}}));
  EXPECT_EQ(clients_of(roster, 2), (std::vector<std::size_t>{1, 2}));
  EXPECT_EQ(cache_node_of(roster, 4), 1U);
}

TEST(CacheClients, ShareTheNodesOfTheirHostEvenly) {
  const Roster roster = roster_of({"a", "b", "a", "a"}, {"a", "b", "a"});
  EXPECT_EQ(clients_of_nodes(roster), (Workers{{0, 3}, {1}, {2}}));
}

}  // namespace TANDEM_FILE
}  // namespace tandem
