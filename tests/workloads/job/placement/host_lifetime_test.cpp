// Lifetime models of machines by their host: a property of its own, the group of the host, the experiment.
#include "workloads/job/placement/host_lifetime.hpp"

#include <gtest/gtest.h>

#include <cstdint>

#include "policies/vocabulary/check.hpp"
#include "workloads/experiment/percent_text.hpp"

namespace tandem {
namespace TANDEM_FILE {

platforms::Host host_with(const std::map<std::string, std::string>& properties) {
  platforms::Host host;
  host.name = "host-1";
  host.properties = properties;
  return host;
}

Experiment::Transience transience_with(const std::string& groups) {
  Experiment::Transience transience;
  transience.lifetime = "fixed";
  transience.options = {{"by_host", groups}};
  return transience;
}

TEST(HostLifetime, IsThatOfTheHostThenOfItsGroup) {
  auto transience = transience_with("region=eu: weibull scale=2h shape=0.5; region=us: never");
  transience.limit = Seconds(60);
  const LifetimesOfHosts lifetimes(transience);
  const LifetimeModel weibull{"weibull", {{"limit", 60.0}, {"scale", 7200.0}, {"shape", 0.5}}};
  EXPECT_EQ(lifetimes.of(host_with({{"region", "eu"}})), weibull);
  EXPECT_EQ(lifetimes.of(host_with({{"tandem:region", "eu"}})), weibull);
  const LifetimeModel own{"exponential", {{"mean", 60.0}}};
  EXPECT_EQ(lifetimes.of(host_with({{"region", "eu"}, {"tandem:lifetime", "exponential mean=1min"}})), own);
}

TEST(HostLifetime, SaysWhichMachinesDepart) {
  const LifetimesOfHosts lifetimes(transience_with("region=eu: fixed time=5; region=us: never"));
  const auto eu = host_with({{"region", "eu"}}), us = host_with({{"region", "us"}});
  EXPECT_TRUE(lifetimes.may_depart(eu, true));
  EXPECT_FALSE(lifetimes.may_depart(us, true));
  EXPECT_FALSE(lifetimes.may_depart(eu, false)) << "no worker, and no lifetime of its own";
  EXPECT_FALSE(lifetimes.may_depart(host_with({{"region", "eu"}, {"tandem:lifetime", "never"}}), true));
  EXPECT_TRUE(
      lifetimes.may_depart(host_with({{"region", "us"}, {"tandem:lifetime", "fixed time=5"}}), false));
  EXPECT_TRUE(LifetimesOfHosts(transience_with("")).may_depart(us, true));
}

/// As files of `tandem fit lifetimes` have them.
TEST(HostLifetime, GroupsHaveAnyValues) {
  for (const std::string value : {"US East", "a:b;c", "50% = %20", "", "tab\tand\nline", "Zürich"}) {
    const LifetimesOfHosts lifetimes(transience_with("region=other: never; region=" + percent_encoded(value) +
                                                     ": fixed time=5; region=last: never"));
    const LifetimeModel fixed{"fixed", {{"time", std::int64_t{5}}}};
    EXPECT_EQ(lifetimes.of(host_with({{"region", value}})), fixed) << value;
  }
  EXPECT_THROW(lifetime_groups_of("region=50%: never"), ConfigError);
  EXPECT_THROW(lifetime_groups_of("region=%4: never"), ConfigError);
  EXPECT_THROW(lifetime_groups_of("region=%-4: never"), ConfigError);
}

}  // namespace TANDEM_FILE
}  // namespace tandem
