// The conformance suite with the runtime's context on SimGrid's MPI.
#include "tests/conformance/conformance.hpp"

#include <gtest/gtest.h>

#include "sim/witness/witness.hpp"
#include "tests/sim/lab.hpp"

namespace tandem::witness {
namespace TANDEM_FILE {

using conformance::Scenario;
namespace lab = sim::lab;

class Conformance : public ::testing::TestWithParam<Scenario> {};

const char* const disk = "<disk id=\"d\" read_bw=\"100MBps\" write_bw=\"50MBps\"/>";

TEST_P(Conformance, OneHostPerRank) {
  if (GetParam().withdraws) GTEST_SKIP() << "not supported under SMPI";
  const int ranks = GetParam().ranks;
  lab::run_on(simulate, lab::star(ranks, "", disk), lab::hosts(ranks), GetParam().body);
}

using LongConformance = Conformance;

TEST_P(LongConformance, AllRanksOnOneHost) {
  if (GetParam().withdraws) GTEST_SKIP() << "not supported under SMPI";
  const auto ranks = static_cast<std::size_t>(GetParam().ranks);
  lab::run_on(simulate, lab::star(1, "", disk), std::vector<std::string>(ranks, "h0"), GetParam().body);
}

/// The context is that of real runs, so a few of the scenarios show that it works on SMPI: those of several
/// ranks.
std::vector<Scenario> scenarios(bool of_several_ranks) {
  std::vector<Scenario> some;
  for (const Scenario& scenario : conformance::scenarios())
    if ((scenario.ranks > 2 && !scenario.withdraws) == of_several_ranks) some.push_back(scenario);
  return some;
}
std::string name_of_test(const ::testing::TestParamInfo<Scenario>& instance) { return instance.param.name; }
INSTANTIATE_TEST_SUITE_P(Smpi, Conformance, ::testing::ValuesIn(scenarios(true)), name_of_test);
INSTANTIATE_TEST_SUITE_P(LongSmpi, Conformance, ::testing::ValuesIn(scenarios(false)), name_of_test);
INSTANTIATE_TEST_SUITE_P(LongSmpi, LongConformance, ::testing::ValuesIn(conformance::scenarios()),
                         name_of_test);

}  // namespace TANDEM_FILE
}  // namespace tandem::witness
