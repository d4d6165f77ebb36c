// Any problem in a platform file raises a ConfigError that names the file and the problem.
#include <gtest/gtest.h>

#include "platforms/load.hpp"
#include "platforms/simgrid_version.hpp"
#include "platforms/topology.hpp"
#include "policies/vocabulary/check.hpp"
#include "tests/platforms/platform_text.hpp"
#include "tests/support/paths.hpp"

namespace tandem::platforms {
namespace TANDEM_FILE {

template <class Action>
std::string error_of(const Action& action) {
  try {
    action();
  } catch (const ConfigError& error) {
    return error.what();
  }
  return "no error";
}

struct Bad {
  const char* name;
  std::string content;
  const char* said;  ///< part of the message
};
void PrintTo(const Bad& bad, std::ostream* out) { *out << bad.name; }

class BadFile : public ::testing::TestWithParam<Bad> {};

TEST_P(BadFile, NamesFileAndFault) {
  const TemporaryFile file(GetParam().content);
  for (const auto& message :
       {error_of([&] { load_platform(file.path()); }), error_of([&] { load_topology(file.path()); })}) {
    EXPECT_EQ(message.rfind(file.path(), 0), 0u) << message;
    EXPECT_NE(message.find(GetParam().said), std::string::npos) << message;
    for (const char* noise : {"acktrace", "  ->", "[root/", "Existing config keys", "libsimgrid"})
      EXPECT_EQ(message.find(noise), std::string::npos) << message;
  }
}

std::string host_with(const std::string& inside) {
  return zone_xml("Full", "<host id=\"node-1\" speed=\"1Gf\">" + inside + "</host>");
}

INSTANTIATE_TEST_SUITE_P(
    Files, BadFile,
    ::testing::Values(
        Bad{"empty", "", "expected"}, Bad{"text", "not XML at all\n", "expected"},
        Bad{"cut_off", zone_xml("Full", "<host id=\"a\" speed=\"1Gf\"/>").substr(0, 160),
            "expected well-formed XML"},
        Bad{"another_root", "<?xml version=\"1.0\"?>\n<html/>\n", "found <html>"},
        Bad{"no_hosts", zone_xml("Full", ""), "expected at least one host"},
        Bad{"radical_too_small", cluster_xml(4, "topology=\"TORUS\" topo_parameters=\"3,3\""), "radical"},
        Bad{"radical_too_large_tree",
            cluster_xml(10, "topology=\"FAT_TREE\" topo_parameters=\"2;4,4;1,2;1,2\""), "radical"},
        Bad{"bad_unit", zone_xml("Full", "<host id=\"a\" speed=\"1XX\"/>"), "unknown unit: XX"},
        Bad{"bad_attribute", zone_xml("Full", "<host id=\"a\" sped=\"1Gf\"/>"), "sped"},
        Bad{"bad_routing", zone_xml("Nonsense", "<host id=\"a\" speed=\"1Gf\"/>"), "Not a valid model"},
        Bad{"twice", zone_xml("Full", "<host id=\"a\" speed=\"1Gf\"/><host id=\"a\" speed=\"1Gf\"/>"),
            "second host named 'a'"},
        Bad{"unknown_link",
            zone_xml("Full",
                     "<host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/>"
                     "<route src=\"a\" dst=\"b\"><link_ctn id=\"nowhere\"/></route>"),
            "nowhere"},
        Bad{"missing_profile", zone_xml("Full", "<host id=\"a\" speed=\"1Gf\" state_file=\"gone.state\"/>"),
            "gone.state"},
        Bad{"too_old",
            "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM "
            "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"3\"><AS id=\"a\" "
            "routing=\"Full\"/></platform>\n",
            ":3: platform: version: expected 4 or 4.1, found '3': the file is too old for SimGrid 3.13 and "
            "later; the command `simgrid_update_xml FILE`"},
        Bad{"too_new",
            "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM "
            "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"5\"><zone id=\"a\" "
            "routing=\"Full\"/></platform>\n",
            ":3: platform: version: expected 4 or 4.1, found '5': the file was written for a newer SimGrid"},
        Bad{"without_version",
            "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM "
            "\"https://simgrid.org/simgrid.dtd\">\n<platform><zone id=\"a\" routing=\"Full\"/></platform>\n",
            ":3: platform: version: expected 4 or 4.1 (<platform version=\"4.1\">), found none: SimGrid "
            "takes"},
        Bad{"unknown_setting",
            platform_xml("<config><prop id=\"network/nodel\" value=\"CM02\"/></config>"
                         "<zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/></zone>"),
            "network/nodel"},
        Bad{"unknown_setting_before_others",
            platform_xml("<config>\n<prop id=\"network/TCP_gamma\" value=\"4194304\"/>\n"
                         "<prop id=\"maxmin/precision\" value=\"1e-9\"/></config>"
                         "<zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/></zone>"),
            ":5: prop 'network/TCP_gamma': "},
        Bad{"unknown_device", host_with("<prop id=\"device\" value=\"v101\"/>"),
            "host 'node-1': unknown device 'v101'; did you mean 'v100'?"},
        Bad{"bad_memory_rate", host_with("<prop id=\"tandem:memory_rate\" value=\"0\"/>"),
            "host 'node-1': property 'tandem:memory_rate': expected a rate > 0 (like 1.2GBps or 10Gbps; "},
        Bad{"infinite_memory_rate", host_with("<prop id=\"tandem:memory_rate\" value=\"inf\"/>"),
            "Tbps), found 'inf'"},
        Bad{"bad_launch", host_with("<prop id=\"tandem:launch\" value=\"5MB\"/>"),
            ":5: host 'node-1': property 'tandem:launch': expected a time >= 0 (like 20us; ns us ms s min h "
            "d), "
            "found '5MB'"},
        Bad{"bad_gpu", host_with("<prop id=\"tandem:gpu\" value=\"-1\"/>"),
            "host 'node-1': property 'tandem:gpu': expected the number of a GPU, 0 or more, found '-1'"}),
    [](const auto& instance) { return instance.param.name; });

TEST(BadFile, Missing) {
  EXPECT_EQ(error_of([] { load_platform("/nowhere/lab.xml"); }),
            "/nowhere/lab.xml: expected a SimGrid platform file, found no such file");
}

TEST(BadFile, Directory) {
  EXPECT_NE(
      error_of([] { load_platform(testing::source_folder() + "/platforms"); }).find("found a directory"),
      std::string::npos);
}

TEST(BadFile, MillionsOfHostsAreRefusedBeforeTheyAreBuilt) {
  const TemporaryFile file(cluster_xml(2'000'000));
  EXPECT_EQ(error_of([&] { load_platform(file.path()); }),
            file.path() + ":4: cluster 'c': expected at most 1000000 hosts in a platform, found 2000000");
}

TEST(BadFile, WhatAClusterDeclaresHasItsPlace) {
  const TemporaryFile file(
      platform_xml("<cluster id=\"c\" prefix=\"n-\" suffix=\"\" radical=\"0-2\" speed=\"1Gf\" "
                   "bw=\"1GBps\" lat=\"nan\"/>\n"));
  const auto message = error_of([&] { load_platform(file.path()); });
  EXPECT_EQ(
      message.rfind(
          file.path() + ":4: cluster 'c': link 'c_link_0': expected a latency (s) from 0 to 1000000, found ",
          0),
      0u)
      << message;
}

TEST(BadFile, NamesInAnotherEncodingThanUtf8) {
  const TemporaryFile file(
      "<?xml version=\"1.0\" encoding=\"ISO-8859-1\"?>\n<!DOCTYPE platform SYSTEM "
      "\"https://simgrid.org/simgrid.dtd\">\n<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">"
      "<host id=\"caf\xe9\" speed=\"1Gf\"/></zone></platform>\n");
  EXPECT_EQ(error_of([&] { load_platform(file.path()); }),
            file.path() + ": expected names and properties in UTF-8, found other bytes");
}

/// SimGrid prints the name on one line; a regular expression on it would overflow the stack.
TEST(BadFile, NamesOfAnyLength) {
  const std::string name(300'000, 'x');
  const TemporaryFile file(
      "<?xml version=\"1.0\"?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n<platform "
      "version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/><link id=\"wire\" "
      "bandwidth=\"1GBps\" latency=\"1us\"/><route src=\"a\" dst=\"" +
      name + "\"><link_ctn id=\"wire\"/></route></zone></platform>\n");
  const std::string message = error_of([&] { load_platform(file.path()); });
  EXPECT_EQ(message.find(file.path() + ":3: "), 0U) << message.substr(0, 300);
  EXPECT_LT(message.size(), 3000U);
}

struct Placed {
  const char* name;
  std::string element;  ///< on line 5
  std::string message;  ///< after the place
};
void PrintTo(const Placed& placed, std::ostream* out) { *out << placed.name; }

class PlacedError : public ::testing::TestWithParam<Placed> {};

TEST_P(PlacedError, NamesLineElementExpectedAndFound) {
  const TemporaryFile file(zone_xml("Full", GetParam().element));
  const auto message = error_of([&] { load_platform(file.path()); });
  EXPECT_EQ(message.rfind(file.path() + ":5: " + GetParam().message, 0), 0u) << message;
}

INSTANTIATE_TEST_SUITE_P(
    Files, PlacedError,
    ::testing::Values(
        Placed{"nan_speed", "<host id=\"a\" speed=\"nan\"/>",
               "host 'a': expected a speed (flop/s) from 0.001 to 1e+30, found nan"},
        Placed{"nan_bandwidth",
               "<host id=\"a\" speed=\"1Gf\"/><link id=\"l\" bandwidth=\"nan\" latency=\"1us\"/>",
               "link 'l': expected a bandwidth (bytes/s) from 0.001 to 1e+30, found nan"},
        Placed{"endless_latency",
               "<host id=\"a\" speed=\"1Gf\"/><link id=\"l\" bandwidth=\"1GBps\" latency=\"1e308\"/>",
               "link 'l': expected a latency (s) from 0 to 1000000, found 1e+308"},
        Placed{"speed_unit", "<host id=\"a\" speed=\"4M\"/>",
               "host 'a': speed: expected a speed in f, kf, Mf, Gf, Tf or Pf (flop/s), found '4M'"},
        Placed{"latency_unit", "<link id=\"l\" bandwidth=\"1GBps\" latency=\"10k\"/>",
               "link 'l': latency: expected a time in ps, ns, us, ms, s, m (minutes), h or d, found '10k'"},
        Placed{
            "bandwidth_unit", "<link id=\"l\" bandwidth=\"4M\" latency=\"1us\"/>",
            "link 'l': bandwidth: expected a bandwidth in Bps, kBps, MBps, GBps or TBps (bytes/s), or bps"},
        Placed{"cores", "<host id=\"a\" speed=\"1Gf\" core=\"x\"/>",
               "host 'a': core: expected an integer, found 'x'"},
        Placed{"routing", "<zone id=\"inner\" routing=\"Ful\"/>",
               "zone 'inner': routing: expected Cluster | Dijkstra"},
        Placed{
            "unknown_link",
            "<host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/><link id=\"wire\" "
            "bandwidth=\"1GBps\" "
            "latency=\"1us\"/><route src=\"a\" dst=\"b\"><link_ctn id=\"wir\"/></route>",
            "link_ctn 'wir': expected the id of a <link> that is declared before, found 'wir'; did you mean "
            "'wire'?"}),
    [](const auto& instance) { return instance.param.name; });

TEST(BadFile, MalformedNamesTheLine) {
  const TemporaryFile file(
      "<?xml version=\"1.0\"?>\n<platform version=\"4.1\">\n  <zone id=\"z\"\n</platform>\n");
  const auto message = error_of([&] { load_platform(file.path()); });
  EXPECT_EQ(message.rfind(file.path() + ":4: ", 0), 0u) << message;
}

TEST(BadFiles, ATopologyOutsideAZoneLoadsOrIsExplained) {
  const TemporaryFile file(
      platform_xml("<cluster id=\"c\" prefix=\"n-\" radical=\"0-8\" suffix=\"\" speed=\"1Gf\" bw=\"1GBps\" "
                   "lat=\"1us\" topology=\"TORUS\" topo_parameters=\"3,3\"/>"));
  const std::string error = error_of([&] { load_platform(file.path()); });
  if (simgrid_version::has_outermost_topologies)
    EXPECT_EQ(error, "no error");
  else
    EXPECT_NE(error.find("4: cluster 'c': expected a cluster with a topology inside a <zone>"),
              std::string::npos)
        << error;
}

}  // namespace TANDEM_FILE
}  // namespace tandem::platforms
