// The conformance suite on the simulator.
#include "tests/conformance/conformance.hpp"

#include <gtest/gtest.h>

#include <string>
#include <vector>

#include "tests/sim/lab.hpp"

namespace tandem::sim {
namespace TANDEM_FILE {

using conformance::Scenario;

class Conformance : public ::testing::TestWithParam<Scenario> {};

std::function<void(SimulationSetting&)> setting_of(const Scenario& scenario) {
  return [&scenario](SimulationSetting& setting) { setting.stops_work = scenario.stops_work; };
}

SimulationResult run(const std::string& xml, const std::vector<std::string>& hosts, const Scenario& scenario,
                     const std::vector<Profile::Path>& network = {}) {
  return lab::run(xml, hosts, scenario.body, network, SimulationSetting{}.eager_limit, setting_of(scenario));
}

const char* const disk = "<disk id=\"d\" read_bw=\"100MBps\" write_bw=\"50MBps\"/>";

TEST_P(Conformance, OneHostPerRank) {
  const int ranks = GetParam().ranks;
  run(lab::star(ranks, "", disk), lab::hosts(ranks), GetParam());
}

using LongConformance = Conformance;

TEST_P(LongConformance, AllRanksOnOneHost) {
  const auto ranks = static_cast<std::size_t>(GetParam().ranks);
  run(lab::star(1, "", disk), std::vector<std::string>(ranks, "h0"), GetParam());
}

using LongConformanceOfMeasured = Conformance;

TEST_P(LongConformanceOfMeasured, Network) {
  const int ranks = GetParam().ranks;
  run(lab::star(ranks, "", disk), lab::hosts(ranks), GetParam(),
      lab::machine_network({{0, 20e-6, 1e-9}, {65536, 80e-6, 0.5e-9}}));
}

TEST_P(LongConformance, TransportThatBuffersMessages) {
  const int ranks = GetParam().ranks;
  auto network = lab::machine_network({{0, 20e-6, 1e-9}, {65536, 80e-6, 0.5e-9}});
  network[0].held_bytes = 4096;
  run(lab::star(ranks, "", disk), lab::hosts(ranks), GetParam(), network);
}

using ConformanceOnNarrowRoutes = Conformance;

/// Every second host has a link of a hundredth of the bandwidth, before which bytes wait.
TEST_P(ConformanceOnNarrowRoutes, RoutesThatBecomeNarrower) {
  const int ranks = GetParam().ranks;
  Profile::Path path = lab::machine_network({{0, 20e-6, 1e-9}}).front();
  path.links = 2;
  path.bandwidth = lab::bandwidth;
  path.held_bytes = 65536;
  Profile::Path within = lab::machine_network({{0, 20e-6, 1e-9}}).front();
  std::string xml = lab::star(ranks, "", disk);
  for (int i = 1; i < ranks; i += 2) {
    const std::string link = "<link id=\"l" + std::to_string(i) + "\" bandwidth=\"";
    xml.replace(xml.find(link), link.size() + 8, link + "12.5MBps");
  }
  run(xml, lab::hosts(ranks), GetParam(), {path, within});
}

std::string name_of_test(const ::testing::TestParamInfo<Scenario>& instance) { return instance.param.name; }
INSTANTIATE_TEST_SUITE_P(Simulated, Conformance, ::testing::ValuesIn(conformance::scenarios()), name_of_test);

INSTANTIATE_TEST_SUITE_P(Simulated, ConformanceOnNarrowRoutes,
                         ::testing::ValuesIn(conformance::scenarios_of_messages(true)), name_of_test);
INSTANTIATE_TEST_SUITE_P(LongSimulated, ConformanceOnNarrowRoutes,
                         ::testing::ValuesIn(conformance::scenarios_of_messages(false)), name_of_test);
INSTANTIATE_TEST_SUITE_P(LongSimulated, LongConformance, ::testing::ValuesIn(conformance::scenarios()),
                         name_of_test);
/// Others: of a measured network that buffers messages.
INSTANTIATE_TEST_SUITE_P(LongSimulated, LongConformanceOfMeasured,
                         ::testing::ValuesIn(conformance::scenarios_of_messages(true)), name_of_test);

}  // namespace TANDEM_FILE
}  // namespace tandem::sim
