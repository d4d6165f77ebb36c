// Obtains routes from SimGrid, in child processes.
#include <algorithm>
#include <nlohmann/json.hpp>
#include <set>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>
#include <simgrid/s4u/Link.hpp>
#include <sstream>

#include "platforms/load.hpp"
#include "platforms/simgrid_child.hpp"
#include "platforms/topology.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::platforms {
namespace {

namespace s4u = simgrid::s4u;
using nlohmann::json;

using Pairs = std::vector<Topology::Pair>;

// SimGrid throws, aborts or crashes where a zone lacks a route, depending on the routing. Each abort or crash
// costs a new child; after this many, the remaining routes count as unknown.
constexpr int kCrashLimit = 64;
constexpr int kSampledPartners = 12;
constexpr std::uint64_t kSampleSeed = 1;

std::vector<s4u::Link*> links_by_name(const s4u::Engine& engine) {
  auto links = engine.get_all_links();
  std::sort(links.begin(), links.end(),
            [](const auto* a, const auto* b) { return a->get_name() < b->get_name(); });
  return links;
}

json channels_to_json(const std::vector<s4u::Link*>& links) {
  json channels = json::array();
  for (const auto* link : links)
    channels.push_back({link->get_name(), link->get_bandwidth(), link->get_latency(), link->is_shared()});
  return channels;
}

/// [latency, [channels]] or, where there is no route, null.
json route_to_json(const s4u::Host& from, const s4u::Host& to,
                   const std::map<const s4u::Link*, int>& channel_of) {
  std::vector<s4u::Link*> links;
  double latency = 0.0;
  try {
    from.route_to(&to, links, &latency);
  } catch (const std::exception&) {
    return nullptr;
  }
  // A zone with full routing returns an empty route for a missing one.
  if (&from != &to && links.empty() && latency <= 0.0) return nullptr;
  json channels = json::array();
  for (const auto* link : links) channels.push_back(channel_of.at(link));
  return {latency, channels};
}

struct Answers {
  std::vector<Channel> channels;
  Topology::Routes routes;
};

/// Emits the channels on one line and then a line for each pair, from the pair number `first` on.
ChildResult ask_routes(const std::string& path, const std::vector<std::string>& hosts, const Pairs& pairs,
                       std::size_t first) {
  return ask_simgrid(
      path, [] {},
      [&](s4u::Engine& engine, const Emit& emit) {
        const auto links = links_by_name(engine);
        std::map<const s4u::Link*, int> channel_of;
        for (const auto* link : links) channel_of.emplace(link, static_cast<int>(channel_of.size()));
        emit(channels_to_json(links).dump() + '\n');
        std::vector<const s4u::Host*> named;
        for (const auto& host : hosts) named.push_back(engine.host_by_name(host));
        for (std::size_t i = first; i < pairs.size(); ++i) {
          const auto* from = named[static_cast<std::size_t>(pairs[i].first)];
          const auto* to = named[static_cast<std::size_t>(pairs[i].second)];
          emit(route_to_json(*from, *to, channel_of).dump() + '\n');
        }
      });
}

/// Reads what one child emitted; returns how many pairs it answered.
std::size_t read_answers(const ChildResult& result, const Pairs& pairs, std::size_t first, Answers& answers) {
  std::istringstream lines(result.output);
  std::string line;
  if (!std::getline(lines, line)) return 0;
  if (answers.channels.empty())
    for (const json& channel : json::parse(line))
      answers.channels.push_back({channel[0].get<std::string>(), BytesPerSecond(channel[1].get<double>()),
                                  Seconds(channel[2].get<double>()), channel[3].get<bool>()});
  std::size_t answered = 0;
  while (std::getline(lines, line)) {
    const json route = json::parse(line);
    auto& known = answers.routes[pairs[first + answered++]];
    if (!route.is_null()) known = Route{route[1].get<std::vector<int>>(), Seconds(route[0].get<double>())};
  }
  return answered;
}

Answers obtain_routes(const std::string& path, const std::vector<std::string>& hosts, const Pairs& pairs) {
  Answers answers;
  std::size_t next = 0;
  for (int crashes = 0; crashes < kCrashLimit; ++crashes) {
    const ChildResult result = ask_routes(path, hosts, pairs, next);
    const bool loaded = !result.output.empty();
    if (!loaded) throw ConfigError(path + ": SimGrid refuses this platform file: " + simgrid_message(result));
    next += read_answers(result, pairs, next, answers);
    if (next >= pairs.size()) break;
    answers.routes[pairs[next++]] = std::nullopt;
  }
  return answers;
}

Pairs all_pairs(int hosts, bool to_themselves) {
  Pairs pairs;
  for (int from = 0; from < hosts; ++from)
    for (int to = 0; to < hosts; ++to)
      if (from != to || to_themselves) pairs.emplace_back(from, to);
  return pairs;
}

/// Each host with the host half the list away, its neighbour, and random others, in both directions: enough
/// for a flow across the middle of the list to use every host's own link.
Pairs sampled_pairs(int hosts) {
  std::set<int> offsets{1, hosts / 2, hosts - hosts / 2};
  Rng rng = Rng::stream(kSampleSeed, "topology");
  while (offsets.size() < kSampledPartners)
    offsets.insert(1 + static_cast<int>(rng.below(static_cast<std::uint64_t>(hosts) - 1)));
  std::set<Topology::Pair> pairs;
  for (int host = 0; host < hosts; ++host)
    for (const int offset : offsets) {
      const int partner = (host + offset) % hosts;
      pairs.emplace(host, partner);
      pairs.emplace(partner, host);
    }
  return {pairs.begin(), pairs.end()};
}

std::optional<Path> ask_one(const std::string& path, const std::string& from, const std::string& to) {
  const std::vector<std::string> hosts = from == to ? std::vector{from} : std::vector{from, to};
  const int last = static_cast<int>(hosts.size()) - 1;
  Answers answers = obtain_routes(path, hosts, {{0, last}});
  return Topology(hosts, std::move(answers.channels), std::move(answers.routes)).between(from, to);
}

}  // namespace

Topology load_topology(const std::string& path, const TopologyOptions& options) {
  const Description description = load_platform(path);
  std::vector<std::string> hosts;
  if (options.hosts.empty())
    for (const auto& host : description.hosts) hosts.push_back(host.name);
  for (const auto& name : options.hosts) hosts.push_back(description.host(name).name);
  const int count = static_cast<int>(hosts.size());
  const bool sample = count > std::max(options.all_pairs_up_to, 2 * kSampledPartners);
  Answers answers =
      obtain_routes(path, hosts, sample ? sampled_pairs(count) : all_pairs(count, options.to_themselves));
  return Topology(std::move(hosts), std::move(answers.channels), std::move(answers.routes),
                  [path](const std::string& from, const std::string& to) { return ask_one(path, from, to); });
}

}  // namespace tandem::platforms
