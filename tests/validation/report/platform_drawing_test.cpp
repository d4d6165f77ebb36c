// The drawing of a platform from its routes.
#include "validation/report/platform_drawing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/support/made_study.hpp"
#include "validation/report/platform_svg.hpp"
#include "validation/report/study.hpp"

namespace tandem::validation {
namespace TANDEM_FILE {

using nlohmann::json;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// Hosts with equal devices, and routes as `links(from, to)` gives them.
template <class LinksOf>
json platform_of(int hosts, const LinksOf& links) {
  json platform = {{"name", "made.xml"},
                   {"hosts", json::array()},
                   {"hosts_left_out", 0},
                   {"links", json::array()},
                   {"routes", json::array()}};
  const auto name = [](int host) { return "h" + std::to_string(host); };
  for (int i = 0; i < hosts; ++i) {
    platform["hosts"].push_back({{"name", name(i)},
                                 {"device", "v100"},
                                 {"flops_per_s", 7.5e12},
                                 {"precision", "fp32"},
                                 {"roles", {"worker"}}});
    platform["links"].push_back(
        {{"name", "l" + std::to_string(i)}, {"bytes_per_s", 125e6}, {"latency_s", 5e-5}});
    for (int j = 0; j < hosts; ++j)
      if (i != j) platform["routes"].push_back({{"from", name(i)}, {"to", name(j)}, {"links", links(i, j)}});
  }
  for (const char* shared : {"up-0", "up-1", "up-2", "bus"})
    platform["links"].push_back({{"name", shared}, {"bytes_per_s", 1.25e9}, {"latency_s", 1e-5}});
  return platform;
}
std::string link(int host) { return "l" + std::to_string(host); }

TEST(PlatformDrawing, AStarHasOneSwitch) {
  const json drawing = platform_drawing(platform_of(3, [](int from, int to) {
    return json{link(from), link(to)};
  }));
  ASSERT_EQ(drawing.at("switches").size(), 1U);
  EXPECT_TRUE(drawing.at("trunks").empty());
  EXPECT_TRUE(drawing.at("switches")[0].at("inside").empty());
  const json& first = drawing.at("switches")[0].at("hosts")[0];
  EXPECT_EQ(first.at("name"), "h0");
  EXPECT_EQ(first.at("about"), "v100 of 7.5 Tflop/s in fp32; worker");
  EXPECT_EQ(first.at("link"), "l0: 1 Gb/s, 50.0 µs");
}

TEST(PlatformDrawing, TwoRacksAreConnectedByTheirUplinks) {
  const json drawing = platform_drawing(platform_of(4, [](int from, int to) {
    const int rack = from / 2, other = to / 2;
    if (rack == other) return json{link(from), link(to)};
    return json{link(from), "up-" + std::to_string(rack), "up-" + std::to_string(other), link(to)};
  }));
  ASSERT_EQ(drawing.at("switches").size(), 2U);
  EXPECT_EQ(drawing.at("switches")[1].at("hosts")[0].at("name"), "h2");
  EXPECT_EQ(drawing.at("switches")[1].at("hosts")[0].at("link"), "l2: 1 Gb/s, 50.0 µs");
  ASSERT_EQ(drawing.at("trunks").size(), 1U);
  EXPECT_EQ(drawing.at("trunks")[0].at("between"), (json{0, 1}));
  EXPECT_EQ(drawing.at("trunks")[0].at("label"), "");
  EXPECT_EQ(drawing.at("switches")[1].at("link"), "up-1: 10 Gb/s, 10.0 µs");
}

TEST(PlatformDrawing, ALinkThatSwitchesShareConnectsThem) {
  const json drawing = platform_drawing(platform_of(6, [](int from, int to) {
    const int rack = from / 2, other = to / 2;
    if (rack == other) return json{link(from), link(to)};
    return json{link(from), "up-" + std::to_string(rack), "bus", "up-" + std::to_string(other), link(to)};
  }));
  ASSERT_EQ(drawing.at("trunks").size(), 1U);
  EXPECT_EQ(drawing.at("trunks")[0].at("between"), (json{0, 1, 2}));
  EXPECT_EQ(drawing.at("trunks")[0].at("label"), "bus: 10 Gb/s, 10.0 µs");
  EXPECT_EQ(drawing.at("switches")[1].at("link"), "up-1: 10 Gb/s, 10.0 µs");
}

TEST(PlatformDrawing, ASharedBusIsInsideTheSwitch) {
  const json drawing = platform_drawing(platform_of(3, [](int from, int to) {
    return json{link(from), "bus", link(to)};
  }));
  ASSERT_EQ(drawing.at("switches").size(), 1U);
  EXPECT_THAT(drawing.at("switches")[0].at("inside").get<std::vector<std::string>>(),
              ElementsAre("bus: 10 Gb/s, 10.0 µs"));
}

TEST(PlatformDrawing, ManyEqualHostsAreDrawnOnce) {
  json platform = platform_of(7, [](int from, int to) { return json{link(from), link(to)}; });
  platform["hosts"][6]["device"] = "t4";
  platform["hosts_left_out"] = 12;
  const json drawing = platform_drawing(platform);
  const json& hosts = drawing.at("switches")[0].at("hosts");
  ASSERT_EQ(hosts.size(), 2U);
  EXPECT_EQ(hosts[0].at("name"), "h0 to h5 (6 hosts)");
  EXPECT_EQ(hosts[0].at("link"), "each 1 Gb/s, 50.0 µs");
  EXPECT_EQ(hosts[1].at("name"), "h6");
  EXPECT_EQ(drawing.at("note"), "12 more hosts are not drawn.");
}

TEST(PlatformDrawing, OneAndTwoHostsAreDrawn) {
  const json alone = platform_drawing(platform_of(1, [](int, int) { return json::array(); }));
  ASSERT_EQ(alone.at("switches").size(), 1U);
  EXPECT_EQ(alone.at("switches")[0].at("hosts").size(), 1U);
  const json two = platform_drawing(platform_of(2, [](int from, int to) {
    return json{link(from), link(to)};
  }));
  ASSERT_EQ(two.at("switches").size(), 1U);
  EXPECT_EQ(two.at("switches")[0].at("hosts")[1].at("link"), "l1: 1 Gb/s, 50.0 µs");
}

std::size_t count(const std::string& text, const std::string& part) {
  std::size_t found = 0;
  for (auto at = text.find(part); at != std::string::npos; at = text.find(part, at + 1)) ++found;
  return found;
}

TEST(PlatformSvg, HasABoxForEachHostAndSwitchAndALineForEachLink) {
  json platform = platform_of(4, [](int from, int to) {
    const int rack = from / 2, other = to / 2;
    if (rack == other) return json{link(from), link(to)};
    return json{link(from), "up-" + std::to_string(rack), "up-" + std::to_string(other), link(to)};
  });
  platform["name"] = "a<b>&\"c\".xml";
  const std::string svg = platform_svg(platform_drawing(platform));
  EXPECT_EQ(count(svg, "class=\"host\""), 4U);
  EXPECT_EQ(count(svg, "class=\"switch\""), 2U);
  EXPECT_EQ(count(svg, "class=\"link\""), 4U);
  EXPECT_EQ(count(svg, "class=\"trunk\""), 3U) << "one along, two to the switches";
  EXPECT_THAT(svg, HasSubstr("l3: 1 Gb/s, 50.0 µs</text>"));
  EXPECT_THAT(svg, HasSubstr("up-1: 10 Gb/s, 10.0 µs</text>"));
  EXPECT_THAT(svg, HasSubstr("the platform a&lt;b&gt;&amp;&quot;c&quot;.xml"));
}

TEST(StudyPages, DrawThePlatform) {
  json study = testing::made_study();
  study["platforms"] = {platform_of(2, [](int from, int to) { return json{link(from), link(to)}; })};
  EXPECT_THAT(study_html(study), HasSubstr("\"kind\":\"drawing\""));
  EXPECT_THAT(study_html(study), HasSubstr("l1: 1 Gb/s"));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation
