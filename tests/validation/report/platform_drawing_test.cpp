// The drawing of a platform from its routes: what it says, and where it says it.
#include "validation/report/platform_drawing.hpp"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <regex>
#include <set>

#include "policies/vocabulary/rng.hpp"
#include "tests/support/made_study.hpp"
#include "tests/support/seeds.hpp"
#include "validation/report/platform_binding.hpp"
#include "validation/report/platform_svg.hpp"
#include "validation/report/study.hpp"

namespace tandem::validation {
namespace TANDEM_FILE {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

std::string name(int host) { return "h" + std::to_string(host); }
std::string link(int host) { return "l" + std::to_string(host); }
/// "up-1-2".
std::string numbered(std::string text, std::initializer_list<int> numbers) {
  for (const int number : numbers) text += '-' + std::to_string(number);
  return text;
}

PlatformParts::Host host_of(const std::string& own_name) {
  return {
      .name = own_name, .device = "v100", .flops_per_s = 7.5e12, .precision = "fp32", .roles = {"worker"}};
}

using Names = std::vector<std::string>;

/// Hosts with equal devices, and routes as `links(from, to)` gives them.
template <class LinksOf>
PlatformParts platform_of(int hosts, const LinksOf& links) {
  PlatformParts platform{.name = "made.xml"};
  std::set<std::string> known;
  for (int i = 0; i < hosts; ++i) {
    platform.hosts.push_back(host_of(name(i)));
    for (int j = 0; j < hosts; ++j) {
      if (i == j) continue;
      const Names route = links(i, j);
      platform.routes.push_back({name(i), name(j), route});
      for (const std::string& own : route)
        if (known.insert(own).second)
          platform.links.push_back({.name = own,
                                    .bytes_per_s = own[0] == 'l' ? 125e6 : 1.25e9,
                                    .latency_s = own[0] == 'l' ? 5e-5 : 1e-5,
                                    .sharing = "SPLITDUPLEX"});
    }
  }
  return platform;
}

PlatformParts star(int hosts) {
  return platform_of(hosts, [](int from, int to) { return Names{link(from), link(to)}; });
}
/// Racks of `each` hosts; between racks messages also cross the uplinks and `core`.
PlatformParts racks(int hosts, int each, const Names& core = {}) {
  return platform_of(hosts, [&](int from, int to) {
    if (from / each == to / each) return Names{link(from), link(to)};
    Names links = {link(from), "up-" + std::to_string(from / each)};
    for (const auto& one : core) links.push_back(one);
    links.push_back("up-" + std::to_string(to / each));
    links.push_back(link(to));
    return links;
  });
}

/// "kind: texts of the node" for each node, children after their parents, with "link -> " before.
Names nodes_of(const DrawnNode& node, const std::string& indent = "") {
  std::string text = indent;
  for (const auto& own : node.link) text += own.text + " -> ";
  text += node.kind;
  for (const auto& row : node.rows)
    if (row.kind != "about") text += " | " + row.text;
  Names all = {text};
  for (const auto& child : node.children)
    for (auto& below : nodes_of(child, indent + "  ")) all.push_back(std::move(below));
  return all;
}
Names drawn(const PlatformParts& platform) { return nodes_of(platform_drawing(platform).root); }

TEST(PlatformDrawing, AStarIsASwitch) {
  const DrawnPlatform drawing = platform_drawing(star(3));
  EXPECT_THAT(nodes_of(drawing.root),
              ElementsAre("switch | switch", "  l0: 1 Gb/s, 50.0 µs -> host | h0",
                          "  l1: 1 Gb/s, 50.0 µs -> host | h1", "  l2: 1 Gb/s, 50.0 µs -> host | h2"));
  EXPECT_EQ(drawing.root.children[0].rows[1].text, "v100 of 7.5 Tflop/s in fp32; worker");
}

TEST(PlatformDrawing, RacksAreBelowTheSwitchOfTheirUplinks) {
  EXPECT_THAT(drawn(racks(4, 2)),
              ElementsAre("switch | switch 1", "  up-0: 10 Gb/s, 10.0 µs -> switch | switch 2",
                          "    l0: 1 Gb/s, 50.0 µs -> host | h0", "    l1: 1 Gb/s, 50.0 µs -> host | h1",
                          "  up-1: 10 Gb/s, 10.0 µs -> switch | switch 3",
                          "    l2: 1 Gb/s, 50.0 µs -> host | h2", "    l3: 1 Gb/s, 50.0 µs -> host | h3"));
}

TEST(PlatformDrawing, ABackboneIsBetweenWhatSharesIt) {
  const auto of_hosts = drawn(platform_of(3, [](int from, int to) {
    return Names{link(from), "bus", link(to)};
  }));
  EXPECT_EQ(of_hosts[0], "shared | backbone bus: 10 Gb/s, 10.0 µs");
  const auto of_racks = drawn(racks(4, 2, {"bus"}));
  EXPECT_EQ(of_racks[0], "shared | link bus: 10 Gb/s, 10.0 µs");
  EXPECT_EQ(of_racks[1], "  up-0: 10 Gb/s, 10.0 µs -> switch | switch 1");
  EXPECT_EQ(drawn(platform_of(2, [](int, int) { return Names{"cable"}; }))[0],
            "shared | link cable: 10 Gb/s, 10.0 µs");
}

TEST(PlatformDrawing, LinksOfTwoNodesAloneAreLanes) {
  const PlatformParts platform = platform_of(6, [](int from, int to) {
    if (from / 2 == to / 2) return Names{link(from), link(to)};
    return Names{link(from), "wan-" + std::to_string(from / 2 + to / 2), link(to)};
  });
  const DrawnNode root = platform_drawing(platform).root;
  EXPECT_EQ(nodes_of(root)[0], "direct | direct links");
  ASSERT_EQ(root.lanes.size(), 3U);
  EXPECT_EQ(root.lanes[1].text, "wan-2: 10 Gb/s, 10.0 µs");
  EXPECT_EQ(root.lanes[1].from, 0U);
  EXPECT_EQ(root.lanes[1].to, 2U);
}

TEST(PlatformDrawing, ALinkOfEachPairOfHostsIsNoBackboneOfTheirNodes) {
  const DrawnNode root = platform_drawing(platform_of(4, [](int from, int to) {
                           const char* const kind = from / 2 == to / 2 ? "near" : "l";
                           return Names{numbered(kind, {std::min(from, to), std::max(from, to)})};
                         })).root;
  EXPECT_EQ(nodes_of(root)[0], "direct | direct links");
  ASSERT_EQ(root.lanes.size(), 1U);
  EXPECT_EQ(root.lanes[0].text, "l-0-2, l-0-3, l-1-2, l-1-3: 4 links, each 1 Gb/s, 50.0 µs");
}

TEST(PlatformDrawing, LinksOnSomeRoutesAreANetwork) {
  const auto ring = drawn(platform_of(4, [](int from, int to) {
    Names links;
    for (int at = from; at != to; at = (at + 1) % 4) links.push_back("ring-" + std::to_string(at));
    return links;
  }));
  EXPECT_THAT(ring[0], HasSubstr("mesh | network: 4 links | ring-0: 10 Gb/s, 10.0 µs | ring-1"));
  EXPECT_EQ(ring[4], "  host | h3");
}

TEST(PlatformDrawing, ManyEqualHostsAndNodesAreDrawnOnce) {
  PlatformParts platform = star(7);
  platform.hosts[6].device = "t4";
  platform.hosts_left_out = 12;
  EXPECT_THAT(
      drawn(platform),
      ElementsAre("switch | switch", "  l0..l5: 6 links, each 1 Gb/s, 50.0 µs -> host | h0..h5 (6 hosts)",
                  "  l6: 1 Gb/s, 50.0 µs -> host | h6"));
  EXPECT_EQ(platform_drawing(platform).note, "12 more hosts are not drawn.");
  EXPECT_THAT(drawn(racks(9, 3)),
              ElementsAre("switch | switch 1",
                          "  up-0..up-2: 3 links, each 10 Gb/s, 10.0 µs -> switch | switches 2 to 4",
                          "    l0..l8: 9 links, each 1 Gb/s, 50.0 µs -> host | h0..h8 (9 hosts, 3 at each)"));
}

TEST(PlatformDrawing, WhatBindsIsDrawnByItself) {
  PlatformParts platform = racks(15, 3);
  platform.binds = {.links = {"up-2"}, .hosts = {"h4"}};
  const auto nodes = drawn(platform);
  EXPECT_THAT(nodes, ::testing::Contains("  busiest link up-2: 10 Gb/s, 10.0 µs -> switch | switch 6"));
  EXPECT_THAT(nodes, ::testing::Contains("    l4: 1 Gb/s, 50.0 µs -> host | h4 (slowest)"));
  EXPECT_THAT(nodes, ::testing::Contains(
                         "  up-0, up-3, up-4: 3 links, each 10 Gb/s, 10.0 µs -> switch | switches 2 to 4"));
}

TEST(PlatformDrawing, OneHostIsDrawnAlone) {
  EXPECT_THAT(drawn(platform_of(1, [](int, int) { return Names{}; })), ElementsAre("host | h0"));
}

TEST(WhatBinds, IsTheLinkOfTheServerAndTheSlowestHostOfAWorker) {
  PlatformParts platform = star(5);
  platform.hosts[0].roles = {"server"};
  platform.hosts[0].flops_per_s = 1e9;
  platform.hosts[3].flops_per_s = 5e12;
  EXPECT_EQ(what_binds(platform), (PlatformBinding{.links = {"l0"}, .hosts = {"h3"}}));
  platform.links[1].bytes_per_s = 125e6 / 5;  // of l1, with a route where l0 has four
  EXPECT_EQ(what_binds(platform).links, Names{"l1"});
}

TEST(WhatBinds, IsNothingWhereAllAreEqual) { EXPECT_EQ(what_binds(star(5)), PlatformBinding()); }

TEST(WhatBinds, CountsAHostForThoseThatItStandsFor) {
  PlatformParts platform = star(4);
  platform.hosts[0].roles = {"server"};
  platform.links[1].bytes_per_s = 125e6 / 5;  // of l1
  platform.hosts[2].stands_for = 10;
  EXPECT_EQ(what_binds(platform).links, Names{"l0"}) << "of 12 workers";
  platform = star(4);
  platform.hosts[2].stands_for = 10;
  EXPECT_TRUE(what_binds(platform).links.empty()) << "all are as busy";
}

TEST(WhatBinds, CountsRoutesThatShareTheBandwidth) {
  PlatformParts platform = racks(6, 3, {"bus"});
  for (auto& one : platform.links) one.bytes_per_s = 125e6;
  const auto busiest = [&](const char* sharing) {
    for (auto& one : platform.links)
      if (one.name == "bus") one.sharing = sharing;
    return what_binds(platform).links;
  };
  EXPECT_EQ(busiest("SPLITDUPLEX"), (Names{"bus", "up-0", "up-1"}));
  EXPECT_EQ(busiest("SHARED"), Names{"bus"}) << "both directions share it";
  EXPECT_EQ(busiest("FATPIPE"), (Names{"up-0", "up-1"})) << "each message has all of it";
}

// ---- Pictures of random platforms ----

/// A tree of nodes with hosts below, whose nodes have a backbone, direct links between their children, or a
/// ring of links.
class RandomPlatform {
 public:
  explicit RandomPlatform(std::uint64_t seed) : rng_(Rng::stream(seed, "platform")) {
    add_node(-1, 1 + static_cast<int>(rng_.below(3)));
    platform_ = platform_of(static_cast<int>(parents_of_hosts_.size()),
                            [&](int from, int to) { return links_between(from, to); });
    for (auto& own : platform_.hosts)
      own.device =
          rng_.below(6) == 0 ? "a device with a name of more than a line of this <picture> & its box" : "t4";
    for (auto& own : platform_.links) own.bytes_per_s = rng_.below(4) == 0 ? 5e7 : 1.25e9;
    const auto pick = [&](const auto& all) {
      return all.empty() ? Names{} : Names{all[rng_.below(all.size())].name};
    };
    platform_.binds.hosts = pick(platform_.hosts);
    platform_.binds.links = pick(platform_.links);
  }

  const PlatformParts& platform() const { return platform_; }

 private:
  enum class Inside { nothing, backbone, direct, ring };
  struct Node {
    int parent, place;
    Inside inside;
    int children = 0;
  };

  void add_node(int parent, int depth) {
    const int own = static_cast<int>(nodes_.size());
    const int place = parent < 0 ? 0 : nodes_[static_cast<std::size_t>(parent)].children++;
    nodes_.push_back({parent, place, static_cast<Inside>(rng_.below(4))});
    const auto children = 1 + rng_.below(depth == 1 ? 7 : 4);
    for (std::uint64_t i = 0; i < children; ++i) {
      if (depth > 1 && rng_.below(5) > 0)
        add_node(own, depth - 1);
      else
        parents_of_hosts_.emplace_back(own, nodes_[static_cast<std::size_t>(own)].children++);
    }
  }

  /// The nodes above a host with the place of the way to it, from the root.
  std::vector<std::pair<int, int>> above(int host) const {
    std::vector<std::pair<int, int>> path = {parents_of_hosts_[static_cast<std::size_t>(host)]};
    for (;;) {
      const Node& node = nodes_[static_cast<std::size_t>(path.back().first)];
      if (node.parent < 0) break;
      path.emplace_back(node.parent, node.place);
    }
    std::ranges::reverse(path);
    return path;
  }

  std::vector<std::string> links_between(int from, int to) const {
    const auto there = above(from), back = above(to);
    std::size_t common = 0;
    while (there[common] == back[common]) ++common;
    std::vector<std::string> links = {"cable-" + name(from)}, last = {"cable-" + name(to)};
    for (std::size_t i = there.size() - 1; i > common; --i) links.push_back(numbered("up", {there[i].first}));
    for (std::size_t i = back.size() - 1; i > common; --i) last.push_back(numbered("up", {back[i].first}));
    const auto [own, one] = there[common];
    const int other = back[common].second;
    const Node& node = nodes_[static_cast<std::size_t>(own)];
    if (node.inside == Inside::backbone) links.push_back(numbered("the-backbone-of-the-room", {own}));
    if (node.inside == Inside::direct)
      links.push_back(numbered("direct", {own, std::min(one, other), std::max(one, other)}));
    if (node.inside == Inside::ring)
      for (int at = one; at != other; at = (at + 1) % node.children)
        links.push_back(numbered("ring", {own, at}));
    links.insert(links.end(), last.rbegin(), last.rend());
    return links;
  }

  Rng rng_;
  std::vector<Node> nodes_;
  std::vector<std::pair<int, int>> parents_of_hosts_;  ///< with the place below it
  PlatformParts platform_;
};

struct Box {
  double left, top, right, bottom;
  std::string what;
  bool meets(const Box& other) const {
    return left < other.right && other.left < right && top < other.bottom && other.top < bottom;
  }
};

/// Of a picture: one for each line of text, as wide as in a usual font.
std::vector<Box> boxes_of_text(const std::string& svg) {
  std::vector<Box> boxes;
  const std::regex one("<tspan x=\"(\\d+)\" y=\"(\\d+)\">([^<]*)</tspan>"), escape("&[a-z]+;|[\x80-\xbf]+");
  for (std::sregex_iterator at(svg.begin(), svg.end(), one), end; at != end; ++at) {
    const double x = std::stod((*at)[1]), y = std::stod((*at)[2]);
    const auto letters = std::regex_replace((*at)[3].str(), escape, "").size();
    boxes.push_back({x, y - 9, x + 6.2 * static_cast<double>(letters), y + 3, (*at)[3]});
  }
  return boxes;
}
std::vector<Box> boxes_of_lines(const std::string& svg) {
  std::vector<Box> boxes;
  const std::regex one("<line x1=\"(\\d+)\" y1=\"(\\d+)\" x2=\"(\\d+)\" y2=\"(\\d+)\" class=\"([a-z ]+)\"");
  for (std::sregex_iterator at(svg.begin(), svg.end(), one), end; at != end; ++at) {
    const double half = (*at)[5].str().starts_with("shared") ? 3 : 1;
    const auto number = [&](std::size_t i) { return std::stod((*at)[i]); };
    boxes.push_back({std::min(number(1), number(3)) - half, std::min(number(2), number(4)) - half,
                     std::max(number(1), number(3)) + half, std::max(number(2), number(4)) + half, (*at)[0]});
  }
  return boxes;
}

void expect_no_overlap(const std::string& svg) {
  std::smatch size;
  ASSERT_TRUE(std::regex_search(svg, size, std::regex("viewBox=\"0 0 (\\d+) (\\d+)\"")));
  const auto texts = boxes_of_text(svg), lines = boxes_of_lines(svg);
  for (std::size_t i = 0; i < texts.size(); ++i) {
    EXPECT_LE(texts[i].right, std::stod(size[1])) << texts[i].what;
    EXPECT_LE(texts[i].bottom, std::stod(size[2])) << texts[i].what;
    for (std::size_t j = 0; j < i; ++j)
      EXPECT_FALSE(texts[i].meets(texts[j])) << texts[i].what << ", " << texts[j].what;
    for (const Box& line : lines) EXPECT_FALSE(texts[i].meets(line)) << texts[i].what << ", " << line.what;
  }
}

std::string without_spaces(std::string text) {
  std::erase(text, ' ');
  return text;
}

/// All texts of a drawing but those about devices, which equal hosts have in common.
void add_labels(const DrawnNode& node, std::multiset<std::string>& labels, std::size_t& hosts) {
  for (const auto& row : node.rows)
    if (row.kind != "about") labels.insert(row.text);
  for (const auto& own : node.link) labels.insert(own.text);
  for (const auto& own : node.lanes) labels.insert(own.text);
  if (node.kind == "host") hosts += node.count;
  for (const auto& child : node.children) add_labels(child, labels, hosts);
}

/// Labels of a picture, without the spaces that lines are broken at.
std::multiset<std::string> labels_in(const std::string& svg) {
  std::multiset<std::string> labels;
  const std::regex one("<text class=\"(name|link)( binds)?\">(.*)</text>"), tag("</?tspan[^>]*>");
  for (std::sregex_iterator at(svg.begin(), svg.end(), one), end; at != end; ++at)
    labels.insert(without_spaces(std::regex_replace((*at)[3].str(), tag, "")));
  return labels;
}

/// How often the labels say each word.
std::map<std::string, int> words_of(const std::multiset<std::string>& labels) {
  std::map<std::string, int> words;
  const std::regex one("[^ .,:]+");
  for (const auto& label : labels)
    for (std::sregex_iterator at(label.begin(), label.end(), one), end; at != end; ++at) ++words[at->str()];
  return words;
}

TEST(PlatformPictures, HaveEachLabelOnceOverNoOtherAndWhatBinds) {
  for (const auto seed : testing::seeds(40)) {
    TANDEM_TRACE_SEED(seed);
    const PlatformParts platform = RandomPlatform(seed).platform();
    const DrawnPlatform drawing = platform_drawing(platform);
    const std::string svg = platform_svg(drawing);
    std::multiset<std::string> labels, shown;
    std::size_t hosts = 0;
    add_labels(drawing.root, labels, hosts);
    EXPECT_EQ(hosts, platform.hosts.size());
    for (const auto& label : labels) {
      EXPECT_EQ(labels.count(label), 1U) << label;
      shown.insert(without_spaces(label));
    }
    EXPECT_EQ(labels_in(svg), shown);
    auto words = words_of(labels);
    for (const auto& own : platform.hosts) EXPECT_LE(words[own.name], 1) << own.name;
    for (const auto& own : platform.links) EXPECT_LE(words[own.name], 1) << own.name;
    for (const std::string& host : platform.binds.hosts) EXPECT_EQ(labels.count(host + " (slowest)"), 1U);
    for (const std::string& own : platform.binds.links)
      EXPECT_EQ(std::ranges::count_if(labels,
                                      [&](const std::string& label) {
                                        return label.starts_with("busiest link") &&
                                               label.find(' ' + own + ": ") != std::string::npos;
                                      }),
                1)
          << own;
    expect_no_overlap(svg);
  }
}

TEST(PlatformPictures, HaveRoomForManyDirectLinks) {
  // 54 of them bind, and each is drawn.
  PlatformParts platform = platform_of(16, [](int from, int to) {
    return Names{
        numbered(std::abs(from - to) <= 4 ? "l" : "cable", {std::min(from, to), std::max(from, to)})};
  });
  platform.binds = what_binds(platform);
  const std::string svg = platform_svg(platform_drawing(platform));
  EXPECT_THAT(svg, HasSubstr("busiest link l-0-1: "));
  EXPECT_THAT(svg, ::testing::Not(HasSubstr("=\"-"))) << "a negative size";
}

TEST(PlatformPictures, EscapeNames) {
  PlatformParts platform = star(2);
  platform.name = "a<b>&\"c\".xml";
  platform.hosts[1].device = "<t4>";
  const std::string svg = platform_svg(platform_drawing(platform));
  EXPECT_THAT(svg, HasSubstr("the platform a&lt;b&gt;&amp;&quot;c&quot;.xml"));
  EXPECT_THAT(svg, HasSubstr("&lt;t4&gt; of"));
}

TEST(StudyPages, DrawThePlatform) {
  Study study = testing::made_study();
  study.platforms = {platform_drawing(star(2))};
  EXPECT_THAT(study_html(study), HasSubstr("\"kind\":\"drawing\""));
  EXPECT_THAT(study_html(study), HasSubstr("l1: 1 Gb/s"));
}

}  // namespace TANDEM_FILE
}  // namespace tandem::validation
