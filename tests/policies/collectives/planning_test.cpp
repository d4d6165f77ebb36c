// Cost of planning an all-reduce for one participant: proportional to its own messages, independent of the
// number of participants.
#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>

#include "policies/collectives/schedule.hpp"
#include "tests/support/allocations.hpp"
#include "tests/support/names.hpp"

namespace tandem::collectives {
namespace TANDEM_FILE {

constexpr std::int64_t elements = 1'000'000;
constexpr int few = 64;
constexpr int many = 1024;

/// Allocations and their bytes: a plan that visits all participants would keep a list of them.
struct Effort {
  double calls = 0;
  double bytes = 0;
};

/// The costs of the most expensive participant.
struct Costs {
  Effort effort;
  double operations = 0;  ///< rounds, and messages sent and received in them
};

Groups groups_of_eight(int participants) {
  return Groups(std::vector<int>(static_cast<std::size_t>(participants / 8), 8));
}

double operations_of(const Schedule& schedule) {
  double operations = static_cast<double>(schedule.rounds.size());
  for (const Round& round : schedule.rounds) operations += static_cast<double>(round.size());
  return operations;
}

template <class Plan>
Costs costs_of(int participants, const Plan& plan) {
  Costs costs;
  for (int self = 0; self < participants; ++self) {
    const long calls = testing::allocations();
    const long bytes = testing::allocated_bytes();
    const Schedule schedule = plan(self);
    costs.effort.calls = std::max(costs.effort.calls, static_cast<double>(testing::allocations() - calls));
    costs.effort.bytes =
        std::max(costs.effort.bytes, static_cast<double>(testing::allocated_bytes() - bytes));
    costs.operations = std::max(costs.operations, operations_of(schedule));
  }
  return costs;
}

void expect_in_proportion_to_operations(const Costs& at_few, const Costs& at_many) {
  const double more_operations = at_many.operations / at_few.operations;
  constexpr double slack = 1.5;  // containers grow in steps
  EXPECT_LE(at_many.effort.calls, slack * more_operations * at_few.effort.calls);
  EXPECT_LE(at_many.effort.bytes, slack * more_operations * at_few.effort.bytes);
}

class Planning : public ::testing::TestWithParam<std::string> {
 protected:
  MakeSchedule make() const { return catalog().find(GetParam()).make; }
};

TEST_P(Planning, OfOneParticipantCostsInProportionToItsMessages) {
  const auto costs = [this](int participants) {
    const Schedules schedules = make().schedules(groups_of_eight(participants));
    return costs_of(participants, [&](int self) { return schedules(self, elements); });
  };
  expect_in_proportion_to_operations(costs(few), costs(many));
}

TEST_P(Planning, CostsNoMoreInANetworkOrder) {
  const auto costs = [this](int participants) {
    Arrangement backwards;
    backwards.order.resize(static_cast<std::size_t>(participants));
    std::iota(backwards.order.rbegin(), backwards.order.rend(), 0);
    backwards.groups = groups_of_eight(participants).sizes();
    const Schedules schedules = arranged(make(), backwards);
    return costs_of(participants, [&](int self) { return schedules(self, elements); });
  };
  expect_in_proportion_to_operations(costs(few), costs(many));
}

TEST_P(Planning, MakesTheSameSchedulesForAllAndForOne) {
  for (const int participants : {1, 2, 3, 8, 13, 32}) {
    const Schedules schedules = make().schedules(participants);
    for (int self = 0; self < participants; ++self)
      EXPECT_EQ(schedules(self, 97).rounds, make()(self, participants, 97).rounds)
          << participants << " participants, " << self;
  }
}

/// A ring has two rounds per participant, so a table of all rounds would take most of the memory of a large
/// simulation.
TEST(RingPlan, TakesTheSameMemoryForAnyNumberOfParticipants) {
  const auto bytes = [](int participants) {
    const Schedules schedules = catalog().find("ring").make.schedules(participants);
    return costs_of(participants, [&](int self) { return schedules(self, elements); }).effort.bytes;
  };
  EXPECT_EQ(bytes(few), bytes(many));
}

TEST(Extent, CountsTheElementsThatAScheduleMoves) {
  using Kind = Transfer::Kind;
  const Schedule schedule{std::vector<Round>{{{Kind::send, 1, {0, 3}}, {Kind::receive_and_reduce, 2, {5, 7}}},
                                             {},
                                             {{Kind::receive_and_reduce, 2, {0, 1}},
                                              {Kind::receive_and_reduce, 3, {1, 4}},
                                              {Kind::receive, 4, {4, 9}}}}};
  const Extent extent = extent_of(schedule);
  EXPECT_EQ(extent.most_transfers, 3U);
  EXPECT_EQ(extent.messages, 1);
  EXPECT_EQ(extent.most_reduced, 4);
  EXPECT_EQ(extent.sent, 3);
  EXPECT_EQ(extent.received, 11);
}

INSTANTIATE_TEST_SUITE_P(EveryCollective, Planning, ::testing::ValuesIn(catalog().names()),
                         testing::catalog_name);

}  // namespace TANDEM_FILE
}  // namespace tandem::collectives
