// What a message costs: the measured paths of a profile laid over the routes of the platform, and connections
// that keep order.
#pragma once

#include <map>
#include <optional>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <string>
#include <vector>

#include "policies/vocabulary/rng.hpp"
#include "sim/simulation.hpp"

namespace tandem::sim {

/// Makes a message take alpha + size * beta of its segment when it is alone; concurrent messages share links
/// as before. A way of the platform takes the measured path that is most like it, among those between hosts
/// of the kinds of its own, or among all where none is: by the bandwidth of the narrowest link (the share of
/// it that messages reach carries over), then by the number of links; a path without links holds within a
/// host, and everywhere when none has links. Within a host the platform's loopback holds when no such path
/// was measured. Without any path the links of the platform hold.
class Network {
 public:
  /// With noise, each message takes as much longer or shorter as one of the measured messages of the next
  /// larger size did, and has a share of links as unequal as measured. Errors: ConfigError when segments are
  /// not sorted or start above 0.
  explicit Network(const SimulationSetting& setting);

  /// Gives SimGrid the factors of each message. Pre: the platform is loaded; this object outlives the
  /// simulation. Errors: ConfigError when the platform sets factors of its own beside a measured network.
  void install();

  /// The route from one host to another, as messages meet it.
  struct Route {
    const Profile::Path* path = nullptr;  ///< what was measured and is most like it; null: nothing was
    double bandwidth = 0;                 ///< of its narrowest link; 0 without links
  };
  /// What one message pays and gets.
  struct Terms {
    const Profile::Path* path = nullptr;  ///< of its way; null: the links of the platform hold
    double latency_s = 0;                 ///< with a path
    double bandwidth_factor = 1;
    double limit = 0;   ///< most bytes a second; 0: what the links give
    double weight = 1;  ///< what its share of a link is divided by, where it meets others
  };
  /// Pre: a route exists.
  Route route_between(const simgrid::s4u::Host& from, const simgrid::s4u::Host& to) const;
  /// How long the call that sends a message of this size over the path keeps its rank: the median, or with
  /// noise one of the measured times.
  double draw_send_s(const Profile::Path& path, double size);

  /// Draws what noise leaves open.
  Terms terms_of(const Route& way, double size);
  /// Says what starts next: a message, or part of one, that waited so long for another one of its connection.
  /// Its latency passed meanwhile. (Where the platform file sets a network model or factors of its own, it
  /// pays it again.)
  void prepare(const Terms& terms, double waited_s);

  using Timer = simgrid::kernel::timer::Timer;
  /// What was prepared started. On the links of a platform it gets no more than a message that is alone, and
  /// leaves the rest to others; with noise, it has a weight of its own where it meets them. SimGrid takes
  /// that once the latency is over; `timer` is null again then, and must be removed when it ends before.
  /// Kernel context.
  void started(Timer*& timer);

 private:
  using Links = std::vector<simgrid::s4u::Link*>;

  /// As `prepare`, for messages of SMPI, which are not told of before they start.
  void look_up(const simgrid::s4u::Host& from, const simgrid::s4u::Host& to, const Links& links, double size);
  static double share_reached(const Route& way, double size, double slowness);
  static double lasting_share(const Profile::Path& path);
  double latency_factor(const Links& links);
  double draw_slowness(const Profile::Path* path, double size);
  const Profile::Path* find(const simgrid::s4u::Host& from, const simgrid::s4u::Host& to,
                            const Links& links) const;
  const std::string& kind_of(const simgrid::s4u::Host& host) const;

  std::vector<Profile::Path> paths_;
  bool has_links_ = false;  ///< whether any of them has
  std::map<std::string, std::string> kinds_;
  double share_spread_ = 0;
  std::optional<Rng> messages_;
  std::optional<Rng> sends_;
  std::optional<Rng> shares_;
  simgrid::kernel::resource::Model* model_ = nullptr;  ///< from `install` on
  Terms next_;                                         ///< of the message to start
  double waited_s_ = 0;                                ///< by it
  bool is_told_ = false;  ///< what starts next; else (under SMPI) messages are looked up as they start
  double latency_s_ = 0;  ///< that the message paid that started last
  double penalty_ = 0;    ///< what SimGrid divides its share by
};

}  // namespace tandem::sim
