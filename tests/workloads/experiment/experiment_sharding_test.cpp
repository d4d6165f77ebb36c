// Keys of model sharding over servers: reading, defaults, dropped options, and errors.
#include <gtest/gtest.h>

#include "tests/workloads/experiment/experiment_text.hpp"

namespace tandem {
namespace TANDEM_FILE {

using testing::ExperimentFile;
using testing::minimal;

class ShardingKeys : public ExperimentFile {};

TEST_F(ShardingKeys, AreEvenByDefault) {
  const Experiment experiment = load(minimal);
  EXPECT_EQ(experiment.sync.sharding, "even");
  EXPECT_TRUE(experiment.sync.sharding_options.empty());
}

TEST_F(ShardingKeys, HaveTheirDefaultsFilledIn) {
  const Experiment experiment = load(minimal + "sync: {sharding: split}\n");
  EXPECT_EQ(experiment.sync.sharding_options.at("large"), OptionValue(std::int64_t{1'000'000}));
}

TEST_F(ShardingKeys, AnotherPolicyDropsTheOptions) {
  const std::string split = minimal + "sync: {sharding: split, sharding_options: {large: 7}}\n";
  EXPECT_EQ(load(split).sync.sharding_options.at("large"), OptionValue(std::int64_t{7}));
  EXPECT_TRUE(load(split, {{"sync.sharding", "balanced"}}).sync.sharding_options.empty());
}

TEST_F(ShardingKeys, RefuseUnknownPoliciesAndBadOptions) {
  EXPECT_EQ(error_of(minimal + "sync:\n  sharding: balancd\n"),
            "lab.yaml:4: key 'sync.sharding': expected a sharding policy (even | round-robin | balanced | "
            "split), found 'balancd'; did you mean 'balanced'?");
  EXPECT_EQ(error_of(minimal + "sync:\n  sharding: split\n  sharding_options:\n    large: 0\n"),
            "lab.yaml:6: key 'sync.sharding_options' of split: option 'large': expected integer >= 1, found "
            "'0'");
}

TEST_F(ShardingKeys, AcceptAKeywordForTheHostsOfServers) {
  const Experiment experiment = load(minimal + "placement: {servers: co-located}\n");
  EXPECT_EQ(experiment.placement.servers, std::vector<std::string>{"co-located"});
}

}  // namespace TANDEM_FILE
}  // namespace tandem
