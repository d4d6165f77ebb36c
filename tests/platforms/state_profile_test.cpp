// The state_file profiles of platform files as lifetimes of machines.
#include "platforms/state_profile.hpp"

#include <gtest/gtest.h>

#include <map>

#include "platforms/load.hpp"
#include "platforms/unsupported.hpp"
#include "policies/vocabulary/check.hpp"
#include "tests/platforms/platform_text.hpp"

namespace tandem::platforms {
namespace TANDEM_FILE {

using Lifetimes = std::map<std::string, std::string>;

std::string hosts_xml(const std::string& of_a, const std::string& more = "") {
  return zone_xml("Full", "<host id=\"a\" speed=\"1Gf\" " + of_a +
                              "/>\n<host id='b' speed='1Gf'/>\n<host id='c' "
                              "speed='1Gf'><prop id='tandem:lifetime' value='never'/></host>\n" +
                              more);
}

std::string error_of(const std::string& profile) {
  const TemporaryFile file(hosts_xml("state_file=\"a.states\""));
  file.add("a.states", profile);
  try {
    lifetimes_of_states(PlatformXml(file.path()));
  } catch (const ConfigError& error) {
    const std::string message = error.what();
    return message.substr(message.rfind('/') + 1);
  }
  return "no error";
}

TEST(StateProfiles, AreLifetimesOfTheirHosts) {
  const TemporaryFile file(hosts_xml("state_file='a.states'",
                                     "<trace id='t' periodicity='12'>2.5 0\n4 1\n9 0\n</trace>\n<trace "
                                     "id='up' periodicity='-1'>1 1\n</trace>\n"
                                     "<trace_connect trace='t' kind='HOST_AVAIL' element='c'/>\n"
                                     "<trace_connect trace='up' kind='HOST_AVAIL' element='b'/>\n"));
  file.add("a.states", "# down twice\nPERIODICITY 20\n3 0\n4 0\n\n5 1\n15 0\n");
  EXPECT_EQ(lifetimes_of_states(PlatformXml(file.path())),
            (Lifetimes{{"a", "states off=3,15 on=5 period=20"}, {"c", "states off=2.5,9 on=4 period=12"}}));
}

/// SimGrid counts PERIODICITY from the start, and LOOPAFTER from the last event.
TEST(StateProfiles, RepeatAsInSimGrid) {
  const TemporaryFile file(hosts_xml("state_file='a.states'"));
  file.add("a.states", "LOOPAFTER 7\n3 0\n5 1\n");
  EXPECT_EQ(lifetimes_of_states(PlatformXml(file.path())), (Lifetimes{{"a", "states off=3 on=5 period=12"}}));
  // Up already in the first period, not in the next ones.
  file.add("a.states", "3 1\n7 0\nLOOPAFTER 4\n");
  EXPECT_EQ(lifetimes_of_states(PlatformXml(file.path())), (Lifetimes{{"a", "states off=7 on=3 period=11"}}));
  file.add("a.states", "3 0\n5 1\nLOOPAFTER 0\n");
  EXPECT_EQ(lifetimes_of_states(PlatformXml(file.path())), (Lifetimes{{"a", "states off=3 on=5 period=5"}}));
}

TEST(StateProfiles, BadOnesNameTheirLine) {
  EXPECT_EQ(error_of("3 0\n2 1\n"),
            "a.states:2: expected a time from 3 on, because profiles are in order, found '2 1'");
  EXPECT_EQ(error_of("3 0\n-1 1\n"), "a.states:2: expected TIME 0 or TIME 1, found '-1 1'");
  EXPECT_EQ(error_of("soon 0\n"), "a.states:1: expected TIME 0 or TIME 1, found 'soon 0'");
  EXPECT_EQ(error_of("3\n"), "a.states:1: expected TIME 0 or TIME 1, found '3'");
  EXPECT_EQ(error_of("LOOPAFTER -1\n"),
            "a.states:1: expected a number of seconds of at least 0, found 'LOOPAFTER -1'");
  EXPECT_EQ(error_of("3 0\n"), "no error");
}

TEST(StateProfiles, AreInTheDescriptionUnlessTheHostHasALifetime) {
  const TemporaryFile file(hosts_xml("state_file='a.states'",
                                     "<trace id='t' periodicity='-1'>2.5 0\n</trace>\n<trace_connect "
                                     "trace='t' kind='HOST_AVAIL' element='c'/>\n"));
  file.add("a.states", "3 0\n");
  const Description description = load_platform(file.path());
  EXPECT_EQ(description.host("a").properties.at("tandem:lifetime"), "states off=3");
  EXPECT_FALSE(description.host("b").properties.contains("tandem:lifetime"));
  EXPECT_EQ(description.host("c").properties.at("tandem:lifetime"), "never");
}

/// Other profiles stay, wherever the copy lies.
TEST(StateProfiles, CanBeTakenOut) {
  const TemporaryFile file(hosts_xml("state_file='a.states' speed_file=\"a.speeds\"",
                                     "<link id='l' bandwidth='1GBps' latency='1us' state_file='l.states'/>\n"
                                     "<trace id='t' periodicity='-1'>2.5 0\n</trace>\n<trace_connect "
                                     "trace='t' kind='HOST_AVAIL' element='b'/>\n"));
  file.add("a.states", "3 0\n");
  file.add("a.speeds", "3 0.5\n");
  file.add("l.states", "3 0\n");
  EXPECT_EQ(find_unsupported(PlatformXml(file.path())).size(), 3U);
  const TemporaryFile copy("", "copy.xml");
  const std::string folder = copy.path().substr(0, copy.path().rfind('/'));
  copy.add("copy.xml", without_host_states(PlatformXml(file.path()), folder));
  EXPECT_TRUE(lifetimes_of_states(PlatformXml(copy.path())).empty());
  const auto left = find_unsupported(PlatformXml(copy.path()));
  ASSERT_EQ(left.size(), 1U);
  EXPECT_NE(left.front().message.find("link 'l': its profile turns it off"), std::string::npos)
      << left.front().message;
  EXPECT_EQ(load_platform(copy.path()).hosts.size(), 3U);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::platforms
