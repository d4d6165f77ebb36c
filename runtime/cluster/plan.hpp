// Maps a wiring to devices of the kernel: a shaper for every channel, and routing tables that lead the
// packets of each pair through the shapers of its route. Pure: it decides everything and changes nothing.
//
// One namespace, the fabric, contains everything between the hosts. Host k is connected to it by its eth0,
// whose other end is h<k>. A shaper is a pair of devices in the fabric: packets leave, and are shaped, at
// a<i> and arrive at b<i>. Both directions of a shared link use the same shaper. Some shapers have a front, a
// pair s<i> and t<i> before them, where the kernel delays packets, or splits large packets that would pass a
// slow shaper as one burst.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/cluster/wiring.hpp"

namespace tandem::cluster {

struct PlanHost {
  std::string name;     ///< as in the platform file
  std::string alias;    ///< the name if it is a valid host name, otherwise host-<k>
  std::string address;  ///< of eth0, shaped
  std::string control;  ///< of eth1, unshaped, for mpirun and its daemons
  int segments;         ///< TCP segments in its largest packet
};

struct Shaper {
  int channel;
  bool front;
  int segments;  ///< of the largest packet that it shapes as a whole
  std::vector<Pair> pairs;
};

/// Packets that arrive at one device leave by another. `from` -1: packets of all senders without an entry of
/// their own.
struct Turn {
  std::string arrival;
  int from;
  int to;
  std::string departure;
};

struct Plan {
  std::string id;
  std::vector<PlanHost> hosts;
  std::vector<Channel> channels;
  std::vector<Shaper> shapers;  ///< of the channels that some route uses
  std::vector<Turn> turns;      ///< ordered by arrival
  Bytes socket_buffer;          ///< large enough to fill the route with the most bandwidth and latency
  bool delays;                  ///< fronts add the latency of their channel
};

/// Size of a full frame as HTB counts it, and the payload in it.
inline constexpr double frame_bytes = 1514;
inline constexpr double frame_payload_bytes = 1448;
/// Largest cluster.
inline constexpr int most_hosts = 64;
inline constexpr const char* data_network = "10.77.0.0/16";
inline constexpr const char* control_network = "10.78.0.0/16";
inline constexpr const char* fabric_name = "fabric";

/// A name for the cluster of a platform file: the file's stem, with unusual characters replaced.
std::string cluster_id(const std::string& platform_path);
/// The network namespace of a host (by alias) or of the fabric.
std::string namespace_of(const std::string& id, const std::string& alias);

/// `delays`: whether the kernel can delay packets. Errors: ConfigError naming the element that cannot be
/// emulated.
Plan make_plan(const std::string& id, const Wiring& wiring, bool delays);

}  // namespace tandem::cluster
