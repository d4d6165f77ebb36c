// Makes and removes emulated clusters: carries plans out with `ip` and `tc`, and keeps what it made under
// /run/tandem/clusters. Changes nothing of the machine outside the namespaces that it makes.
#pragma once

#include <sys/types.h>

#include <optional>
#include <string>
#include <vector>

#include "runtime/cluster/plan.hpp"
#include "runtime/launcher/launcher.hpp"

namespace tandem::cluster {

/// A cluster that is up.
struct Cluster {
  std::string id;
  std::string platform;  ///< path of its file, absolute
  Wiring wiring;
  bool delays;  ///< latency of links is emulated; else it is that of the kernel's path alone

  Plan plan() const { return make_plan(id, wiring, delays); }
  /// How mpirun reaches its hosts, which go by their aliases.
  ClusterLaunch launch() const;
};

/// Makes it, or leaves nothing behind: also when SIGINT or SIGTERM arrive meanwhile.
/// Errors: ConfigError when rights, a program or a part of the kernel are missing, when what the wiring asks
/// for cannot be emulated, and, unless `replace`, when one of this id is there already, were it only in part.
/// WorldError.
Cluster bring_up(const std::string& id, const std::string& platform, const Wiring& wiring, bool replace);

/// Kills what runs within it and removes it, whatever is left of it. False when there is nothing of it.
/// Errors: ConfigError without the rights; WorldError.
bool take_down(const std::string& id);

/// The cluster of this id; empty when there is none, or one only in part.
std::optional<Cluster> find_cluster(const std::string& id);

struct HostStatus {
  std::string name;
  std::string address;
  std::string space;  ///< its network namespace
  bool present;       ///< that is there
  std::vector<pid_t> processes;
};
struct ClusterStatus {
  std::string id;
  std::optional<Cluster> cluster;  ///< empty: left over from something that failed
  std::vector<HostStatus> hosts;   ///< of a left-over: its namespaces
  bool whole;                      ///< state and namespaces agree
};
/// Every cluster of this machine, also in part.
std::vector<ClusterStatus> cluster_statuses();

/// Keeps a cluster for one job at a time. Errors: ConfigError when another holds it.
class ClusterLock {
 public:
  explicit ClusterLock(const std::string& id);
  ~ClusterLock();
  ClusterLock(const ClusterLock&) = delete;
  ClusterLock& operator=(const ClusterLock&) = delete;

 private:
  int descriptor_ = -1;
};

}  // namespace tandem::cluster
