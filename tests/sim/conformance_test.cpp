// The simulated context does what every context must do.
#include "tests/conformance/conformance.hpp"

#include <gtest/gtest.h>

#include "sim/simulation.hpp"
#include "tests/sim/temporary_platform.hpp"

namespace tandem::sim {
namespace {

class SimConformance : public ::testing::TestWithParam<conformance::Scenario> {};

TEST_P(SimConformance, Holds) {
  const auto& scenario = GetParam();
  const testing::TemporaryPlatform platform(testing::TemporaryPlatform::star(scenario.ranks, 1e9, 1e-4));
  SimulationSetting setting;
  setting.platform_file = platform.path();
  for (int rank = 0; rank < scenario.ranks; ++rank) setting.hosts.push_back("host-" + std::to_string(rank));
  setting.price = [](Rank, const Work&) { return Seconds(0.01); };
  setting.body = scenario.body;
  EXPECT_NO_THROW(simulate(setting));
}

INSTANTIATE_TEST_SUITE_P(All, SimConformance, ::testing::ValuesIn(conformance::scenarios()),
                         [](const auto& scenario) { return std::string(scenario.param.name); });

}  // namespace
}  // namespace tandem::sim
