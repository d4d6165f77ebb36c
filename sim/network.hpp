// What a message costs: the measured paths of a profile laid over the routes of the platform, and connections
// that keep order.
#pragma once

#include <optional>
#include <simgrid/kernel/Timer.hpp>
#include <simgrid/s4u.hpp>
#include <vector>

#include "policies/vocabulary/rng.hpp"
#include "sim/simulation.hpp"

namespace tandem::sim {

/// Makes a message take alpha + size * beta of its segment when it is alone; concurrent messages share links
/// as before. A way of the platform takes the measured path that is most like it: by the bandwidth of the
/// narrowest link (the share of it that messages reach carries over), then by the number of links; a path
/// without links holds within a host, and everywhere when there is no other. Within a host the platform's
/// loopback holds when no such path was measured. Without any path the links of the platform hold.
class Network {
 public:
  /// With noise, each message takes as much longer or shorter as one of the measured messages of the next
  /// larger size did, and has a share of links as unequal as measured. Errors: ConfigError when segments are
  /// not sorted or start above 0.
  explicit Network(const SimulationSetting& setting);

  /// Gives SimGrid the factors of each message. Pre: the platform is loaded; this object outlives the
  /// simulation. Errors: ConfigError when the platform sets factors of its own beside a measured network.
  void install();

  /// How long the message that starts now has waited for another of its connection. Its latency passed
  /// meanwhile. (Where the platform file sets a network model or factors of its own, it pays it again.)
  void set_waited(double seconds) { waited_s_ = seconds; }

  using Timer = simgrid::kernel::timer::Timer;
  /// With noise, gives the message that started last a weight of its own where it meets others. SimGrid takes
  /// it once the latency is over; `timer` is null again then, and must be removed when the message ends
  /// before. Kernel context.
  void vary_share(Timer*& timer);

 private:
  using Links = std::vector<simgrid::s4u::Link*>;

  /// Factor on the route's latency.
  double latency_factor(bool within_a_host, double size, const Links& links);
  /// Factor on the bandwidth of the route's narrowest link.
  double bandwidth_factor(bool within_a_host, double size, const Links& links) const;
  double draw_deviation_s(const Profile::Path& path, double size);
  const Profile::Path* find(bool within_a_host, const Links& links) const;

  std::vector<Profile::Path> paths_;
  double share_spread_ = 0;
  std::optional<Rng> messages_;
  std::optional<Rng> shares_;
  simgrid::kernel::resource::Model* model_ = nullptr;  ///< from `install` on
  double waited_s_ = 0;
  double latency_s_ = 0;  ///< of the message that started last
  double penalty_ = 0;    ///< what SimGrid divides its share by
};

}  // namespace tandem::sim
