// All differences between the SimGrid versions that Tandem builds with: 3.32 (Debian 12), 4.0 (Debian 13) and
// 4.1. No other file asks for the version; CMakeLists.txt refuses other versions.
#pragma once

// version.h needs what forward.h includes.
#include <simgrid/forward.h>
#include <simgrid/version.h>

#include <algorithm>
#include <functional>
#include <simgrid/kernel/resource/Model.hpp>
#include <simgrid/s4u.hpp>
#include <stdexcept>
#include <string>
#include <unordered_set>
#include <utility>
#include <vector>

#if SIMGRID_VERSION >= 40000
#include <simgrid/simcall.hpp>

int simgrid_parse_get_lineno();
#else
#include <simgrid/kernel/resource/NetworkModelIntf.hpp>
#include <simgrid/simix.hpp>

int surf_parse_get_lineno();
#endif

namespace tandem::simgrid_version {

/// SimGrid 4 renamed this flag. A platform file may use either name there.
#if SIMGRID_VERSION >= 40000
inline constexpr const char* precision_flag = "precision/timing";
#else
inline constexpr const char* precision_flag = "surf/precision";
#endif

/// SimGrid 3.32 keeps a list of the messages between hosts that have not ended for the first time, and
/// searches all of it whenever one ends.
inline constexpr bool searches_all_messages = SIMGRID_VERSION < 40000;

/// Whether SimGrid calls the callback on the creation of links in the order of the file, and for a whole
/// SPLITDUPLEX link after its halves. Otherwise it calls it for the links of a zone in the order of their
/// names, and for halves only.
inline constexpr bool announces_links_in_order = SIMGRID_VERSION < 40000;

/// Whether a cluster with a `topology` may be the outermost zone of a file; else SimGrid crashes on it.
inline constexpr bool has_outermost_topologies = SIMGRID_VERSION < 40000;

/// The line that SimGrid's parser has reached. Exported, but declared in no header that its packages install.
inline int parsed_line() {
#if SIMGRID_VERSION >= 40000
  return simgrid_parse_get_lineno();
#else
  return surf_parse_get_lineno();
#endif
}

inline simgrid::s4u::ActorPtr add_actor(const std::string& name, simgrid::s4u::Host& host,
                                        const std::function<void()>& code) {
#if SIMGRID_VERSION >= 40100
  return host.add_actor(name, code);
#elif SIMGRID_VERSION >= 40000
  return simgrid::s4u::Engine::add_actor(name, &host, code);
#else
  return simgrid::s4u::Actor::create(name, &host, code);
#endif
}

/// A zone of the loaded platform, not sealed yet, to which hosts may be added that have no routes but those
/// given by add_bypass_route. A new one, if the outermost zone contains zones; else that zone itself, because
/// SimGrid makes no loopback links for hosts of zones that contain zones.
inline simgrid::s4u::NetZone& zone_for_hosts(const std::string& name) {
  auto* const root = simgrid::s4u::Engine::get_instance()->get_netzone_root();
  if (root->get_children().empty()) return *root;
#if SIMGRID_VERSION >= 40000
  return *root->add_netzone_empty(name);
#else
  return *simgrid::s4u::create_empty_zone(name)->set_parent(root);
#endif
}

inline simgrid::s4u::Host* add_host(simgrid::s4u::NetZone& zone, const std::string& name, double speed) {
#if SIMGRID_VERSION >= 40000
  return zone.add_host(name, speed);
#else
  return zone.create_host(name, speed);
#endif
}

/// Bytes per second that are being transferred over the link.
inline double load_of(const simgrid::s4u::Link& link) {
#if SIMGRID_VERSION >= 40000
  return link.get_load();
#else
  return link.get_usage();
#endif
}

/// When a host is switched on or off.
inline void on_host_switched(const std::function<void(const simgrid::s4u::Host&)>& notify) {
#if SIMGRID_VERSION >= 40000
  simgrid::s4u::Host::on_onoff_cb(notify);
#else
  simgrid::s4u::Host::on_state_change_cb(notify);
#endif
}

/// When a link is switched on or off.
inline void on_link_switched(const std::function<void(const simgrid::s4u::Link&)>& notify) {
#if SIMGRID_VERSION >= 40000
  simgrid::s4u::Link::on_onoff_cb(notify);
#else
  simgrid::s4u::Link::on_state_change_cb(notify);
#endif
}

/// When a message between hosts, work or a disk access ends. Of activities that the kernel itself started,
/// and in kernel context.
inline void on_activity_ended(const std::function<void(const simgrid::s4u::Activity&)>& notify) {
#if SIMGRID_VERSION >= 40000
  simgrid::s4u::Comm::on_completion_cb(notify);
  simgrid::s4u::Exec::on_completion_cb(notify);
  simgrid::s4u::Io::on_completion_cb(notify);
#else
  simgrid::s4u::Activity::on_completion_cb(notify);
#endif
}

/// The network model of a zone. Pre: the platform is loaded.
inline simgrid::kernel::resource::Model& network_model(const simgrid::s4u::NetZone& zone) {
#if SIMGRID_VERSION >= 40000
  // SimGrid 4 installs no header of NetworkModel, which derives from Model alone: both have one address.
  const void* const network = zone.get_network_model();
  for (auto* const model : simgrid::s4u::Engine::get_instance()->get_all_models())
    if (model == network) return *model;
  throw std::logic_error("SimGrid's network model is none of its models");
#else
  return dynamic_cast<simgrid::kernel::resource::Model&>(*zone.get_network_model());
#endif
}

using NetworkFactor = double(double size, const simgrid::s4u::Host* from, const simgrid::s4u::Host* to,
                             const std::vector<simgrid::s4u::Link*>& links,
                             const std::unordered_set<simgrid::s4u::NetZone*>& zones);

/// Sets the factors on the bandwidth and the latency of each message. Errors: std::invalid_argument when a
/// flag sets factors too.
inline void set_network_factors(const simgrid::s4u::NetZone& zone,
                                const std::function<NetworkFactor>& bandwidth,
                                const std::function<NetworkFactor>& latency) {
#if SIMGRID_VERSION >= 40000
  zone.set_bandwidth_factor_cb(bandwidth);
  zone.set_latency_factor_cb(latency);
#else
  zone.get_network_model()->set_bw_factor_cb(bandwidth);
  zone.get_network_model()->set_lat_factor_cb(latency);
#endif
}

}  // namespace tandem::simgrid_version
