// The output of `tandem show`: all contents of the file, shortened for large platforms.
#include "platforms/describe.hpp"

#include <gtest/gtest.h>
#include <sys/resource.h>

#include <algorithm>

#include "platforms/load.hpp"
#include "platforms/name_ranges.hpp"
#include "tests/platforms/platform_text.hpp"
#include "tests/support/paths.hpp"

namespace tandem::platforms {
namespace TANDEM_FILE {

std::string described(const std::string& path) { return describe(load_platform(path), load_topology(path)); }

double processor_time_s(int whose) {
  rusage usage{};
  getrusage(whose, &usage);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return seconds(usage.ru_utime) + seconds(usage.ru_stime);
}

TEST(LongDescribe, AClusterOfAQuarterMillionHostsTakesSeconds) {
  // Like SimGrid's cluster_crossbar.xml: 4 s of processor time in a release build, of which SimGrid
  // needs 1.6; 35 s with names matched by regular expressions and with routes of all channels.
  const TemporaryFile file(cluster_xml(262'145));
  const auto used = [] { return processor_time_s(RUSAGE_SELF) + processor_time_s(RUSAGE_CHILDREN); };
  const double before_s = used();
  const auto [description, topology] = load_overview(file.path());
  const std::string text = describe(description, topology);
  EXPECT_LT(used() - before_s, 25.0);
  EXPECT_NE(text.find("262145 hosts"), std::string::npos) << text;
  EXPECT_NE(text.find("c_link_0..c_link_262144"), std::string::npos) << text;
}

TEST(Describe, MixedLab) {
  const auto text = described(testing::source_folder() + "/platforms/mixed_lab.xml");
  for (const char* part :
       {"7 hosts", "raspberry-pi-4", "7.2 Gflop/s", "disk (read 200 MB/s, write 150 MB/s)", "memory=16GiB",
        "7 links", "cable-node-5", "12.5 MB/s", "125 MB/s", "SPLITDUPLEX", "server -> node-5", "100 us",
        // The slow port of one host.
        "narrowest cut, one direction: 12.5 MB/s\n  link cable-node-5_",
        "slowest pair of hosts: server -> node-5, 12.5 MB/s, 100 us",
        // The two fast hosts and the slow one against the other four.
        "bisection, one direction: 262.5 MB/s"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Describe, DevicesHaveTheRateAndTheMemoryOfTheCatalogue) {
  const TemporaryFile file(
      zone_xml("Full",
               "<host id=\"a\" speed=\"1Gf\"><prop id=\"device\" value=\"a100\"/></host>"
               "<host id=\"b\" speed=\"2Gf\"><prop id=\"device\" value=\"t4\"/>"
               "<prop id=\"tandem:device_memory\" value=\"15GB\"/></host><host id=\"c\" speed=\"3Gf\"/>"));
  const auto text = described(file.path());
  for (const char* part : {"7.8 Tflop/s in fp32   40 GB, 1.244 TB/s  ", "3.24 Tflop/s in fp32  256 GB/s  ",
                           "tandem:device_memory=15GB", "3 Gflop/s             10 GB/s  "})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Describe, ASpeedThatTheDeviceReplacesIsNamedWithBothFigures) {
  struct Case {
    const char* host;
    const char* expected;  ///< empty: nothing is said
  };
  for (const auto& [host, expected] :
       {Case{"speed='1Gf'><prop id='device' value='t4'/>",
             "h: speed 1 Gflop/s x 1 core is 1 Gflop/s, but the device 't4' computes 3240 Gflop/s in fp32"},
        Case{"speed='2Gf' core='4'><prop id='device' value='raspberry-pi-4'/>",
             "2 Gflop/s x 4 cores is 8 Gflop/s, but the device 'raspberry-pi-4' computes 7.2 Gflop/s"},
        // 1.1 % and 0.9 % off.
        Case{"speed='3.2756Tf'><prop id='device' value='t4'/>", "3275.6 Gflop/s x 1 core"},
        Case{"speed='3.2692Tf'><prop id='device' value='t4'/>", ""},
        // The speed of the cores around a GPU, and of a host without a device.
        Case{"speed='28Gf' core='12'><prop id='device' value='t4'/>", ""},
        Case{"speed='28Gf' core='12'>", ""}}) {
    const TemporaryFile file(zone_xml("Full", "<host id='h' " + std::string(host) + "</host>"));
    const auto text = described(file.path());
    EXPECT_EQ(text.find("speeds that do not count") != std::string::npos, *expected != '\0') << host << text;
    EXPECT_NE(text.find(expected), std::string::npos) << host << '\n' << text;
  }
}

TEST(Describe, ReportsSettingsAndMissingRoutes) {
  const TemporaryFile file(platform_xml(
      "<config><prop id=\"network/model\" value=\"CM02\"/></config>"
      "<zone id=\"z\" routing=\"Full\"><host id=\"a\" speed=\"1Gf\"/><host id=\"b\" speed=\"1Gf\"/></zone>"));
  const auto text = described(file.path());
  for (const char* part : {"no links", "no route", "a -> b", "network/model = CM02", "0 B/s"})
    EXPECT_NE(text.find(part), std::string::npos) << part << "\n" << text;
}

TEST(Describe, AThousandHostsInUnderFortyLines) {
  const TemporaryFile file(cluster_xml(1000, "bb_bw=\"10GBps\" bb_lat=\"1us\""));
  const auto text = described(file.path());
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 40);
  EXPECT_NE(text.find("n-0..n-999"), std::string::npos) << text;
  EXPECT_NE(text.find("bisection, one direction: about 10 GB/s (from sampled routes;"), std::string::npos)
      << text;
}

TEST(Describe, ABisectionThatMayNotBeTheNarrowestIsAnUpperBound) {
  const TemporaryFile file(line_xml(16));
  const auto text = described(file.path());
  EXPECT_NE(text.find("bisection, one direction: at most 8 GB/s (the narrowest of some splits"),
            std::string::npos)
      << text;
}

TEST(Describe, ManyKindsOfHostsAreCounted) {
  std::string hosts;
  for (int i = 1; i <= 300; ++i)
    hosts += "<host id=\"h" + std::to_string(i) + "\" speed=\"" + std::to_string(i) + "Gf\"/>";
  const TemporaryFile file(zone_xml("Full", hosts));
  const auto text = described(file.path());
  EXPECT_LT(std::count(text.begin(), text.end(), '\n'), 40);
  EXPECT_NE(text.find("... and 290 more kinds"), std::string::npos) << text;
}

TEST(NameRanges, JoinsConsecutiveNumbers) {
  EXPECT_EQ(name_ranges({"node-1", "node-2", "node-3", "server"}), "node-1..node-3, server");
  EXPECT_EQ(name_ranges({"a", "b"}), "a, b");
  EXPECT_EQ(name_ranges({"n1.lab", "n2.lab", "n4.lab"}), "n1.lab, n2.lab, n4.lab");
  EXPECT_EQ(name_ranges({"rack-1-9", "rack-2-10"}), "rack-1-9, rack-2-10");
  EXPECT_EQ(name_ranges({"a", "c", "e", "g", "i"}, 2), "a, c and 3 more");
}

}  // namespace TANDEM_FILE
}  // namespace tandem::platforms
