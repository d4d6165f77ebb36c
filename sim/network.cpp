// Factors on the latency and bandwidth of SimGrid's routes.
#include "sim/network.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <set>
#include <simgrid/kernel/resource/Action.hpp>
#include <simgrid/kernel/resource/Model.hpp>
#include <stdexcept>
#include <string>
#include <xbt/config.hpp>

#include "platforms/simgrid_version.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"

namespace tandem::sim {

namespace s4u = simgrid::s4u;

namespace {

const Profile::NetworkSegment& segment_of(const Profile::Path& path, double size) {
  const auto above = std::upper_bound(path.segments.begin(), path.segments.end(), size,
                                      [](double bytes, const Profile::NetworkSegment& s) {
                                        return bytes < static_cast<double>(s.from_bytes);
                                      });
  return *std::prev(above);
}

double route_latency_s(const std::vector<s4u::Link*>& links) {
  double sum = 0;
  for (const s4u::Link* link : links) sum += link->get_latency();
  return sum;
}

double route_bandwidth(const std::vector<s4u::Link*>& links) {
  double lowest = links.front()->get_bandwidth();
  for (const s4u::Link* link : links) lowest = std::min(lowest, link->get_bandwidth());
  return lowest;
}

/// How different a path and a route are: by the ratio of their bandwidths; the number of links breaks ties.
double unlikeness(const Profile::Path& path, double bandwidth, std::size_t links) {
  const double ratio = std::abs(std::log(path.bandwidth / bandwidth));
  return ratio + 1e-3 * std::abs(static_cast<double>(path.links) - static_cast<double>(links));
}

/// The measurement of messages of the next larger size; null when there is none.
const Profile::MessageEntry* entry_for(const Profile::Path& path, double size) {
  if (path.messages.empty()) return nullptr;
  const auto above = std::lower_bound(path.messages.begin(), path.messages.end(), size,
                                      [](const Profile::MessageEntry& entry, double bytes) {
                                        return static_cast<double>(entry.bytes) < bytes;
                                      });
  return above == path.messages.end() ? &path.messages.back() : &*above;
}

/// The measured time of a message that is alone; between measured sizes, interpolated.
double time_alone_s(const Profile::Path& path, double size) {
  const auto& measured = path.messages;
  const auto above = std::ranges::lower_bound(measured, size, {}, [](const Profile::MessageEntry& entry) {
    return static_cast<double>(entry.bytes);
  });
  if (above == measured.begin() || above == measured.end()) {
    const auto& segment = segment_of(path, size);
    return segment.alpha_s + size * segment.beta_s;
  }
  const auto below = std::prev(above);
  const auto lower = static_cast<double>(below->bytes);
  const double share = (size - lower) / (static_cast<double>(above->bytes) - lower);
  return below->median_s + share * (above->median_s - below->median_s);
}

/// A message without latency would get almost no share of a link: SimGrid weighs messages by the inverse of
/// their route's latency, but a message without latency by 1.
constexpr double least_latency_s = 1e-8;

constexpr const char* window_property = "tandem:window";
/// To what Linux lets a window grow by default: the third value of tcp_wmem. In bytes.
constexpr double usual_window = 4 << 20;

/// The property of a link; one direction of a full-duplex link has those of the link.
const char* window_text(const s4u::Link& link) {
  if (const char* const own = link.get_property(window_property)) return own;
  const std::string& name = link.get_name();
  if (!name.ends_with("_UP") && !name.ends_with("_DOWN")) return nullptr;
  try {
    const auto* const engine = s4u::Engine::get_instance();
    return engine->split_duplex_link_by_name(name.substr(0, name.rfind('_')))->get_property(window_property);
  } catch (const std::logic_error&) {
    return nullptr;  // a link of such a name that is not full-duplex
  }
}

/// In bytes. `owner`: for messages.
double window_from(const std::string& text, const std::string& owner) {
  constexpr Bytes packet(1500);
  const auto size = parse_bytes(text);
  if (!size || *size < packet)
    throw ConfigError(owner + ": property '" + window_property +
                      "': expected a size of at least 1500B (a packet), found '" + text + "'");
  return static_cast<double>(size->count());
}

void check_segments(const std::vector<Profile::NetworkSegment>& segments) {
  if (segments.empty() || segments.front().from_bytes > 0)
    throw ConfigError("measured network: the first segment must start at 0 bytes, found " +
                      (segments.empty() ? "none" : std::to_string(segments.front().from_bytes)));
  for (std::size_t i = 0; i < segments.size(); ++i) {
    if (i > 0 && segments[i].from_bytes <= segments[i - 1].from_bytes)
      throw ConfigError("measured network: segments must be sorted by from_bytes, found " +
                        std::to_string(segments[i].from_bytes) + " after " +
                        std::to_string(segments[i - 1].from_bytes));
    if (!(segments[i].alpha_s >= 0) || !(segments[i].beta_s > 0))
      throw ConfigError("measured network: expected alpha_s >= 0 and beta_s > 0 from " +
                        std::to_string(segments[i].from_bytes) + " bytes, found " +
                        std::to_string(segments[i].alpha_s) + " and " + std::to_string(segments[i].beta_s));
  }
}

}  // namespace

Network::Network(const SimulationSetting& setting)
    : paths_(setting.network),
      platform_file_(setting.platform_file),
      kinds_(setting.host_kinds),
      hosts_(std::set(setting.hosts.begin(), setting.hosts.end()).size()),
      busy_start_(setting.busy_start) {
  for (const auto& path : paths_) {
    check_segments(path.segments);
    has_links_ = has_links_ || path.links > 0;
    if (path.links > 0 && !(path.bandwidth > 0))
      throw ConfigError("measured network: the path from " + path.from + " to " + path.to +
                        " names links, but no bandwidth");
  }
  if (!setting.noise) return;
  messages_ = Rng::stream(setting.noise->seed, "messages");
  sends_ = Rng::stream(setting.noise->seed, "sends");
  if (setting.noise->share_jitter_bytes > 0) shares_ = Rng::stream(setting.noise->seed, "shares");
  share_jitter_bytes_ = setting.noise->share_jitter_bytes;
}

/// Only then can a route become narrower where messages are buffered.
bool Network::may_narrow() const {
  if (std::ranges::none_of(paths_, [](const Profile::Path& path) { return path.held_bytes > 0; }))
    return false;
  const auto links = s4u::Engine::get_instance()->get_all_links();
  return std::ranges::adjacent_find(links, std::ranges::not_equal_to{}, &s4u::Link::get_bandwidth) !=
         links.end();
}

void Network::extend_platform() {
  if (may_narrow()) link_ends_.make(hosts_);
}

void Network::install() {
  const auto model_name = simgrid::config::get_value<std::string>("network/model");
  read_windows();
  if (has_windows() && paths_.empty() && model_name != "CM02")
    throw ConfigError(
        fmt::format("{}: <config> 'network/model': expected CM02, because '{}' limits messages of "
                    "that model ('network/TCP-gamma' those of all models), found '{}'",
                    platform_file_, window_property, model_name));
  // Network models that define their own factors keep them.
  if (paths_.empty() && model_name != "CM02") return;
  const auto& root = *s4u::Engine::get_instance()->get_netzone_root();
  model_ = &simgrid_version::network_model(root);
  try {
    // SimGrid asks for the factor on the bandwidth first.
    simgrid_version::set_network_factors(
        root,
        [this](double size, const s4u::Host* from, const s4u::Host* to, const Links& links, const auto&) {
          if (!is_prepared_) look_up(*from, *to, links, size);
          return next_.bandwidth_factor;
        },
        [this](double, const s4u::Host*, const s4u::Host*, const Links& links, const auto&) {
          return latency_factor(links);
        });
  } catch (const std::invalid_argument& error) {
    if (paths_.empty()) return;
    throw ConfigError(
        std::string("measured network: the platform file's <config> sets network factors too: ") +
        error.what());
  }
  shares_equally_ = simgrid::config::get_value<double>("network/weight-S") == 0;
}

void Network::started(Timer*& timer) {
  const bool has_weight = (shares_ || next_.penalty > 0) && penalty_ > 0;
  if (next_.limit == 0 && !has_weight) return;
  auto* const action = &model_->get_started_action_set()->back();
  if (next_.limit > 0) action->set_bound(next_.limit);
  if (!has_weight) return;
  const double penalty = penalty_ * next_.weight;
  // After the latency SimGrid sets its own penalty, so this must run later.
  constexpr double instant_s = 2e-9;
  timer = Timer::set(s4u::Engine::get_clock() + latency_s_ + instant_s, [action, penalty, &timer] {
    timer = nullptr;
    action->set_sharing_penalty(penalty);
  });
}

/// For a message that is alone: its size minus the bytes that the links pass in the measured time.
double Network::bytes_at_once(const Profile::Path& path, double bandwidth, double size) {
  // A path of another bandwidth passes a message of this size in the same time.
  const double scale = bandwidth / path.bandwidth;
  const double measured_size = size / scale;
  const double transfer_s = time_alone_s(path, measured_size) - segment_of(path, measured_size).alpha_s;
  const double rate = lasting_share(path) * path.bandwidth;
  return scale * std::clamp(measured_size - transfer_s * rate, 0.0, measured_size);
}

Network::Start Network::start_of(const Route& route, double size) {
  if (route.links.empty()) return {};
  double idle_since_s = -std::numeric_limits<double>::infinity();
  double busy_bandwidth = 0;
  for (const LinkUse* use : route.links) {
    if (simgrid_version::load_of(*use->link) > 0)
      busy_bandwidth = std::max(busy_bandwidth, use->link->get_bandwidth());
    idle_since_s = std::max(idle_since_s, use->idle_since_s);
  }
  if (busy_bandwidth == 0) {
    const double idle_s = s4u::Engine::get_clock() - idle_since_s;
    return {0, std::min(bytes_at_once(*route.path, route.bandwidth, size), route.bandwidth * idle_s)};
  }
  // Flows are served in turn: it waits for its first turn. The part that does not pass immediately is a part
  // of the delay.
  const double late_s =
      std::max(0.0, busy_start_.count() - bytes_at_once(*route.path, busy_bandwidth, size) / busy_bandwidth);
  return {late_s, 0};
}

void Network::note_pause(const Route& route) {
  for (LinkUse* use : route.links) use->idle_since_s = s4u::Engine::get_clock();
}

Network::Terms Network::terms_of(const Route& route, double size, double& lead) {
  Terms terms{.path = route.path, .penalty = route.penalty};
  if (shares_ && size > 0) {
    // The message ends with a lead of its own, whatever that of the one before it was: leads do not add up.
    const double next = share_jitter_bytes_ * shares_->normal();
    constexpr double most = 1.0;
    terms.weight = std::exp(std::clamp((lead - next) / size, -most, most));
    lead = next;
  }
  if (route.path == nullptr) {
    terms.limit = route.window_rate;
    return terms;
  }
  const double slowness = draw_slowness(route.path, size);
  const double reached = share_reached(route, size, slowness);
  terms.latency_s = segment_of(*route.path, size).alpha_s * slowness;
  terms.bandwidth_factor = route.path->links > 0 ? lasting_share(*route.path) : reached;
  if (reached < terms.bandwidth_factor) terms.limit = reached / terms.bandwidth_factor * route.bandwidth;
  return terms;
}

void Network::prepare(const Terms& terms, double waited_s) {
  is_prepared_ = true;
  next_ = terms;
  waited_s_ = waited_s;
}

/// The share of the bandwidth that the protocol leaves to a stream of messages: the share that the largest
/// messages reach. A single small message may be faster, because a link passes a burst without delay; a
/// stream of them may not.
double Network::lasting_share(const Profile::Path& path) {
  return std::min(1.0, 1.0 / (path.segments.back().beta_s * path.bandwidth));
}

void Network::look_up(const s4u::Host& from, const s4u::Host& to, const Links& links, double size) {
  const Route route{find(from, to, links), links.empty() ? 0.0 : route_bandwidth(links)};
  next_ = {.path = route.path};
  if (route.path == nullptr) return;
  const double slowness = draw_slowness(route.path, size);
  next_.latency_s = segment_of(*route.path, size).alpha_s * slowness;
  next_.bandwidth_factor = share_reached(route, size, slowness);
}

/// The share of the route's bandwidth that a message reaches when it is alone.
double Network::share_reached(const Route& route, double size, double slowness) {
  const double measured_against = route.path->links > 0 ? route.path->bandwidth : route.bandwidth;
  return 1.0 / (segment_of(*route.path, size).beta_s * measured_against * slowness);
}

double Network::latency_factor(const Links& links) {
  const double usual_s = route_latency_s(links);
  penalty_ = next_.penalty > 0 ? next_.penalty : usual_s;
  latency_s_ = usual_s;
  if (next_.path == nullptr && (waited_s_ == 0 || usual_s == 0)) return 1.0;
  const double seconds = next_.path == nullptr ? usual_s : next_.latency_s;
  latency_s_ = std::max(least_latency_s, seconds - waited_s_);
  return latency_s_ / usual_s;
}

/// The factor on a message's usual time: that of one of the measured messages of the next larger size, drawn
/// at random.
double Network::draw_slowness(const Profile::Path* path, double size) {
  const auto* entry = path == nullptr ? nullptr : entry_for(*path, size);
  if (!messages_ || entry == nullptr || entry->raw_s.empty() || entry->median_s <= 0) return 1.0;
  return entry->raw_s[messages_->below(entry->raw_s.size())] / entry->median_s;
}

double Network::draw_send_s(const Profile::Path& path, double size) {
  const auto* entry = entry_for(path, size);
  if (entry == nullptr) return 0.0;
  if (!sends_ || entry->send_raw_s.empty()) return entry->send_s;
  return entry->send_raw_s[sends_->below(entry->send_raw_s.size())];
}

Network::Route Network::route_between(const s4u::Host& from, const s4u::Host& to) {
  Links links;
  double latency_s = 0;
  from.route_to(&to, links, &latency_s);
  Route route{.path = paths_.empty() ? nullptr : find(from, to, links),
              .bandwidth = links.empty() ? 0.0 : route_bandwidth(links)};
  if (route.path == nullptr) route.window_rate = window_rate(from, to, links, latency_s);
  if (&from != &to && !links.empty()) route.penalty = equal_penalty(links, latency_s);
  find_narrowing(route, links);
  if (route.path == nullptr || route.path->links == 0) return route;
  for (const s4u::Link* link : links)
    route.links.push_back(
        &link_uses_.try_emplace(link, LinkUse{link, -std::numeric_limits<double>::infinity()}).first->second);
  return route;
}

/// SimGrid weighs messages that share a link by the inverse of their routes' latencies, as if these were the
/// round trips of TCP. On a busy link, all messages wait in one queue, which takes longer than the
/// differences of latencies within a cluster, and so their round trips are equal. Here all messages get the
/// weight of those over the first route. 0: SimGrid's own, which is the same.
double Network::equal_penalty(const Links& links, double latency_s) {
  constexpr double difference = 1e-6;
  // Only after exactly this latency can the weight be set.
  const bool is_sum = std::abs(latency_s - route_latency_s(links)) <= difference * latency_s;
  if (!shares_equally_ || !is_sum) return 0;
  const double own = latency_s > 0 ? latency_s : 1.0;
  if (common_penalty_ == 0) common_penalty_ = own;
  return std::abs(own - common_penalty_) <= difference * common_penalty_ ? 0 : common_penalty_;
}

/// SimGrid gives a flow one rate over its whole route. A real one fills the buffers before a narrow link at
/// the rate of the links before it, and then leaves these to others earlier.
void Network::find_narrowing(Route& route, const Links& links) {
  if (route.path == nullptr || route.path->held_bytes <= 0 || links.size() < 2) return;
  const auto narrowest = std::ranges::min_element(links, {}, &s4u::Link::get_bandwidth);
  const Links before(links.begin(), narrowest);
  const Links after(narrowest, links.end());
  constexpr double least_ratio = 1.05;
  if (before.empty() || route_bandwidth(before) < least_ratio * route.bandwidth) return;
  // SimGrid could not weigh messages over such links.
  if (route_latency_s(before) <= 0 || route_latency_s(after) <= 0) return;
  const auto ends_before = link_ends_.of(before);
  const auto ends_after = link_ends_.of(after);
  if (!ends_before || !ends_after) return;
  const auto room = static_cast<std::uint64_t>(route.path->held_bytes);
  const double penalty = common_penalty_ > 0 ? common_penalty_ : route_latency_s(links);
  route.narrowing = std::make_unique<const Narrowing>(Narrowing{*ends_before, *ends_after, room, penalty});
}

void Network::read_windows() {
  const auto* const engine = s4u::Engine::get_instance();
  for (const auto* host : engine->get_all_hosts())
    if (const char* const text = host->get_property(window_property))
      host_windows_[host] = window_from(text, platform_file_ + ": host '" + host->get_name() + '\'');
  for (const auto* link : engine->get_all_links())
    if (const char* const text = window_text(*link)) {
      // The name of a full-duplex link, without the direction.
      const std::string& name = link->get_name();
      const bool is_own = link->get_property(window_property) != nullptr;
      link_windows_[link] = window_from(
          text, platform_file_ + ": link '" + (is_own ? name : name.substr(0, name.rfind('_'))) + '\'');
    }
  // Tandem's default is no limit at all.
  constexpr double no_limit = 1e15;
  has_gamma_ = simgrid::config::get_value<double>("network/TCP-gamma") < no_limit;
}

/// Infinity: no window is given.
double Network::least_window(const s4u::Host& from, const s4u::Host& to, const Links& links) const {
  double least = std::numeric_limits<double>::infinity();
  for (const auto* host : {&from, &to})
    if (const auto found = host_windows_.find(host); found != host_windows_.end())
      least = std::min(least, found->second);
  for (const auto* link : links)
    if (const auto found = link_windows_.find(link); found != link_windows_.end())
      least = std::min(least, found->second);
  return least;
}

double Network::window_rate(const s4u::Host& from, const s4u::Host& to, const Links& links,
                            double latency_s) {
  if (&from == &to || links.empty() || latency_s == 0) return 0;
  const double window = least_window(from, to, links);
  const double round_trip_s = 2 * latency_s;
  if (std::isfinite(window)) return window / round_trip_s;
  const double in_flight = route_bandwidth(links) * round_trip_s;
  if (has_gamma_ || in_flight <= std::max(usual_window, longest_)) return 0;
  longest_ = in_flight;
  long_route_ = from.get_name() + " to " + to.get_name();
  return 0;
}

std::string Network::sharing() const {
  return shares_equally_ ? "max-min over connections of two ranks"
                         : "max-min over connections of two ranks, with SimGrid's weights";
}

std::vector<std::string> Network::warnings() const {
  if (long_route_.empty()) return {};
  return {fmt::format(
      "from {}, bandwidth times round trip is {:.3g} MB, more than TCP's usual window of 4 MiB, but no "
      "window limits simulated messages, so they may be faster than real ones: set the "
      "property tandem:window of a link or host, or network/TCP-gamma in <config>",
      long_route_, longest_ / 1e6)};
}

const std::string& Network::kind_of(const s4u::Host& host) const {
  static const std::string unknown;
  const auto found = kinds_.find(host.get_name());
  return found == kinds_.end() ? unknown : found->second;
}

const Profile::Path* Network::find(const s4u::Host& from, const s4u::Host& to, const Links& links) const {
  const std::string& one = kind_of(from);
  const std::string& other = kind_of(to);
  const auto fits = [&](const Profile::Path& path) { return path.is_between(one, other); };
  const bool any_fits = std::ranges::any_of(paths_, fits);
  const bool within_a_host = &from == &to;
  const Profile::Path* best = nullptr;
  double least = std::numeric_limits<double>::infinity();
  for (const auto& path : paths_) {
    if (any_fits && !fits(path)) continue;
    if (path.links == 0 && (within_a_host || !has_links_)) return &path;
    if (path.links == 0 || within_a_host) continue;
    const double unlike = unlikeness(path, route_bandwidth(links), links.size());
    if (unlike >= least) continue;
    least = unlike;
    best = &path;
  }
  return best;
}

}  // namespace tandem::sim
