// Simulated all-reduces against the closed-form price of their schedules, on networks where the price is
// exact.
#include <gtest/gtest.h>

#include <algorithm>
#include <fstream>
#include <iterator>
#include <numeric>
#include <ostream>
#include <string>
#include <tuple>
#include <vector>

#include "platforms/neighbours.hpp"
#include "policies/vocabulary/stream_text.hpp"
#include "tests/sim/lab.hpp"
#include "tests/support/paths.hpp"
#include "workloads/exchange/schedule_runner.hpp"
#include "workloads/job/plan/all_reduce_plan.hpp"

namespace tandem::sim {
namespace TANDEM_FILE {

constexpr std::int64_t elements = 960'000;
constexpr double reduction_s_per_byte = 1e-10;

SimulationResult simulate_reductions(const SimulationSetting& setting) {
  SimulationSetting priced = setting;
  priced.price = [](Rank, const Work& work) {
    return Seconds(static_cast<double>(work.bytes.count()) * reduction_s_per_byte);
  };
  return simulate(priced);
}

/// A message is not sent before its receiver is ready.
Seconds simulated(collectives::MakeSchedule make, int size) {
  const auto one_all_reduce = [&](Context& context) {
    std::vector<Rank> members(static_cast<std::size_t>(size));
    std::iota(members.begin(), members.end(), 0);
    const std::vector<Bytes> buckets{Bytes(4 * elements)};
    AllReduces all_reduces(context, make, members, buckets, Channel{.stream = 1});
    all_reduces.start(0, {buckets.front(), nullptr});
    all_reduces.finish();
  };
  return lab::run_on(simulate_reductions, lab::star(size), lab::hosts(size), one_all_reduce, {}, Bytes(0))
      .makespan;
}

class SimulatedAllReduce : public ::testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(SimulatedAllReduce, DurationEqualsItsPrice) {
  const auto& [name, size] = GetParam();
  const auto make = collectives::catalog().find(name).make;
  const Seconds priced = collectives::price(make, size, elements, Bytes(4),
                                            {Seconds(lab::alpha), 1 / lab::bandwidth, reduction_s_per_byte});
  // A message that follows another of its connection has a latency of 10 ns left instead of none.
  const double tolerance = name == "pipelined-ring" ? 1e-4 : 1e-6;
  EXPECT_NEAR(simulated(make, size).count(), priced.count(), tolerance * priced.count());
}

/// The schedules of all workers, executed on their hosts.
Seconds simulated(const AllReducePlan& plan, const std::string& xml, const std::vector<std::string>& hosts) {
  std::vector<Rank> members(hosts.size());
  std::iota(members.begin(), members.end(), 0);
  const std::vector<Bytes> buckets{Bytes(4 * elements)};
  const AllReduceGroup group(plan, members);
  const auto one_all_reduce = [&](Context& context) {
    AllReduces all_reduces(context, {group.schedule(0, context.rank(), elements)}, members, buckets,
                           Channel{.stream = 1});
    all_reduces.start(0, {buckets.front(), nullptr});
    all_reduces.finish();
  };
  return lab::run_on(simulate_reductions, xml, hosts, one_all_reduce, {}, Bytes(0)).makespan;
}

class SimulatedHierarchy : public ::testing::TestWithParam<std::vector<int>> {};

TEST_P(SimulatedHierarchy, DurationEqualsItsPrice) {
  const collectives::Groups groups(GetParam());
  AllReducePlan plan{.workers = {.order = {}, .groups = groups.sizes()}, .collectives = {"hierarchical"}};
  for (int worker = 0; worker < groups.participants(); ++worker) plan.workers.order.push_back(worker);
  const Seconds priced =
      collectives::price(collectives::catalog().find("hierarchical").make, groups, elements, Bytes(4),
                         {Seconds(lab::alpha), 1 / lab::bandwidth, reduction_s_per_byte});
  const int size = groups.participants();
  EXPECT_NEAR(simulated(plan, lab::star(size), lab::hosts(size)).count(), priced.count(),
              1e-6 * priced.count());
}

INSTANTIATE_TEST_SUITE_P(Groups, SimulatedHierarchy,
                         ::testing::Values(std::vector<int>{4, 4}, std::vector<int>{2, 2, 2, 2},
                                           std::vector<int>{3, 2}, std::vector<int>{5, 4},
                                           std::vector<int>{4, 1}, std::vector<int>{7, 3, 5},
                                           std::vector<int>{1, 1, 1}));

/// Workers in two racks whose uplink is as fast as a worker's link, in the order in which an experiment lists
/// them.
struct Listing {
  std::string name;
  std::string order;  ///< sync.order
  std::vector<std::string> hosts;
  double flows;  ///< that share an uplink
};
void PrintTo(const Listing& listing, std::ostream* out) { *out << listing.name; }

const std::vector<std::string> rack_by_rack = {"node-1-1", "node-1-2", "node-1-3",
                                               "node-2-1", "node-2-2", "node-2-3"};
const std::vector<std::string> in_turn = {"node-1-1", "node-2-1", "node-1-2",
                                          "node-2-2", "node-1-3", "node-2-3"};

/// An all-reduce of these workers: its price and its simulated duration.
struct Outcome {
  double priced;
  double took;
};
Outcome on_two_racks(const std::string& collective, bool by_rank, const std::vector<std::string>& hosts) {
  const std::string file = testing::source_folder() + "/platforms/two_racks.xml";
  const AllReduceSetting setting{.collective = collective,
                                 .by_rank = by_rank,
                                 .hosts = hosts,
                                 .bucket_elements = {elements},
                                 .reduce = [](int, Bytes size) {
                                   return Seconds(static_cast<double>(size.count()) * reduction_s_per_byte);
                                 }};
  const auto network = platforms::load_network(file, hosts);
  const auto [plan, time] = plan_and_price(setting, network);
  std::ifstream xml(file);
  const std::string text = rest_of(xml);
  return {time.count(), simulated(plan, text, hosts).count()};
}

class RingOnTwoRacks : public ::testing::TestWithParam<Listing> {};

TEST_P(RingOnTwoRacks, DurationIsThatOfItsMostLoadedUplink) {
  const auto outcome = on_two_racks("ring", GetParam().order == "rank", GetParam().hosts);
  constexpr double uplink = 12.5e6;
  constexpr double latency = 4 * 50e-6;
  const double part = 4 * elements / 6.0;
  const double expected = 10 * (latency + GetParam().flows * part / uplink) + 5 * part * reduction_s_per_byte;
  EXPECT_NEAR(outcome.priced, expected, 1e-9 * expected);
  EXPECT_NEAR(outcome.took, expected, 1e-6 * expected);
}

INSTANTIATE_TEST_SUITE_P(Listings, RingOnTwoRacks,
                         ::testing::Values(Listing{"RackByRack", "rank", rack_by_rack, 1},
                                           Listing{"RackByRackAnyway", "topology", rack_by_rack, 1},
                                           Listing{"InTurnReordered", "topology", in_turn, 1},
                                           Listing{"InTurnByRank", "rank", in_turn, 3}),
                         [](const auto& instance) { return instance.param.name; });

/// Four hosts in a circle of full-duplex links, 1.25 GB/s and 5 us each.
std::string circle() {
  std::string body = "<zone id='z' routing='Floyd'>\n";
  for (int host = 0; host < 4; ++host) body += "<host id='h" + std::to_string(host) + "' speed='1Gf'/>\n";
  for (int host = 0; host < 4; ++host)
    body += "<link id='l" + std::to_string(host) +
            "' bandwidth='1.25GBps' latency='5us' sharing_policy='SPLITDUPLEX'/>\n";
  for (int host = 0; host < 4; ++host) {
    const std::string n = std::to_string(host);
    body += "<route src='h" + n + "' dst='h" + std::to_string((host + 1) % 4) + "'><link_ctn id='l" + n +
            "' direction='UP'/></route>\n";
  }
  return lab::platform(body + "</zone>\n");
}

/// Sixteen hosts in a torus, each with four neighbours.
std::string torus() {
  return lab::platform(
      "<cluster id='t' prefix='h' suffix='' radical='0-15' speed='1Gf' bw='1.25GBps' lat='5us' "
      "topology='TORUS' topo_parameters='4,4' sharing_policy='SPLITDUPLEX'/>\n");
}

struct Rings {
  int planned;
  double priced;
  double took;
};
/// A process can simulate once.
Rings rings_on(const std::string& xml, int hosts, int rings) {
  const lab::TemporaryFile file("platform.xml", xml);
  const AllReduceSetting setting{
      .collective = "ring",
      .hosts = lab::hosts(hosts),
      .bucket_elements = {elements},
      .reduce = [](int,
                   Bytes size) { return Seconds(static_cast<double>(size.count()) * reduction_s_per_byte); },
      .rings = rings};
  const auto network = platforms::load_network(file.path(), setting.hosts);
  const auto [plan, time] = plan_and_price(setting, network);
  return {plan.rings(), time.count(), simulated(plan, xml, setting.hosts).count()};
}

/// A ring uses one direction of each link, a second ring the other one. Reductions take as long as in one.
double expected_on_circle(double rings) {
  const double part = 4 * elements / 4.0;
  return 6 * (lab::link_latency + part / rings / lab::bandwidth) + 3 * part * reduction_s_per_byte;
}

TEST(RingsOverDisjointLinks, OneOnACircleUsesOneDirection) {
  const Rings one = rings_on(circle(), 4, 1);
  EXPECT_NEAR(one.took, expected_on_circle(1), 1e-6 * one.took);
}

TEST(RingsOverDisjointLinks, TwoOnACircleTakeHalfTheTimeOfTransfers) {
  const Rings found = rings_on(circle(), 4, 0);
  EXPECT_EQ(found.planned, 2);
  EXPECT_NEAR(found.took, expected_on_circle(2), 1e-6 * found.took);
  EXPECT_NEAR(found.priced, found.took, 1e-6 * found.took);
}

TEST(RingsOverDisjointLinks, OfATorusUseTheLinksOfAllFourNeighbours) {
  const double part = 4 * elements / 16.0;
  const Rings found = rings_on(torus(), 16, 0);
  EXPECT_EQ(found.planned, 4);
  EXPECT_NEAR(found.priced, found.took, 1e-2 * found.took);
  EXPECT_NEAR(found.took,
              30 * (lab::link_latency + part / 4 / lab::bandwidth) + 15 * part * reduction_s_per_byte,
              1e-2 * found.took);
}

TEST(RingsOverDisjointLinks, OfAStarAreOneRing) { EXPECT_EQ(rings_on(lab::star(6), 6, 0).planned, 1); }

class CollectiveOnTwoRacks : public ::testing::TestWithParam<std::tuple<std::string, int>> {};

/// A price accounts for messages of the same round that share a link. With five workers, messages of
/// different rounds share links too, because some workers are idle in a round in which others fold.
TEST_P(CollectiveOnTwoRacks, DurationIsCloseToItsPriceIfWorkersRunInLockstep) {
  const auto& [name, workers] = GetParam();
  const auto outcome = on_two_racks(name, false, {in_turn.begin(), in_turn.begin() + workers});
  const double tolerance = workers == 5 ? 0.25 : 0.025;
  EXPECT_NEAR(outcome.priced, outcome.took, tolerance * outcome.took);
}

std::string name_and_size(const ::testing::TestParamInfo<std::tuple<std::string, int>>& instance) {
  std::string name = std::get<0>(instance.param);
  std::replace(name.begin(), name.end(), '-', '_');
  return name + "_" + std::to_string(std::get<1>(instance.param));
}

INSTANTIATE_TEST_SUITE_P(Catalogue, SimulatedAllReduce,
                         ::testing::Combine(::testing::ValuesIn(collectives::catalog().names()),
                                            ::testing::Values(8, 13)),
                         name_and_size);
INSTANTIATE_TEST_SUITE_P(LongCatalogue, SimulatedAllReduce,
                         ::testing::Combine(::testing::ValuesIn(collectives::catalog().names()),
                                            ::testing::Values(2, 7, 12)),
                         name_and_size);

INSTANTIATE_TEST_SUITE_P(Catalogue, CollectiveOnTwoRacks,
                         ::testing::Combine(::testing::ValuesIn(collectives::catalog().names()),
                                            ::testing::Values(6)),
                         name_and_size);
INSTANTIATE_TEST_SUITE_P(LongCatalogue, CollectiveOnTwoRacks,
                         ::testing::Combine(::testing::ValuesIn(collectives::catalog().names()),
                                            ::testing::Values(4, 5)),
                         name_and_size);

}  // namespace TANDEM_FILE
}  // namespace tandem::sim
