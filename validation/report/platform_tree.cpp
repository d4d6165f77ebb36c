#include "validation/report/platform_tree.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <set>
#include <utility>

namespace tandem::validation {
namespace {

/// A link on the way from one node to another.
struct Crossing {
  std::size_t place = 0;  ///< on the route between hosts on which it is nearest to the first node
  bool is_on_all = true;  ///< routes between hosts
};
using Way = std::optional<std::map<int, Crossing>>;
using Pair = std::pair<std::size_t, std::size_t>;  ///< the smaller number first

/// Which nodes' messages cross a link.
struct LinkUse {
  std::set<Pair> pairs;
  std::set<std::size_t> in_all;  ///< nodes that are in each of the pairs
};

/// Nodes without a node above, and the ways between them.
class Level {
 public:
  explicit Level(const HostRoutes& routes) : kinds_(routes.kinds) {
    for (std::size_t host = 0; host < routes.hosts; ++host) nodes_.push_back({{host}, {}, {}, {}, {}, {}});
    for (const auto& route : routes.routes) {
      Way& way = ways_.emplace_back();
      if (!route) continue;
      way.emplace();
      for (const int link : *route) way->emplace(link, Crossing{way->size()});
    }
    count_uses();
  }

  PlatformTree root() {
    for (;;) {
      take_own_links();
      const auto groups = alike();
      if (groups.size() == 1 || groups.size() == nodes_.size()) break;
      combine(groups);
    }
    if (nodes_.size() == 1) return std::move(nodes_.front());
    std::vector<std::size_t> all(nodes_.size());
    for (std::size_t i = 0; i < all.size(); ++i) all[i] = i;
    return node_above(all);
  }

 private:
  const Way& way(std::size_t from, std::size_t to) const { return ways_[from * nodes_.size() + to]; }

  void count_uses() {
    uses_.clear();
    for (std::size_t from = 0; from < nodes_.size(); ++from)
      for (std::size_t to = 0; to < nodes_.size(); ++to) {
        if (from == to || !way(from, to)) continue;
        for (const auto& [link, crossing] : *way(from, to)) {
          LinkUse& use = uses_[link];
          const Pair pair = std::minmax(from, to);
          if (!use.pairs.insert(pair).second) continue;
          if (use.pairs.size() == 1)
            use.in_all = {from, to};
          else
            std::erase_if(use.in_all, [&](std::size_t node) { return node != from && node != to; });
        }
      }
  }

  bool is_direct(int link) const { return uses_.at(link).in_all.size() == 2; }

  /// How many others the node has a way to or from.
  std::size_t partners(std::size_t node) const {
    std::size_t count = 0;
    for (std::size_t other = 0; other < nodes_.size(); ++other)
      count += other != node && (way(node, other) || way(other, node)) ? 1 : 0;
    return count;
  }

  std::size_t place_of(int link, std::size_t from, std::size_t to) const {
    constexpr std::size_t nowhere = std::numeric_limits<std::size_t>::max();
    const Way& links = way(from, to);
    return links && links->contains(link) ? links->at(link).place : nowhere;
  }

  /// The node whose own link this is. Of two that are each other's only partner, the nearer one.
  std::optional<std::size_t> owner(int link) const {
    const auto& nodes = uses_.at(link).in_all;
    if (nodes.empty()) return std::nullopt;
    const std::size_t one = *nodes.begin(), other = *nodes.rbegin();
    if (one == other) return one;
    const bool is_all_of_one = partners(one) == 1, is_all_of_other = partners(other) == 1;
    if (is_all_of_one != is_all_of_other) return is_all_of_one ? one : other;
    const std::size_t from_one = place_of(link, one, other), from_other = place_of(link, other, one);
    if (!is_all_of_one || from_one == from_other) return std::nullopt;
    return from_one < from_other ? one : other;
  }

  void take_own_links() {
    std::map<std::size_t, std::vector<std::pair<std::size_t, int>>> found;
    for (const auto& [link, use] : uses_) {
      const auto node = owner(link);
      if (!node) continue;
      std::size_t nearest = std::numeric_limits<std::size_t>::max();
      for (std::size_t other = 0; other < nodes_.size(); ++other)
        if (other != *node) nearest = std::min(nearest, place_of(link, *node, other));
      found[*node].emplace_back(nearest, link);
    }
    for (auto& [node, links] : found) {
      std::sort(links.begin(), links.end());
      for (const auto& [place, link] : links) {
        nodes_[node].own.push_back(link);
        forget(link);
      }
    }
  }

  /// Once the link has its place in the tree.
  void forget(int link) {
    uses_.erase(link);
    for (Way& links : ways_)
      if (links) links->erase(link);
  }

  /// The links of a way without names where these do not matter: two nodes with direct links of one kind to a
  /// third have the same ways.
  std::optional<std::multiset<int>> without_names(const Way& links) const {
    if (!links) return std::nullopt;
    std::multiset<int> result;
    for (const auto& [link, crossing] : *links)
      result.insert(is_direct(link) ? -1 - kinds_[static_cast<std::size_t>(link)] : link);
    return result;
  }

  std::vector<std::vector<std::size_t>> alike() const {
    std::vector<std::optional<std::multiset<int>>> ways;
    for (const Way& links : ways_) ways.push_back(without_names(links));
    const std::size_t n = nodes_.size();
    std::vector<std::vector<std::size_t>> groups;
    for (std::size_t node = 0; node < n; ++node) {
      const auto found = std::ranges::find_if(groups, [&](const auto& group) {
        for (std::size_t other = 0; other < n; ++other)
          if (other != node && other != group.front() &&
              ways[node * n + other] != ways[group.front() * n + other])
            return false;
        return true;
      });
      if (found == groups.end())
        groups.push_back({node});
      else
        found->push_back(node);
    }
    return groups;
  }

  /// Takes the nodes, and the links between them.
  PlatformTree node_above(const std::vector<std::size_t>& members) {
    PlatformTree node;
    std::map<int, std::set<Pair>> links;  // pairs of children, from and to
    std::map<int, std::size_t> on_all;    // ways
    std::size_t ways = 0;
    for (std::size_t from = 0; from < members.size(); ++from)
      for (std::size_t to = 0; to < members.size(); ++to) {
        const Way& links_there = way(members[from], members[to]);
        if (from == to || !links_there) continue;
        ++ways;
        for (const auto& [link, crossing] : *links_there) {
          links[link].emplace(from, to);
          if (crossing.is_on_all) ++on_all[link];
        }
      }
    std::map<Pair, std::vector<int>> direct;
    for (const auto& [link, users] : links) {
      if (on_all[link] == ways)
        node.shared.push_back(link);
      else if (is_direct(link))
        direct[std::minmax(users.begin()->first, users.begin()->second)].push_back(link);
      else
        node.mesh.push_back(link);
    }
    for (auto& [ends, own] : direct) node.direct.push_back({ends.first, ends.second, std::move(own)});
    for (const auto& [link, users] : links) forget(link);
    for (const std::size_t member : members) {
      auto& child = nodes_[member];
      node.hosts.insert(node.hosts.end(), child.hosts.begin(), child.hosts.end());
      node.children.push_back(std::move(child));
    }
    return node;
  }

  /// The way from all hosts in the one group of nodes to all in the other.
  Way joined_way(const std::vector<std::size_t>& from_group, const std::vector<std::size_t>& to_group) const {
    Way joined;
    std::size_t ways = 0;
    std::map<int, std::size_t> on_all;
    for (const std::size_t from : from_group)
      for (const std::size_t to : to_group) {
        if (!way(from, to)) continue;
        ++ways;
        if (!joined) joined.emplace();
        for (const auto& [link, crossing] : *way(from, to)) {
          auto& nearest = joined->emplace(link, crossing).first->second.place;
          nearest = std::min(nearest, crossing.place);
          on_all[link] += crossing.is_on_all ? 1 : 0;
        }
      }
    if (joined)
      for (auto& [link, crossing] : *joined) crossing.is_on_all = on_all.at(link) == ways;
    return joined;
  }

  void combine(const std::vector<std::vector<std::size_t>>& groups) {
    std::vector<PlatformTree> nodes;
    for (const auto& group : groups)
      nodes.push_back(group.size() == 1 ? std::move(nodes_[group.front()]) : node_above(group));
    std::vector<Way> ways(groups.size() * groups.size());
    for (std::size_t a = 0; a < groups.size(); ++a)
      for (std::size_t b = 0; b < groups.size(); ++b) {
        if (a == b) continue;
        ways[a * groups.size() + b] = joined_way(groups[a], groups[b]);
      }
    nodes_ = std::move(nodes);
    ways_ = std::move(ways);
    count_uses();
  }

  std::vector<int> kinds_;
  std::vector<PlatformTree> nodes_;
  std::vector<Way> ways_;  ///< by from * number of nodes + to
  std::map<int, LinkUse> uses_;
};

}  // namespace

PlatformTree platform_tree(const HostRoutes& routes) { return Level(routes).root(); }

}  // namespace tandem::validation
