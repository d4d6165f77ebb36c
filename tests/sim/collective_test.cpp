// Simulated all-reduces against the closed-form price of their schedules, on a network where it is exact.
#include "workloads/roles/collective.hpp"

#include <gtest/gtest.h>

#include <algorithm>
#include <numeric>
#include <string>
#include <tuple>
#include <vector>

#include "tests/sim/lab.hpp"

namespace tandem::sim {
namespace {

constexpr std::int64_t elements = 960'000;
constexpr double reduction_s_per_byte = 1e-10;

SimulationResult simulate_reductions(const SimulationSetting& setting) {
  SimulationSetting priced = setting;
  priced.price = [](Rank, const Work& work) {
    return Seconds(static_cast<double>(work.bytes.count()) * reduction_s_per_byte);
  };
  return simulate(priced);
}

/// No message leaves before its receiver is ready.
Seconds simulated(collectives::MakeSchedule make, int size) {
  const auto one_all_reduce = [&](Context& context) {
    std::vector<Rank> members(static_cast<std::size_t>(size));
    std::iota(members.begin(), members.end(), 0);
    const std::vector<Bytes> buckets{Bytes(4 * elements)};
    AllReduces all_reduces(context, make, members, buckets, 1);
    all_reduces.start(0, {buckets.front(), nullptr});
    all_reduces.finish();
  };
  return lab::run_on(simulate_reductions, lab::star(size), lab::hosts(size), one_all_reduce, {}, Bytes(0))
      .makespan;
}

class SimulatedAllReduce : public ::testing::TestWithParam<std::tuple<std::string, int>> {};

TEST_P(SimulatedAllReduce, TakesWhatItsPriceSays) {
  const auto& [name, size] = GetParam();
  const auto make = collectives::catalog().find(name).make;
  const Seconds priced = collectives::price(make, size, elements, Bytes(4),
                                            {Seconds(lab::alpha), 1 / lab::bandwidth, reduction_s_per_byte});
  EXPECT_NEAR(simulated(make, size).count(), priced.count(), 1e-6 * priced.count());
}

std::string name_and_size(const ::testing::TestParamInfo<std::tuple<std::string, int>>& instance) {
  std::string name = std::get<0>(instance.param);
  std::replace(name.begin(), name.end(), '-', '_');
  return name + "_" + std::to_string(std::get<1>(instance.param));
}

INSTANTIATE_TEST_SUITE_P(Catalogue, SimulatedAllReduce,
                         ::testing::Combine(::testing::ValuesIn(collectives::catalog().names()),
                                            ::testing::Values(2, 7, 8, 12, 13)),
                         name_and_size);

}  // namespace
}  // namespace tandem::sim
