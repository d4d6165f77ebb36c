// Obtains routes from SimGrid, in child processes.
#include <sys/resource.h>

#include <algorithm>
#include <cmath>
#include <csetjmp>
#include <csignal>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <simgrid/s4u/Engine.hpp>
#include <simgrid/s4u/Host.hpp>
#include <simgrid/s4u/Link.hpp>
#include <sstream>
#include <string_view>
#include <unordered_map>
#include <unordered_set>

#include "platforms/load.hpp"
#include "platforms/platform_reader.hpp"
#include "platforms/refusal.hpp"
#include "platforms/short_clusters.hpp"
#include "platforms/simgrid_child.hpp"
#include "platforms/topology.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::platforms {
namespace {

namespace s4u = simgrid::s4u;
using nlohmann::json;

using Pairs = std::vector<Topology::Pair>;

// SimGrid throws, aborts or crashes where a zone lacks a route, depending on the routing. Each crash costs a
// new child; after this many, the remaining routes count as unknown.
constexpr int kCrashLimit = 64;
// Number of pairs of hosts after which two zones have no route between them, if SimGrid aborted for all of
// these pairs. An abort takes 0.1 ms, and there can be tens of thousands.
constexpr int kAbortsOfApartZones = 3;
constexpr std::size_t kOverviewHosts = 2048;
constexpr std::uint64_t kSampleSeed = 1;

std::vector<s4u::Link*> links_by_name(const s4u::Engine& engine) {
  auto links = engine.get_all_links();
  std::sort(links.begin(), links.end(),
            [](const auto* a, const auto* b) { return a->get_name() < b->get_name(); });
  return links;
}

/// Continues after an abort inside SimGrid, which its failed checks end in: a new child would load the file
/// again, and SimGrid's backtrace takes a second. A route that SimGrid crashes on, which leaves its memory in
/// an unknown state, still ends the child.
class AbortGuard {
 public:
  AbortGuard() {
    std::signal(SIGABRT, [](int) { siglongjmp(back_, 1); });
    // The backtrace reads the debugging information of every library, and its text goes nowhere. Sanitizers
    // need files to check addresses.
#ifndef __SANITIZE_ADDRESS__
    const rlimit no_more_files{0, 0};
    setrlimit(RLIMIT_NOFILE, &no_more_files);
#endif
  }
  /// False if the action aborted.
  template <class Action>
  bool completes(const Action& action) {
    if (sigsetjmp(back_, 1) != 0) return false;
    action();
    return true;
  }

 private:
  static inline sigjmp_buf back_;
};

/// Emits routes, and each channel before the first route that contains it. Errors: ConfigError for a figure
/// that is not finite, which JSON cannot express: a sum of finite latencies, or of coordinates, can be so.
class RouteWriter {
 public:
  RouteWriter(std::string file, const s4u::Engine& engine, const ShortClusters& clusters, const Emit& emit)
      : file_(std::move(file)), engine_(engine), clusters_(clusters), emit_(emit) {}

  int channel(const s4u::Link& link, const std::string& name) {
    const auto [found, fresh] = numbers_.try_emplace(name, static_cast<int>(numbers_.size()));
    // Of SimGrid's own loopback, which <config> sets, nothing was checked before.
    for (const double figure : {link.get_bandwidth(), link.get_latency()})
      if (!std::isfinite(figure)) refuse("link '" + name + "'", figure);
    if (fresh)
      emit_('+' + json{name, link.get_bandwidth(), link.get_latency(), link.is_shared()}.dump() + '\n');
    return found->second;
  }

  /// [latency, [channels]] or, where there is no route, null. Hosts that SimGrid did not build have the
  /// routes of others, with links of their own.
  void route(const std::string& from_name, const std::string& to_name) {
    const s4u::Host* const one = engine_.host_by_name_or_null(from_name);
    const s4u::Host* const other = engine_.host_by_name_or_null(to_name);
    const s4u::Host& from = one != nullptr ? *one : built_like(from_name, other);
    const s4u::Host& to = other != nullptr       ? *other
                          : from_name == to_name ? from
                                                 : built_like(to_name, &from);
    std::vector<s4u::Link*> links;
    double latency = 0.0;
    bool found = true;
    int* const aborts = aborts_between(from, to);
    if (aborts != nullptr && *aborts >= kAbortsOfApartZones) return emit_("null\n");
    const bool completed = guard_.completes([&] {
      try {
        from.route_to(&to, links, &latency);
      } catch (const std::exception&) {
        found = false;
      }
    });
    // A zone with full routing returns an empty route for a missing one.
    if (&from != &to && links.empty() && latency <= 0.0) found = false;
    if (aborts != nullptr && *aborts >= 0) *aborts = completed ? -1 : *aborts + 1;
    if (!completed || !found) return emit_("null\n");
    if (!std::isfinite(latency))
      refuse("route from host '" + from_name + "' to host '" + to_name + "'", latency);
    json channels = json::array();
    for (const auto* link : links) {
      const std::string of_from = clusters_.link_of(from_name, from.get_name(), link->get_name());
      channels.push_back(channel(*link, clusters_.link_of(to_name, to.get_name(), of_from)));
    }
    emit_(json{latency, channels}.dump() + '\n');
  }

 private:
  [[noreturn]] void refuse(const std::string& place, double figure) const {
    throw ConfigError(file_ + ": " + place + ": expected a finite bandwidth and latency, found " +
                      std::to_string(figure));
  }
  const s4u::Host& built_like(const std::string& name, const s4u::Host* another_than) const {
    for (const std::string& built : clusters_.built_like(name))
      if (const auto* const host = engine_.host_by_name_or_null(built);
          host != nullptr && host != another_than)
        return *host;
    throw ConfigError(file_ + ": SimGrid did not build host '" + name + "'");
  }
  /// How often SimGrid aborted on pairs of hosts in these two zones; -1 once it did not. Null within a zone,
  /// where a missing route concerns two hosts alone.
  int* aborts_between(const s4u::Host& from, const s4u::Host& to) {
    const auto* const one = from.get_englobing_zone();
    const auto* const other = to.get_englobing_zone();
    return one == other ? nullptr : &aborts_[{one, other}];
  }

  std::string file_;
  const s4u::Engine& engine_;
  const ShortClusters& clusters_;
  const Emit& emit_;
  AbortGuard guard_;
  std::map<std::pair<const s4u::NetZone*, const s4u::NetZone*>, int> aborts_;
  std::unordered_map<std::string, int> numbers_;
};

struct Answers {
  std::vector<Channel> channels;
  Topology::Routes routes;
};

/// What routes are asked for.
struct Question {
  std::string path;
  std::vector<std::string> hosts;
  Pairs pairs;
  bool all_channels;  ///< also those that no route contains
};

/// Emits the end of a line once the file is loaded, and then a line for each pair, from the pair number
/// `first` on.
void write_routes(const s4u::Engine& engine, const ShortClusters& clusters, const Question& question,
                  std::size_t first, const Emit& emit) {
  std::string lines = "\n";
  const auto flush = [&] {
    emit(lines);
    lines.clear();
  };
  const Emit collect = [&](std::string_view line) { lines += line; };
  RouteWriter writer(question.path, engine, clusters, collect);
  if (question.all_channels)
    for (const auto* link : links_by_name(engine)) writer.channel(*link, link->get_name());
  for (std::size_t i = first; i < question.pairs.size(); ++i) {
    // What precedes a crash must have been sent.
    flush();
    writer.route(question.hosts[static_cast<std::size_t>(question.pairs[i].first)],
                 question.hosts[static_cast<std::size_t>(question.pairs[i].second)]);
  }
  flush();
}

ChildResult ask_routes(const ShortClusters& clusters, const Question& question, std::size_t first) {
  return ask_simgrid(
      question.path, [] {},
      [&](s4u::Engine& engine, const Emit& emit) { write_routes(engine, clusters, question, first, emit); },
      clusters.text());
}

/// Combines the answers of the children; a channel has the same name in each, but another number.
class AnswerReader {
 public:
  explicit AnswerReader(const Pairs& pairs) : pairs_(pairs) {}

  /// Reads the output of one child; returns the number of pairs that it answered.
  std::size_t read(const ChildResult& result, std::size_t first) {
    std::istringstream lines(result.output);
    std::string line;
    std::getline(lines, line);
    std::vector<int> numbers;
    std::size_t answered = 0;
    while (std::getline(lines, line)) {
      if (line.front() == '+') {
        numbers.push_back(channel(json::parse(line.substr(1))));
        continue;
      }
      const json route = json::parse(line);
      auto& known = answers_.routes[pairs_[first + answered++]];
      if (route.is_null()) continue;
      known = Route{{}, Seconds(route[0].get<double>())};
      for (const json& number : route[1]) known->channels.push_back(numbers[number.get<std::size_t>()]);
    }
    return answered;
  }

  void no_route(std::size_t pair) { answers_.routes[pairs_[pair]] = std::nullopt; }

  /// The channels in the order of their names.
  Answers take() {
    std::vector<int> place(answers_.channels.size());
    std::vector<Channel> sorted;
    for (const auto& [name, number] : numbers_) {
      place[static_cast<std::size_t>(number)] = static_cast<int>(sorted.size());
      sorted.push_back(answers_.channels[static_cast<std::size_t>(number)]);
    }
    answers_.channels = std::move(sorted);
    for (auto& [pair, route] : answers_.routes)
      if (route)
        for (int& channel : route->channels) channel = place[static_cast<std::size_t>(channel)];
    return std::move(answers_);
  }

 private:
  int channel(const json& from) {
    const auto [found, fresh] =
        numbers_.try_emplace(from[0].get<std::string>(), static_cast<int>(answers_.channels.size()));
    if (fresh)
      answers_.channels.push_back({found->first, BytesPerSecond(from[1].get<double>()),
                                   Seconds(from[2].get<double>()), from[3].get<bool>()});
    return found->second;
  }

  const Pairs& pairs_;
  std::map<std::string, int> numbers_;
  Answers answers_;
};

/// Errors: ConfigError when the file was not loaded, or a check or a limit ended the child.
void check_loaded(const PlatformXml& xml, const ChildResult& result) {
  const bool loaded = !result.output.empty();
  const bool crashed = result.signal != 0 && over_time_limit(result).empty();
  if (!loaded || (!result.succeeded && !crashed)) throw refusal(xml, result);
}

/// Reads the answer of the first child; others continue after each pair that SimGrid crashed on.
Answers complete_answers(const PlatformXml& xml, const ShortClusters& clusters, const Question& question,
                         ChildResult result) {
  AnswerReader reader(question.pairs);
  std::size_t next = 0;
  for (int crashes = 1;; ++crashes) {
    next += reader.read(result, next);
    if (next >= question.pairs.size()) break;
    reader.no_route(next++);
    if (next >= question.pairs.size() || crashes == kCrashLimit) break;
    result = ask_routes(clusters, question, next);
    check_loaded(xml, result);
  }
  return reader.take();
}

Answers obtain_routes(const Question& question) {
  const PlatformXml xml(question.path);
  const ShortClusters clusters(xml);
  ChildResult result = ask_routes(clusters, question, 0);
  check_loaded(xml, result);
  return complete_answers(xml, clusters, question, std::move(result));
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
Pairs sampled_pairs(int hosts, int partners = sampled_partners) {
  std::set<int> offsets{hosts / 2};
  if (partners > 1) offsets.insert({1, hosts - hosts / 2});
  Rng rng = Rng::stream(kSampleSeed, "topology");
  while (std::ssize(offsets) < partners)
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

/// To and from these.
void add_pairs_of(const std::vector<int>& ends, int hosts, Pairs& pairs) {
  std::set<Topology::Pair> all(pairs.begin(), pairs.end());
  for (const int end : ends)
    for (int host = 0; host < hosts; ++host)
      if (host != end) {
        all.emplace(end, host);
        all.emplace(host, end);
      }
  pairs.assign(all.begin(), all.end());
}

std::optional<Path> ask_one(const std::string& path, const std::string& from, const std::string& to) {
  const std::vector<std::string> hosts = from == to ? std::vector{from} : std::vector{from, to};
  const int last = static_cast<int>(hosts.size()) - 1;
  Answers answers = obtain_routes({path, hosts, {{0, last}}, false});
  return Topology(hosts, std::move(answers.channels), std::move(answers.routes)).between(from, to);
}

/// At equal distances in the list.
std::vector<std::string> spread_over(const std::vector<std::string>& names, std::size_t count) {
  if (names.size() <= count) return names;
  std::vector<std::string> chosen;
  for (std::size_t i = 0; i < count; ++i) chosen.push_back(names[i * names.size() / count]);
  return chosen;
}

std::vector<std::string> names_of(const std::vector<Host>& hosts) {
  std::vector<std::string> names;
  for (const auto& host : hosts) names.push_back(host.name);
  return names;
}

std::vector<int> places_of(const std::vector<std::string>& names, const std::vector<std::string>& among) {
  std::vector<int> places;
  for (const auto& name : names) {
    const auto found = std::ranges::find(among, name);
    TANDEM_CHECK(found != among.end(), "host", name);
    places.push_back(static_cast<int>(found - among.begin()));
  }
  return places;
}

bool is_sampled(int hosts, int all_pairs_up_to) {
  return hosts > std::max(all_pairs_up_to, 2 * sampled_partners);
}

Question overview_question(const Description& description, int all_pairs_up_to) {
  Question question{description.file, spread_over(names_of(description.hosts), kOverviewHosts), {}, false};
  const int count = static_cast<int>(question.hosts.size());
  const bool sampled = is_sampled(count, all_pairs_up_to);
  question.pairs = sampled ? sampled_pairs(count) : all_pairs(count, false);
  // The first host, the one in the middle and the last one show which hosts a channel divides.
  if (sampled) add_pairs_of({0, count / 2, count - 1}, count, question.pairs);
  return question;
}

Topology topology_of(const Question& question, Answers answers) {
  return Topology(question.hosts, std::move(answers.channels), std::move(answers.routes),
                  [path = question.path](const std::string& from, const std::string& to) {
                    return ask_one(path, from, to);
                  });
}

}  // namespace

Topology load_topology(const std::string& path, const TopologyOptions& options) {
  return load_topology(load_platform(path), options);
}

Topology load_topology(const Description& description, const TopologyOptions& options) {
  Question question{
      description.file, options.hosts.empty() ? names_of(description.hosts) : options.hosts, {}, false};
  std::unordered_set<std::string_view> unknown(question.hosts.begin(), question.hosts.end());
  for (const Host& host : description.hosts) unknown.erase(host.name);
  for (const auto& name : question.hosts)
    if (unknown.contains(name)) description.host(name);
  const int count = static_cast<int>(question.hosts.size());
  const bool sampled = is_sampled(count, options.all_pairs_up_to);
  question.all_channels = !sampled;
  question.pairs = sampled ? sampled_pairs(count, options.partners) : all_pairs(count, options.to_themselves);
  if (sampled) add_pairs_of(places_of(options.hubs, question.hosts), count, question.pairs);
  return topology_of(question, obtain_routes(question));
}

Overview load_overview(const std::string& path, int all_pairs_up_to) {
  PlatformReader reader(path);
  ChildResult result = ask_simgrid(
      path, [&] { reader.watch(); },
      [&](s4u::Engine& engine, const Emit& emit) {
        Description read = reader.read(engine);
        emit(PlatformReader::to_line(read));
        reader.clusters().complete(read);
        write_routes(engine, reader.clusters(), overview_question(read, all_pairs_up_to), 0, emit);
      },
      reader.clusters().text());
  check_loaded(reader.xml(), result);
  Overview overview{reader.from_line(result.output.substr(0, result.output.find('\n'))), {{}, {}, {}}};
  const Question question = overview_question(overview.description, all_pairs_up_to);
  overview.topology =
      topology_of(question, complete_answers(reader.xml(), reader.clusters(), question, std::move(result)));
  return overview;
}

}  // namespace tandem::platforms
