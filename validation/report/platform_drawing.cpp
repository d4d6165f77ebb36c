#include "validation/report/platform_drawing.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <array>
#include <map>
#include <string>
#include <vector>

#include "validation/report/view.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;
using Links = std::vector<std::string>;

std::string scaled(double value, const std::array<const char*, 5>& units) {
  std::size_t unit = 0;
  for (; value >= 1000.0 && unit + 1 < units.size(); ++unit) value /= 1000.0;
  return fmt::format("{:.3g} {}", value, units[unit]);
}

/// Link names by number of host, and the routes between them.
class Routes {
 public:
  explicit Routes(const json& platform) {
    std::map<std::string, std::size_t> index;
    for (const auto& host : platform.at("hosts")) index.emplace(host.at("name"), index.size());
    size_ = index.size();
    routes_.resize(size_ * size_);
    for (const auto& route : platform.at("routes"))
      routes_[index.at(route.at("from")) * size_ + index.at(route.at("to"))] = route.at("links").get<Links>();
    for (std::size_t host = 0; host < size_; ++host) own_.push_back(common_start(host));
    keep_only_own();
  }

  std::size_t size() const { return size_; }
  /// Links that all routes of the host begin with, and no other host's.
  const Links& own(std::size_t host) const { return own_[host]; }
  /// The links between those of the two hosts.
  Links between(std::size_t from, std::size_t to) const {
    Links links = routes_[from * size_ + to];
    std::erase_if(links, [&](const std::string& link) {
      return contains(own_[from], link) || contains(own_[to], link);
    });
    return links;
  }
  std::size_t nearest(std::size_t host) const {
    std::size_t fewest = std::string::npos;
    for (std::size_t other = 0; other < size_; ++other)
      if (other != host) fewest = std::min(fewest, between(host, other).size());
    return fewest;
  }

 private:
  static bool contains(const Links& links, const std::string& link) {
    return std::find(links.begin(), links.end(), link) != links.end();
  }

  Links common_start(std::size_t host) const {
    Links start;
    bool is_first = true;
    for (std::size_t other = 0; other < size_; ++other) {
      if (other == host) continue;
      const Links& route = routes_[host * size_ + other];
      if (is_first) start = route;
      is_first = false;
      const auto end = std::mismatch(start.begin(), start.end(), route.begin(), route.end()).first;
      start.erase(end, start.end());
    }
    // With two hosts the whole route is common; each has its first link.
    if (size_ == 2 && start.size() > 1) start.resize(1);
    return start;
  }

  /// A link that several hosts' routes begin with belongs to none of them.
  void keep_only_own() {
    std::map<std::string, int> users;
    for (const auto& links : own_)
      for (const auto& link : links) ++users[link];
    for (auto& links : own_)
      std::erase_if(links, [&](const std::string& link) { return users.at(link) > 1; });
  }

  std::size_t size_ = 0;
  std::vector<Links> routes_;  ///< by from * size + to
  std::vector<Links> own_;
};

/// Hosts of one switch, by the hosts' numbers.
std::vector<std::vector<std::size_t>> switches_of(const Routes& routes) {
  std::vector<std::vector<std::size_t>> switches;
  for (std::size_t host = 0; host < routes.size(); ++host) {
    const auto found = std::find_if(switches.begin(), switches.end(), [&](const auto& members) {
      const std::size_t distance = routes.between(host, members.front()).size();
      return distance == routes.nearest(host) && distance == routes.nearest(members.front());
    });
    if (found == switches.end())
      switches.push_back({host});
    else
      found->push_back(host);
  }
  return switches;
}

class Labels {
 public:
  explicit Labels(const json& platform) {
    for (const auto& link : platform.at("links")) links_[link.at("name")] = &link;
  }
  /// "cable-1: 1 Gb/s, 50 µs"; several links follow each other.
  std::string of(const Links& names) const {
    std::vector<std::string> texts;
    for (const auto& name : names) {
      const auto found = links_.find(name);
      texts.push_back(found == links_.end() ? name : name + ": " + rate_of(*found->second));
    }
    return fmt::format("{}", fmt::join(texts, " · "));
  }
  /// Without names: equal hosts have equal ones.
  std::string rates(const Links& names) const {
    std::vector<std::string> texts;
    for (const auto& name : names)
      if (const auto found = links_.find(name); found != links_.end())
        texts.push_back(rate_of(*found->second));
    return fmt::format("{}", fmt::join(texts, " · "));
  }

 private:
  static std::string rate_of(const json& link) {
    return scaled(link.at("bytes_per_s").get<double>() * 8, {"bit/s", "kb/s", "Mb/s", "Gb/s", "Tb/s"}) +
           ", " + with_unit(link.at("latency_s"), Unit::seconds);
  }
  std::map<std::string, const json*> links_;
};

std::string about(const json& host) {
  const std::string precision = host.at("precision");
  return fmt::format("{} of {}{}{}{}", host.at("device").get<std::string>(),
                     scaled(host.at("flops_per_s"), {"flop/s", "kflop/s", "Mflop/s", "Gflop/s", "Tflop/s"}),
                     precision.empty() ? "" : " in " + precision, host.at("roles").empty() ? "" : "; ",
                     fmt::join(host.at("roles").get<std::vector<std::string>>(), ", "));
}

json hosts_of(const json& platform, const Routes& routes, const Labels& labels,
              const std::vector<std::size_t>& members) {
  constexpr std::size_t most_equal = 4;
  std::map<std::pair<std::string, std::string>, std::vector<std::size_t>> kinds;
  for (const std::size_t host : members)
    kinds[{about(platform.at("hosts")[host]), labels.rates(routes.own(host))}].push_back(host);
  const auto name_of = [&](std::size_t host) {
    return platform.at("hosts")[host].at("name").get<std::string>();
  };
  json hosts = json::array();
  for (const std::size_t host : members) {
    const std::string text = about(platform.at("hosts")[host]);
    const auto& equal = kinds.at({text, labels.rates(routes.own(host))});
    if (equal.size() <= most_equal)
      hosts.push_back({{"name", name_of(host)}, {"about", text}, {"link", labels.of(routes.own(host))}});
    else if (equal.front() == host)
      hosts.push_back(
          {{"name", fmt::format("{} to {} ({} hosts)", name_of(host), name_of(equal.back()), equal.size())},
           {"about", text},
           {"link", "each " + labels.rates(routes.own(host))}});
  }
  return hosts;
}

/// The ways between switches, each switch in the place of a host.
Routes routes_between(const std::vector<std::vector<std::size_t>>& switches, const Routes& routes) {
  json hosts = json::array(), ways = json::array();
  for (std::size_t a = 0; a < switches.size(); ++a) {
    hosts.push_back({{"name", std::to_string(a)}});
    for (std::size_t b = 0; b < switches.size(); ++b)
      if (a != b)
        ways.push_back({{"from", std::to_string(a)},
                        {"to", std::to_string(b)},
                        {"links", routes.between(switches[a].front(), switches[b].front())}});
  }
  return Routes({{"hosts", std::move(hosts)}, {"routes", std::move(ways)}});
}

/// Switches that the same links connect, besides the links of their own.
json trunks_of(const Routes& switches, const Labels& labels) {
  json trunks = json::array();
  std::map<Links, std::size_t> known;
  for (std::size_t a = 0; a < switches.size(); ++a)
    for (std::size_t b = a + 1; b < switches.size(); ++b) {
      const Links shared = switches.between(a, b);
      const auto [at, is_new] = known.emplace(shared, trunks.size());
      if (is_new) trunks.push_back({{"between", json::array()}, {"label", labels.of(shared)}});
      json& between = trunks[at->second]["between"];
      for (const std::size_t end : {a, b})
        if (std::find(between.begin(), between.end(), end) == between.end()) between.push_back(end);
    }
  return trunks;
}

}  // namespace

json platform_drawing(const json& platform) {
  const Routes routes(platform);
  const Labels labels(platform);
  const auto members = switches_of(routes);
  const Routes between = routes_between(members, routes);
  json switches = json::array();
  for (std::size_t i = 0; i < members.size(); ++i) {
    const auto& hosts = members[i];
    const Links inside = hosts.size() < 2 ? Links() : routes.between(hosts[0], hosts[1]);
    json labels_inside = json::array();
    for (const auto& link : inside) labels_inside.push_back(labels.of({link}));
    switches.push_back({{"inside", std::move(labels_inside)},
                        {"link", labels.of(between.own(i))},
                        {"hosts", hosts_of(platform, routes, labels, hosts)}});
  }
  const int left = platform.at("hosts_left_out");
  return {{"title", platform.at("name")},
          {"note", left == 0 ? "" : fmt::format("{} more hosts are not drawn.", left)},
          {"switches", std::move(switches)},
          {"trunks", trunks_of(between, labels)}};
}

void add_platforms(const json& document, Page& page) {
  const json platforms = document.value("platforms", json::array());
  if (platforms.empty()) return;
  page.add(Heading{2, platforms.size() == 1 ? "Platform" : "Platforms"});
  for (const auto& platform : platforms) page.add(Drawing{platform_drawing(platform)});
}

}  // namespace tandem::validation
