// What a simulation cannot do of a platform file is found before SimGrid crashes on it.
#include "platforms/unsupported.hpp"

#include <gtest/gtest.h>

#include "platforms/describe.hpp"
#include "policies/vocabulary/check.hpp"
#include "tests/platforms/platform_text.hpp"

namespace tandem::platforms {
namespace TANDEM_FILE {

/// The error of a job with ranks on these hosts, without the path; empty when it can be simulated.
std::string refusal(const TemporaryFile& file, const std::vector<std::string>& hosts) {
  try {
    check_can_simulate(file.path(), hosts);
  } catch (const ConfigError& error) {
    const std::string message = error.what();
    EXPECT_EQ(message.rfind(file.path() + ':', 0), 0u) << message;
    return message.substr(file.path().size() + 1);
  }
  return {};
}

std::string shown(const TemporaryFile& file) { return describe(find_unsupported(PlatformXml(file.path()))); }

/// Hosts a and b, with further attributes of b and of the link between them.
std::string pair_xml(const std::string& of_b, const std::string& of_link = "") {
  return zone_xml("Full", "<host id=\"a\" speed=\"1Gf\"/>\n<host id=\"b\" speed=\"1Gf\" " + of_b +
                              "/>\n<link id=\"l\" bandwidth=\"1GBps\" latency=\"1us\" " + of_link +
                              "/>\n<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route>\n");
}

TEST(Unsupported, AWiFiZoneIsRefusedForItsHostsOnly) {
  const TemporaryFile file(platform_xml(
      "<zone id=\"world\" routing=\"Full\">\n"
      "<zone id=\"cell\" routing=\"Wifi\"><prop id=\"access_point\" value=\"ap\"/>\n"
      "<host id=\"s-1\" speed=\"1Gf\"/><host id=\"s-2\" speed=\"1Gf\"/><router id=\"ap\"/>\n"
      "<link id=\"air\" sharing_policy=\"WIFI\" bandwidth=\"54Mbps,36Mbps\" latency=\"0ms\"/></zone>\n"
      "<zone id=\"wired\" routing=\"Full\"><host id=\"n\" speed=\"1Gf\"/></zone></zone>\n"));
  const auto message = refusal(file, {"n", "s-2"});
  EXPECT_EQ(message.rfind("5: zone 'cell': expected a zone of wired links", 0), 0u) << message;
  EXPECT_NE(message.find("(s-1, s-2), found routing 'Wifi'"), std::string::npos) << message;
  EXPECT_EQ(refusal(file, {"n"}), "");
  EXPECT_NE(shown(file).find("refuses ranks on these hosts"), std::string::npos) << shown(file);
}

TEST(Unsupported, AWiFiLinkElsewhereIsRefused) {
  const auto message = refusal(TemporaryFile(pair_xml("", "sharing_policy=\"WIFI\"")), {"a"});
  EXPECT_NE(message.find("7: link 'l': expected sharing_policy SHARED"), std::string::npos) << message;
}

TEST(Unsupported, SettingsThatCannotBeSimulatedAreRefused) {
  for (const auto& [flag, value] :
       {std::pair{"network/model", "ns-3"}, {"host/model", "ptask_L07"}, {"surf/precision", "0"}}) {
    const TemporaryFile file(platform_xml("<config><prop id=\"" + std::string(flag) + "\" value=\"" + value +
                                          "\"/></config>\n<zone id=\"z\" routing=\"Full\"/>\n"));
    const auto message = refusal(file, {});
    EXPECT_NE(message.find("4: prop '" + std::string(flag) + "': expected "), std::string::npos) << message;
    EXPECT_NE(message.find("found '" + std::string(value) + "'"), std::string::npos) << message;
    EXPECT_NE(shown(file).find("refuses this file"), std::string::npos) << shown(file);
  }
  const TemporaryFile lv08(platform_xml("<config><prop id=\"network/model\" value=\"LV08\"/></config>\n"));
  EXPECT_EQ(refusal(lv08, {}), "");
}

TEST(Unsupported, AProfileThatReachesZeroIsRefused) {
  const TemporaryFile slow(pair_xml("speed_file=\"p\""));
  slow.add("p", "0 1.0\n7.5 0.0\n");
  EXPECT_EQ(refusal(slow, {"b"}),
            "6: host 'b': expected a profile with a speed above 0 at all times, found 0 at 7.5 s");
  EXPECT_EQ(refusal(slow, {"a"}), "");
  const TemporaryFile old(pair_xml("availability_file=\"p\""));
  old.add("p", "0 1.0\n7.5 0.0\n");
  EXPECT_NE(refusal(old, {"b"}).find("with a speed above 0"), std::string::npos);
  const TemporaryFile peer(
      zone_xml("Vivaldi",
               "<peer id=\"p\" speed=\"1Gf\" bw_in=\"1GBps\" bw_out=\"1GBps\" lat=\"1us\" "
               "coordinates=\"1 2 3\" speed_file=\"p\"/>"));
  peer.add("p", "1 0.0\n");
  EXPECT_EQ(refusal(peer, {"p"}),
            "5: peer 'p': expected a profile with a speed above 0 at all times, found 0 at 1 s");
  const TemporaryFile cut(pair_xml("", "bandwidth_file=\"p\""));
  cut.add("p", "PERIODICITY 20\n# cut\n3 0\n");
  EXPECT_EQ(refusal(cut, {"a"}),
            "7: link 'l': expected a profile with a bandwidth above 0 at all times, found 0 at 3 s");
}

TEST(Unsupported, AHostThatIsDownFromTheStartIsRefused) {
  const TemporaryFile file(pair_xml("state_file=\"p\""));
  file.add("p", "0 0\n5 1\n");
  EXPECT_EQ(
      refusal(file, {"b"}),
      "6: host 'b': expected a host that is up when the simulation starts, found one that is down at 0 s");
}

TEST(Unsupported, AHostThatGoesDownLaterIsNoted) {
  const TemporaryFile file(
      platform_xml("<zone id=\"z\" routing=\"Full\"><host id=\"b\" speed=\"1Gf\"/></zone>\n"
                   "<trace id=\"t\" periodicity=\"0\">\n2.5 0\n</trace>\n"
                   "<trace_connect trace=\"t\" kind=\"HOST_AVAIL\" element=\"b\"/>\n"));
  EXPECT_EQ(refusal(file, {"b"}), "");
  EXPECT_NE(shown(file).find(":8: trace_connect of host 'b': its profile turns it off at 2.5 s"),
            std::string::npos)
      << shown(file);
}

TEST(PlatformXml, CountsTheHostsOfClusters) {
  const auto hosts = [](const std::string& body) {
    return PlatformXml(TemporaryFile(platform_xml(body)).path()).host_count();
  };
  EXPECT_EQ(hosts("<zone id=\"z\" routing=\"Full\"><host id=\"a\"/><cluster id=\"c\" "
                  "radical=\"0-99,200,5-7\"/></zone>"),
            105);
  EXPECT_EQ(hosts("<cluster id=\"c\" radical=\"a-b\"/>"), 0);
}

}  // namespace TANDEM_FILE
}  // namespace tandem::platforms
