// How a wiring becomes devices of the kernel: a pipe for every channel, and tables that lead each pair's
// packets through the pipes of its route. Pure: decides everything, does nothing.
//
// One namespace, the fabric, holds what lies between the hosts. Host k hangs on it by its eth0, whose other
// end is h<k>. A pipe is a pair of devices within the fabric: packets are shaped where they leave at a<i>,
// and arrive at b<i>. Both directions of a shared link take the same pipe. Some pipes have a front, a pair
// s<i> and t<i> before them, where the kernel delays packets, or cuts large ones that would pass a slow pipe
// as one burst.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "runtime/cluster/wiring.hpp"

namespace tandem::cluster {

struct PlanHost {
  std::string name;     ///< as the platform file says
  std::string alias;    ///< the same where it can be a host name, else host-<k>
  std::string address;  ///< of eth0, shaped
  std::string control;  ///< of eth1, unshaped, where mpirun speaks to its daemons
  int segments;         ///< TCP segments that its largest packet holds
};

struct Pipe {
  int channel;
  bool front;
  int segments;  ///< of the largest packet that it may shape as one
  std::vector<Pair> pairs;
};

/// What arrives at a device leaves by another. `from` -1: whoever sent it; such an entry yields to one that
/// names the sender.
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
  std::vector<Pipe> pipes;  ///< of the channels that some route takes
  std::vector<Turn> turns;  ///< by arrival
  Bytes socket_buffer;      ///< enough to fill the widest and longest route
  bool delays;              ///< fronts delay by their channel's latency
};

/// What a packet's frame holds at most, of it payload; what HTB counts for it.
inline constexpr double frame_bytes = 1514;
inline constexpr double frame_payload_bytes = 1448;
/// Largest cluster.
inline constexpr int most_hosts = 64;
inline constexpr const char* data_network = "10.77.0.0/16";
inline constexpr const char* control_network = "10.78.0.0/16";
inline constexpr const char* fabric_name = "fabric";

/// A name for the cluster of a platform file: its stem with anything odd replaced.
std::string cluster_id(const std::string& platform_path);
/// The network namespace of a host (by alias) or of the fabric.
std::string namespace_of(const std::string& id, const std::string& alias);

/// `delays`: the kernel can delay packets. Errors: ConfigError naming the element that cannot be emulated.
Plan make_plan(const std::string& id, const Wiring& wiring, bool delays);

}  // namespace tandem::cluster
