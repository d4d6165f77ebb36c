// In zones where SimGrid computes shortest paths, its routes have as few links as Boost's shortest paths over
// the same random network.
#include <gtest/gtest.h>

#include <boost/graph/adjacency_list.hpp>
#include <boost/graph/dijkstra_shortest_paths.hpp>
#include <set>

#include "platforms/topology.hpp"
#include "policies/vocabulary/rng.hpp"
#include "tests/platforms/platform_text.hpp"

namespace tandem::platforms {
namespace TANDEM_FILE {

using Graph = boost::adjacency_list<boost::vecS, boost::vecS, boost::undirectedS, boost::no_property,
                                    boost::property<boost::edge_weight_t, int>>;

struct Network {
  Graph graph;
  std::string xml;
};

/// A random tree, so that all nodes are connected, plus some links; every third node is a router.
Network random_network(std::uint64_t seed, const std::string& routing) {
  Rng rng(seed);
  const std::size_t nodes = 4 + rng.below(8);
  std::set<std::pair<std::size_t, std::size_t>> edges;
  for (std::size_t i = 1; i < nodes; ++i) edges.insert({rng.below(i), i});
  for (std::size_t extra = rng.below(nodes); extra > 0; --extra) {
    const std::size_t a = rng.below(nodes);
    const std::size_t b = rng.below(nodes);
    if (a != b) edges.insert({std::min(a, b), std::max(a, b)});
  }
  Network network{Graph(nodes), {}};
  std::string hosts;
  std::string routers;
  std::string links;
  std::string routes;
  for (std::size_t i = 0; i < nodes; ++i)
    if (i % 3 == 2)
      routers += "<router id=\"x" + std::to_string(i) + "\"/>";
    else
      hosts += "<host id=\"x" + std::to_string(i) + "\" speed=\"1Gf\"/>";
  for (const auto& [a, b] : edges) {
    boost::add_edge(a, b, 1, network.graph);
    const std::string id = "l" + std::to_string(a) + "-" + std::to_string(b);
    links += "<link id=\"" + id + "\" bandwidth=\"1GBps\" latency=\"1us\" sharing_policy=\"SPLITDUPLEX\"/>";
    routes += "<route src=\"x" + std::to_string(a) + "\" dst=\"x" + std::to_string(b) + "\"><link_ctn id=\"" +
              id + "\" direction=\"UP\"/></route>";
  }
  network.xml = zone_xml(routing, hosts + routers + links + routes);
  return network;
}

class ShortestPath : public ::testing::TestWithParam<const char*> {};

TEST_P(ShortestPath, AgreesWithBoost) {
  for (std::uint64_t seed = 1; seed <= 12; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    const Network network = random_network(seed, GetParam());
    const auto topology = load_topology(TemporaryFile(network.xml).path());
    for (const auto& from : topology.hosts()) {
      std::vector<int> distance(boost::num_vertices(network.graph));
      boost::dijkstra_shortest_paths(network.graph, std::stoul(from.substr(1)),
                                     boost::distance_map(distance.data()));
      const auto fewest = topology.fewest_channels(from);
      for (std::size_t i = 0; i < topology.hosts().size(); ++i) {
        const auto& to = topology.hosts()[i];
        if (from == to) continue;
        const int expected = distance[std::stoul(to.substr(1))];
        EXPECT_EQ(topology.between(from, to)->channels.size(), static_cast<std::size_t>(expected))
            << from << to;
        EXPECT_EQ(fewest[i], expected) << from << " " << to;
        EXPECT_NEAR(topology.between(from, to)->latency.count(), expected * 1e-6, 1e-12);
      }
    }
  }
}

INSTANTIATE_TEST_SUITE_P(Routings, ShortestPath, ::testing::Values("Floyd", "Dijkstra", "DijkstraCache"),
                         [](const auto& instance) { return instance.param; });

}  // namespace TANDEM_FILE
}  // namespace tandem::platforms
