// The network between hosts as a graph of SimGrid's routes. Pure data and graph algorithms (Boost.Graph);
// topology_load.cpp obtains the routes.
#pragma once

#include <functional>
#include <map>
#include <optional>
#include <string>
#include <unordered_map>
#include <utility>
#include <vector>

#include "platforms/description.hpp"
#include "platforms/description_network.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::platforms {

/// The route of a host pair in numbers.
struct Path {
  BytesPerSecond bandwidth;  ///< of the narrowest channel; infinity when the route has no channel
  Seconds latency;
  std::vector<std::string> channels;  ///< names, in order
};

struct Bisection {
  BytesPerSecond bandwidth;
  std::vector<std::string> half;  ///< hosts on one side of the narrowest split found
  bool exact = false;  ///< false: some other split may be narrower; with all routes known, an upper bound
};

/// The channels that limit the traffic from one group of hosts to all others.
struct Cut {
  BytesPerSecond bandwidth;           ///< of all its channels: the maximum flow
  std::vector<std::string> channels;  ///< names; empty if there is no route
  std::vector<std::string> from;
  std::vector<std::string> to;
  int as_narrow = 0;  ///< other splits of the same bandwidth per host
};

class Topology {
 public:
  /// From host, to host (indices into the host list); absent where there is no route.
  using Pair = std::pair<int, int>;
  using Routes = std::map<Pair, std::optional<Route>>;
  /// Called for pairs that `routes` does not have; its channels are matched to the topology's by name.
  using Ask = std::function<std::optional<Path>(const std::string& from, const std::string& to)>;

  Topology(std::vector<std::string> hosts, std::vector<Channel> channels, Routes routes, Ask ask = {});

  const std::vector<std::string>& hosts() const { return hosts_; }
  const std::vector<Channel>& channels() const { return channels_; }
  const Routes& routes() const { return routes_; }
  /// Whether the routes of all ordered host pairs are known, so that no result below is based on a sample.
  bool complete() const;

  /// The route between two hosts, obtained if it is not known yet; empty if there is none. Errors:
  /// ConfigError for an unknown host.
  std::optional<Path> between(const std::string& from, const std::string& to) const;

  /// The fewest channels from `from` to each host (0 to itself), over the graph below; -1 if unreachable.
  std::vector<int> fewest_channels(const std::string& from) const;

  /// The bisection bandwidth: the least, over splits of the hosts in two halves (of floor(n/2) and
  /// ceil(n/2)), of the maximum flow from one half to the other, in the direction in which it is smaller.
  ///
  /// The graph of a flow: a vertex for every channel, with its bandwidth as capacity, and an arc from one
  /// channel to another where some known route between the halves takes the one right after the other; hosts
  /// only send and receive. A FATPIPE channel counts once for each host pair across the split, because flows
  /// do not share it. By the theorem of Ford and Fulkerson the flow is the least capacity whose removal would
  /// separate the halves (Boost's Boykov-Kolmogorov algorithm).
  ///
  /// Finding the worst split is NP-hard in general. Interchangeable hosts, such as those of one cluster,
  /// leave few splits that differ: only the number of hosts of each kind in the half matters. A smallest cut
  /// treats the hosts of a kind and a side alike, so that the flow is the least of several linear functions
  /// of these numbers where no channel is between two hosts only. Such a function is concave, and least in a
  /// corner: at most one kind is on both sides. Where these splits are few, all are tried, and the result is
  /// exact. Otherwise these are tried: the file's order cut in the middle, and the halves nearest (by
  /// channels, then latency) to each of up to 16 hosts; the result is then an upper bound. With a sample of
  /// routes only the file's order is cut, and flows follow sampled routes only, so that the result is an
  /// estimate. Empty with fewer than two hosts.
  std::optional<Bisection> bisection() const;

  /// The split of the hosts in two groups, in one direction, that leaves each host of the smaller group the
  /// least bandwidth. Of equal ones, that of the larger groups.
  ///
  /// A channel that all routes from one group to the other contain divides the hosts; these are the splits
  /// tried, the narrowest first, each with its maximum flow in the graph of `bisection`, until no channel can
  /// divide the hosts more narrowly: exact on trees, and otherwise an upper bound. Only hosts whose routes to
  /// all others are known show what a channel divides. Empty with fewer than two hosts.
  std::optional<Cut> narrowest_cut() const;

 private:
  struct Split {
    std::vector<bool> from;
    double share;  ///< bandwidth of its channel for each host of the smaller group
    std::size_t smaller;
  };
  struct Flow {
    double bandwidth;
    std::vector<int> cut;  ///< channels that are full, and limit it
  };
  int index_of(const std::string& host) const;
  std::vector<std::vector<int>> users_of_channels() const;
  bool interchangeable(int a, int b, const std::vector<std::vector<int>>& users) const;
  std::vector<std::vector<int>> kinds_of_hosts(const std::vector<std::vector<int>>& users) const;
  std::vector<std::vector<bool>> sufficient_splits() const;
  std::vector<std::vector<bool>> some_splits() const;
  Flow flow_across(const std::vector<bool>& half, bool from_half) const;
  std::vector<Split> dividing_splits() const;
  std::vector<int> fewest_channels(int from) const;

  std::vector<std::string> hosts_;
  std::unordered_map<std::string, int> host_index_;
  std::vector<Channel> channels_;
  Routes routes_;
  Ask ask_;
  mutable std::map<Pair, std::optional<Path>> asked_;
};

/// Of each host, in a sample of routes.
inline constexpr int sampled_partners = 12;

struct TopologyOptions {
  std::vector<std::string> hosts = {};  ///< only between these; empty: all
  int all_pairs_up_to = 200;            ///< with more hosts, routes are sampled, in both directions
  int partners = sampled_partners;
  bool to_themselves = false;          ///< with all pairs: also the route from each host to itself
  std::vector<std::string> hubs = {};  ///< of the hosts; their routes to and from all are never left out
};

/// Obtains the routes of a platform file from SimGrid; with a sample, only the channels on these. Pairs for
/// which SimGrid crashes or reports an error have no route. Errors: ConfigError as load_platform; also for an
/// unknown host in `options`. Pre: as load_platform; also for Topology::between of a pair that was not
/// sampled.
Topology load_topology(const std::string& path, const TopologyOptions& options = {});
/// Of a platform that was loaded: SimGrid builds it once less.
Topology load_topology(const Description& description, const TopologyOptions& options = {});

struct Overview {
  Description description;
  Topology topology;
};

/// A platform and its network for a summary, which SimGrid loads only once: of more than 2,048 hosts every
/// n-th; if routes are sampled, also all to and from three hosts; no channels that are on none of these
/// routes. Errors and pre: as load_topology.
Overview load_overview(const std::string& path, int all_pairs_up_to = TopologyOptions().all_pairs_up_to);

}  // namespace tandem::platforms
