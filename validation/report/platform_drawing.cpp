#include "validation/report/platform_drawing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <set>
#include <string>
#include <vector>

#include "platforms/name_ranges.hpp"
#include "validation/report/platform_tree.hpp"
#include "workloads/records/format.hpp"

namespace tandem::validation {
namespace {

using Links = std::vector<int>;
using Same = std::vector<const PlatformTree*>;  ///< nodes that are drawn as one; at least one

constexpr std::size_t most_equal_hosts = 4;
constexpr std::size_t most_equal_nodes = 2;
constexpr std::size_t most_lanes = 6;   ///< more direct links are counted
constexpr std::size_t most_ranges = 2;  ///< of names
constexpr const char* plain_link = "link";
constexpr std::size_t most_named_links = 4;  ///< links of different rates, each with its name

std::string scaled(double value, const std::array<const char*, 5>& units) {
  std::size_t unit = 0;
  for (; value >= 1000.0 && unit + 1 < units.size(); ++unit) value /= 1000.0;
  return fmt::format("{:.3g} {}", value, units[unit]);
}

std::string about(const PlatformParts::Host& host) {
  return fmt::format("{} of {}{}{}{}", host.device,
                     scaled(host.flops_per_s, {"flop/s", "kflop/s", "Mflop/s", "Gflop/s", "Tflop/s"}),
                     host.precision.empty() ? "" : " in " + host.precision, host.roles.empty() ? "" : "; ",
                     fmt::join(host.roles, ", "));
}

bool contains(const std::vector<std::string>& names, const std::string& name) {
  return std::ranges::find(names, name) != names.end();
}

/// Links by number, in the order in which routes name them.
class NamedLinks {
 public:
  explicit NamedLinks(const PlatformParts& platform) {
    std::map<std::string, const PlatformParts::Link*> described;
    for (const auto& link : platform.links) described[link.name] = &link;
    std::map<std::string, int> kinds;
    for (const auto& route : platform.routes)
      for (const std::string& name : route.links) {
        if (!numbers_.emplace(name, static_cast<int>(names_.size())).second) continue;
        const auto found = described.find(name);
        names_.push_back(name);
        rates_.push_back(found == described.end() ? "rate not known" : rate_of(*found->second));
        kinds_.push_back(kinds.emplace(rates_.back(), static_cast<int>(kinds.size())).first->second);
        binds_.push_back(contains(platform.binds.links, name));
      }
  }

  int number_of(const std::string& name) const { return numbers_.at(name); }
  const std::vector<int>& kinds() const { return kinds_; }
  bool binds(int link) const { return binds_[static_cast<std::size_t>(link)]; }
  bool any_binds(const Links& links) const {
    return std::ranges::any_of(links, [&](int link) { return binds(link); });
  }

  /// Without names, and the same for links that may be drawn as one.
  std::string shape_of(const Links& links) const {
    std::multiset<std::string> texts;
    for (const int link : links)
      texts.insert(rates_[static_cast<std::size_t>(link)] + (binds(link) ? "!" : ""));
    return fmt::format("{}", fmt::join(texts, "|"));
  }

  /// One for each rate, or each link if `lists`. "cable-1: 1 Gb/s, 50 µs";
  /// "cable-1..cable-9: 9 links, each 1 Gb/s, 50 µs". `noun`: what they are, if not the way to the node
  /// above.
  std::vector<DrawnLabel> labels(const Links& links, bool lists, const std::string& noun = "") const {
    std::vector<std::pair<std::pair<std::string, bool>, std::vector<std::string>>> groups;
    for (const int link : links) {
      const auto at = static_cast<std::size_t>(link);
      const std::pair key(rates_[at], binds(link));
      const auto found = std::ranges::find(groups, key, &decltype(groups)::value_type::first);
      if (lists || found == groups.end())
        groups.push_back({key, {names_[at]}});
      else
        found->second.push_back(names_[at]);
    }
    std::vector<DrawnLabel> labels;
    for (const auto& [key, names] : groups) {
      const auto& [rate, is_binding] = key;
      const std::string plural = names.size() == 1 ? " " : "s ";
      const std::string what = !is_binding                          ? noun
                               : noun.empty() || noun == plain_link ? "busiest link"
                                                                    : "busiest link, " + noun;
      labels.push_back(
          {.text = (what.empty() ? "" : what + plural) + platforms::name_ranges(names, most_ranges) +
                   (names.size() == 1 ? ": " : fmt::format(": {} links, each ", names.size())) + rate,
           .binds = is_binding});
    }
    return labels;
  }

 private:
  static std::string rate_of(const PlatformParts::Link& link) {
    return scaled(link.bytes_per_s * 8, {"bit/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"}) + ", " +
           with_unit(link.latency_s, Unit::seconds) + (link.sharing == "FATPIPE" ? " for each message" : "");
  }

  std::map<std::string, int> numbers_;
  std::vector<std::string> names_;
  std::vector<std::string> rates_;
  std::vector<int> kinds_;
  std::vector<bool> binds_;
};

HostRoutes routes_of(const PlatformParts& platform, const NamedLinks& links) {
  HostRoutes routes;
  std::map<std::string, std::size_t> index;
  for (const auto& host : platform.hosts) index.emplace(host.name, index.size());
  routes.hosts = index.size();
  routes.kinds = links.kinds();
  routes.routes.resize(routes.hosts * routes.hosts);
  for (const auto& route : platform.routes) {
    auto& numbers = routes.routes[index.at(route.from) * routes.hosts + index.at(route.to)];
    numbers.emplace();
    for (const auto& link : route.links) numbers->push_back(links.number_of(link));
  }
  return routes;
}

/// Makes the texts of a tree, from its root on.
class Drawer {
 public:
  explicit Drawer(const PlatformParts& platform)
      : platform_(platform),
        links_(platform),
        tree_(platform_tree(routes_of(platform, links_))),
        has_one_node_(tree_.children.size() == tree_.hosts.size()) {
    for (const auto& host : platform.hosts)
      binding_hosts_.push_back(contains(platform.binds.hosts, host.name));
  }

  DrawnNode root() { return node({&tree_}); }

 private:
  const PlatformParts::Host& host(const PlatformTree& leaf) const {
    return platform_.hosts[leaf.hosts.front()];
  }
  bool binds(const PlatformTree& leaf) const { return binding_hosts_[leaf.hosts.front()]; }

  /// The same for nodes that may be drawn as one.
  std::string shape_of(const PlatformTree& tree) const {
    std::string shape = links_.shape_of(tree.own);
    if (tree.children.empty()) return shape + '#' + about(host(tree)) + (binds(tree) ? "!" : "");
    std::multiset<std::string> children;
    for (const auto& child : tree.children) children.insert(shape_of(child));
    shape += '(' + links_.shape_of(tree.shared) + '#' + links_.shape_of(tree.mesh);
    std::multiset<std::string> direct;
    for (const auto& one : tree.direct) direct.insert(links_.shape_of(one.links));
    return fmt::format("{}#{}#{})", shape, fmt::join(direct, "&"), fmt::join(children, "&"));
  }

  /// Whether a direct link is drawn as a line between its ends, which are then drawn by themselves.
  bool is_lane(const PlatformTree& tree, const PlatformTree::Direct& direct) const {
    return tree.direct.size() <= most_lanes || links_.any_binds(direct.links);
  }

  /// The children of equal nodes, those together that are drawn as one, in the order of the first ones.
  std::vector<Same> children_of(const Same& same) const {
    const bool is_one = same.size() == 1;
    std::set<const PlatformTree*> ends;
    if (is_one)
      for (const auto& direct : same[0]->direct)
        if (is_lane(*same[0], direct))
          for (const std::size_t end : {direct.from, direct.to}) ends.insert(&same[0]->children[end]);
    std::map<std::string, Same> equal;
    for (const auto* tree : same)
      for (const auto& child : tree->children)
        if (!ends.contains(&child)) equal[shape_of(child)].push_back(&child);
    std::vector<Same> groups;
    for (const auto* tree : same)
      for (const auto& child : tree->children) {
        if (ends.contains(&child)) {
          groups.push_back({&child});
          continue;
        }
        const Same& group = equal.at(shape_of(child));
        const std::size_t most = child.children.empty() ? most_equal_hosts : most_equal_nodes;
        if (is_one && group.size() <= most)
          groups.push_back({&child});
        else if (group.front() == &child)
          groups.push_back(group);
      }
    return groups;
  }

  /// `parents`: how many equal nodes these are below, together.
  DrawnNode node(const Same& same, std::size_t parents = 1) {
    Links own;
    for (const auto* tree : same) own.insert(own.end(), tree->own.begin(), tree->own.end());
    DrawnNode made = same[0]->children.empty() ? host_node(same, parents) : inner_node(same);
    made.count = same.size();
    made.link = links_.labels(own, same.size() == 1);
    return made;
  }

  static DrawnRow row(const std::string& text, const char* kind, bool is_binding = false) {
    return {{text, is_binding}, kind};
  }

  DrawnNode host_node(const Same& same, std::size_t parents) const {
    const bool is_binding = binds(*same[0]);
    std::vector<std::string> names, remarks;
    for (const auto* leaf : same) names.push_back(host(*leaf).name);
    if (same.size() > 1) remarks.push_back(fmt::format("{} hosts", same.size()));
    if (parents > 1) remarks.push_back(fmt::format("{} at each", same.size() / parents));
    if (is_binding) remarks.emplace_back("slowest");
    const std::string remark = remarks.empty() ? "" : fmt::format(" ({})", fmt::join(remarks, ", "));
    return {.kind = "host",
            .binds = is_binding,
            .rows = {row(platforms::name_ranges(names, most_ranges) + remark, "name", is_binding),
                     row(about(host(*same[0])), "about")}};
  }

  DrawnNode inner_node(const Same& same) {
    Links shared, others;
    for (const auto* tree : same) {
      shared.insert(shared.end(), tree->shared.begin(), tree->shared.end());
      others.insert(others.end(), tree->mesh.begin(), tree->mesh.end());
      for (const auto& one : tree->direct)
        if (same.size() > 1 || !is_lane(*tree, one))
          others.insert(others.end(), one.links.begin(), one.links.end());
    }
    const bool is_one = same.size() == 1;
    const bool has_only_lanes = is_one && shared.empty() && others.empty() && is_joined_directly(*same[0]);
    const auto groups = children_of(same);
    DrawnNode made{.kind = !shared.empty()   ? "shared"
                           : !others.empty() ? "mesh"
                           : has_only_lanes  ? "direct"
                                             : "switch",
                   .binds = links_.any_binds(shared)};
    if (is_one) made.lanes = lanes_of(*same[0], groups);
    if (shared.empty())
      made.rows.push_back(row(has_only_lanes ? "direct links" : title_of(same, others.size()), "name"));
    const char* const noun = same[0]->children.size() == 2 ? plain_link : "backbone";
    for (const auto& label : links_.labels(shared, is_one, noun)) made.rows.push_back({label, "name"});
    for (const auto& label : links_.labels(others, is_one && others.size() <= most_named_links))
      made.rows.push_back({label, "link"});
    for (const auto& group : groups) made.children.push_back(node(group, same.size()));
    return made;
  }

  /// Whether nothing but direct links connects the children of the root.
  bool is_joined_directly(const PlatformTree& tree) const {
    return &tree == &tree_ && !tree.direct.empty() &&
           std::ranges::all_of(tree.children, [](const auto& child) { return child.own.empty(); });
  }

  /// "switch 2", "switches 2 to 5", "network 2: 9 links".
  std::string title_of(const Same& same, std::size_t links) {
    const bool is_one = same.size() == 1;
    const std::size_t first = switches_ + 1;
    switches_ += same.size();
    const std::string numbers = !is_one         ? fmt::format(" {} to {}", first, switches_)
                                : has_one_node_ ? ""
                                                : fmt::format(" {}", first);
    if (links == 0) return (is_one ? "switch" : "switches") + numbers;
    return fmt::format("{}{}: {} links", is_one ? "network" : "networks", numbers, links);
  }

  std::vector<DrawnLane> lanes_of(const PlatformTree& tree, const std::vector<Same>& groups) const {
    const auto place_of = [&](std::size_t child) {
      return static_cast<std::size_t>(std::ranges::find(groups, Same{&tree.children[child]}) -
                                      groups.begin());
    };
    std::vector<DrawnLane> lanes;
    for (const auto& direct : tree.direct)
      if (is_lane(tree, direct))
        for (const auto& label : links_.labels(direct.links, false))
          lanes.push_back({label, place_of(direct.from), place_of(direct.to)});
    return lanes;
  }

  const PlatformParts& platform_;
  NamedLinks links_;
  PlatformTree tree_;
  std::vector<bool> binding_hosts_;
  bool has_one_node_ = true;  ///< of a switch or a network
  std::size_t switches_ = 0;  ///< that have a number
};

std::string note_of(const PlatformParts& platform) {
  std::vector<std::string> notes;
  if (!platform.binds.links.empty())
    notes.emplace_back(
        "The busiest link has, for its bandwidth, the most routes between hosts that exchange gradients or "
        "samples.");
  if (!platform.binds.hosts.empty())
    notes.emplace_back("The slowest hosts are those of workers with the slowest device.");
  if (const auto left = platform.hosts_left_out; left > 0)
    notes.push_back(left == 1 ? "1 more host is not drawn."
                              : fmt::format("{} more hosts are not drawn.", left));
  return fmt::format("{}", fmt::join(notes, " "));
}

}  // namespace

DrawnPlatform platform_drawing(const PlatformParts& platform) {
  return {.title = platform.name, .note = note_of(platform), .root = Drawer(platform).root()};
}

void add_platforms(const std::optional<std::vector<DrawnPlatform>>& platforms, Page& page) {
  if (!platforms || platforms->empty()) return;
  page.add(Heading{2, platforms->size() == 1 ? "Platform" : "Platforms"});
  for (const auto& platform : *platforms) page.add(Drawing{platform});
}

}  // namespace tandem::validation
