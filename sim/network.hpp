// The costs of a message: the measured paths of a profile applied to the routes of the platform, and
// connections that keep order.
#pragma once

#include <map>
#include <memory>
#include <optional>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "policies/vocabulary/rng.hpp"
#include "sim/link_ends.hpp"
#include "sim/simulation.hpp"

namespace tandem::sim {

/// A message that is alone takes alpha + size * beta of its segment; concurrent messages share links max-min
/// fairly, whatever the latencies of their routes, unless the platform file sets SimGrid's weights. Each
/// route of the platform uses the most similar measured path: first among paths between hosts of the same
/// kinds, or among all paths if there is none; then by the bandwidth of the narrowest link (messages reach
/// the same share of it as measured); then by the number of links. A path without links is used within a
/// host, and for every route if no path has links. Without such a path, messages within a host use the
/// platform's loopback. Without any path, messages use the links of the platform.
class Network {
 public:
  /// With noise, the time of each message varies as the measured times of the next larger size did, and
  /// shares of links vary as measured. Errors: ConfigError when segments are not sorted or start above 0.
  explicit Network(const SimulationSetting& setting);

  /// Adds the hosts that queues need to the platform. Pre: the platform is loaded, but not sealed.
  void extend_platform();
  /// Gives SimGrid the factors of each message. Pre: the platform is sealed; this object outlives the
  /// simulation. Errors: ConfigError when the platform file sets factors too, although there is a measured
  /// network.
  void install();

  using Links = LinkEnds::Links;
  /// Where a route becomes narrower, and bytes wait in a queue.
  struct Narrowing {
    LinkEnds::Ends before;  ///< ends of the links before the narrowest one
    LinkEnds::Ends after;   ///< ends of the other links
    std::uint64_t room;     ///< most bytes that wait
    double penalty;         ///< of a message over the whole route when links are shared, see SimGrid
  };
  struct LinkUse {
    const simgrid::s4u::Link* link;
    double idle_since_s;  ///< when a message over it ended last
  };
  /// The route from one host to another, for messages.
  struct Route {
    const Profile::Path* path = nullptr;  ///< the most similar measured path; null: none was measured
    double bandwidth = 0;                 ///< of its narrowest link; 0 without links
    /// Largest rate of a message: TCP's window (property tandem:window of its links and hosts) in each round
    /// trip; 0: no window. A measured path includes its own.
    double window_rate = 0;
    double penalty = 0;                ///< see Terms
    std::vector<LinkUse*> links = {};  ///< only with a measured path over links
    /// Only with a measured path that buffers bytes, and if a link is narrower than all before it.
    std::unique_ptr<const Narrowing> narrowing = {};
  };
  /// The cost of one message and its share of links.
  struct Terms {
    const Profile::Path* path = nullptr;  ///< of its route; null: the links of the platform are used
    double latency_s = 0;                 ///< if it has a path
    double bandwidth_factor = 1;
    double limit = 0;    ///< largest rate, bytes per second; 0: that of the links
    double weight = 1;   ///< divides its share of a link that it shares with others
    double penalty = 0;  ///< by which SimGrid divides its share; 0: the latency of its links
  };
  /// Pre: a route exists.
  Route route_between(const simgrid::s4u::Host& from, const simgrid::s4u::Host& to);
  /// Time for which the send call keeps its rank busy, for a message of this size over the path: the median,
  /// or with noise one of the measured times.
  double draw_send_s(const Profile::Path& path, double size);

  /// The cost of the next message; with noise, it is drawn at random. `lead`: bytes by which the messages of
  /// the connection are ahead of an equal share of their links, 0 after a pause; updated.
  Terms terms_of(const Route& route, double size, double& lead);
  /// Time and bytes that a message loses or gains by the state of its links.
  struct Start {
    double late_s = 0;  ///< additional latency
    double ahead = 0;   ///< bytes that pass without delay
  };
  /// For a message that starts after a pause of its connection. One that is alone takes the measured time: a
  /// link that was idle for long enough may pass its first bytes without delay (the burst of a token
  /// bucket). One that finds a link in use is late by the measured time.
  Start start_of(const Route& route, double size);
  /// The last message of a connection over this route has ended.
  static void note_pause(const Route& route);
  /// Announces the message, or part of a message, that starts next and has waited `waited_s` for another
  /// message of its connection. Its latency has passed during that wait. (If the platform file sets its own
  /// network model or factors, the message pays the latency again.)
  void prepare(const Terms& terms, double waited_s);

  /// The route, among those that were used, whose bandwidth times round trip exceeds TCP's usual window by
  /// most, if the platform file gives no window.
  std::vector<std::string> warnings() const;
  /// How concurrent messages share links, in words.
  std::string sharing() const;
  /// The platform file gives windows.
  bool has_windows() const { return !host_windows_.empty() || !link_windows_.empty(); }

  using Timer = simgrid::kernel::timer::Timer;
  /// To be called when the prepared message has started. It gets at most the rate of a message that is alone,
  /// and leaves the rest of a link to others; with noise, it has its own weight when it shares a link.
  /// SimGrid applies both after the latency; `timer` is then reset to null. If the message ends earlier, the
  /// caller must remove the timer. Kernel context.
  void started(Timer*& timer);

 private:
  /// As `prepare`, for messages of SMPI, which are not announced before they start.
  void look_up(const simgrid::s4u::Host& from, const simgrid::s4u::Host& to, const Links& links, double size);
  static double share_reached(const Route& route, double size, double slowness);
  static double lasting_share(const Profile::Path& path);
  double latency_factor(const Links& links);
  double draw_slowness(const Profile::Path* path, double size);
  bool may_narrow() const;
  static double bytes_at_once(const Profile::Path& path, double bandwidth, double size);
  void find_narrowing(Route& route, const Links& links);
  const Profile::Path* find(const simgrid::s4u::Host& from, const simgrid::s4u::Host& to,
                            const Links& links) const;
  const std::string& kind_of(const simgrid::s4u::Host& host) const;
  void read_windows();
  double least_window(const simgrid::s4u::Host& from, const simgrid::s4u::Host& to, const Links& links) const;
  double window_rate(const simgrid::s4u::Host& from, const simgrid::s4u::Host& to, const Links& links,
                     double latency_s);
  double equal_penalty(const Links& links, double latency_s);

  std::vector<Profile::Path> paths_;
  std::string platform_file_;
  std::map<const simgrid::s4u::Host*, double> host_windows_;  ///< bytes, of those that have one
  std::map<const simgrid::s4u::Link*, double> link_windows_;
  bool has_gamma_ = false;  ///< the platform file gives SimGrid a window for all routes
  std::string long_route_;
  double longest_ = 0;      ///< bytes in flight on it
  bool has_links_ = false;  ///< whether any path has links
  std::map<std::string, std::string> kinds_;
  double share_jitter_bytes_ = 0;
  std::size_t hosts_;  ///< of the job
  Seconds busy_start_;
  std::optional<Rng> messages_;
  std::optional<Rng> sends_;
  std::optional<Rng> shares_;
  LinkEnds link_ends_;
  std::map<const simgrid::s4u::Link*, LinkUse> link_uses_;
  simgrid::kernel::resource::Model* model_ = nullptr;  ///< from `install` on
  bool shares_equally_ = false;                        ///< SimGrid's weights are replaced
  double common_penalty_ = 0;                          ///< of all messages between hosts; 0: none yet
  Terms next_;                                         ///< of the message to start
  double waited_s_ = 0;                                ///< by that message
  bool is_prepared_ = false;  ///< next_ starts next; else (under SMPI) messages are looked up
  double latency_s_ = 0;      ///< latency of the message that started last
  double penalty_ = 0;        ///< by which SimGrid divides its share
};

}  // namespace tandem::sim
