// The conformance suite with the runtime's context on SimGrid's MPI.
#include "tests/conformance/conformance.hpp"

#include <gtest/gtest.h>

#include "sim/witness/witness.hpp"
#include "tests/sim/lab.hpp"

namespace tandem::witness {
namespace {

using conformance::Scenario;
namespace lab = sim::lab;

class Conformance : public ::testing::TestWithParam<Scenario> {};

const char* const disk = "<disk id=\"d\" read_bw=\"100MBps\" write_bw=\"50MBps\"/>";

TEST_P(Conformance, OneHostPerRank) {
  if (GetParam().withdraws) GTEST_SKIP() << "not supported under SMPI";
  const int ranks = GetParam().ranks;
  lab::run_on(simulate, lab::star(ranks, "", disk), lab::hosts(ranks), GetParam().body);
}

TEST_P(Conformance, AllRanksOnOneHost) {
  if (GetParam().withdraws) GTEST_SKIP() << "not supported under SMPI";
  const auto ranks = static_cast<std::size_t>(GetParam().ranks);
  lab::run_on(simulate, lab::star(1, "", disk), std::vector<std::string>(ranks, "h0"), GetParam().body);
}

INSTANTIATE_TEST_SUITE_P(Smpi, Conformance, ::testing::ValuesIn(conformance::scenarios()),
                         [](const auto& instance) { return std::string(instance.param.name); });

}  // namespace
}  // namespace tandem::witness
