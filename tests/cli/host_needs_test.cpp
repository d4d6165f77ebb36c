// What the hosts of a job need on real machines.
#include "cli/machines/host_needs.hpp"

#include <gtest/gtest.h>

namespace tandem::cli {
namespace TANDEM_FILE {

/// A calibration measures between two ranks at least.
TEST(HostNeeds, CountRanksThatTheJobLacksOnTheHostOfItsLast) {
  platforms::Description platform;
  platform.file = "lab.xml";
  for (const char* name : {"a", "b"}) platform.hosts.emplace_back().name = name;
  Experiment experiment;
  experiment.sync.over = sync::Route::all_reduce;
  const auto ranks = [&](const std::vector<std::string>& workers, int least) {
    experiment.placement.workers = workers;
    std::vector<int> found;
    for (const auto& need : host_needs(experiment, platform, least)) found.push_back(need.ranks);
    return found;
  };
  EXPECT_EQ(ranks({"a"}, 0), (std::vector<int>{1}));
  EXPECT_EQ(ranks({"a"}, 2), (std::vector<int>{2}));
  EXPECT_EQ(ranks({"a", "a", "b"}, 2), (std::vector<int>{2, 1}));
  EXPECT_EQ(ranks({"a", "b", "b"}, 5), (std::vector<int>{1, 4}));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::cli
