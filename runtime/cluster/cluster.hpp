// Creates and removes emulated clusters with `ip` and `tc`, and records them under /run/tandem/clusters.
// Changes nothing on the machine outside the network namespaces that it creates.
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
  std::string platform;  ///< absolute path of its file
  Wiring wiring;
  bool delays;  ///< the latency of links is emulated; otherwise only the kernel's own path adds latency

  Plan plan() const { return make_plan(id, wiring, delays); }
  /// How mpirun starts commands on its hosts, by their aliases.
  ClusterLaunch launch() const;
};

/// Creates a cluster. Removes everything that it has created if this fails, or if SIGINT or SIGTERM arrives.
/// `temporary`: the cluster belongs to this process, which removes it. Errors: WorldError. ConfigError when
/// rights, a program or a kernel feature is missing, when the wiring cannot be emulated, or when a cluster
/// of this id exists, complete or not, and `replace` is false.
Cluster bring_up(const std::string& id, const std::string& platform, const Wiring& wiring, bool replace,
                 bool temporary = false);

/// Kills the processes in the cluster and removes it, complete or not. False when no part of it exists.
/// Errors: ConfigError without the rights; WorldError.
bool take_down(const std::string& id);

/// The cluster of this id; empty when there is none or it is incomplete.
std::optional<Cluster> find_cluster(const std::string& id);

struct HostStatus {
  std::string name;
  std::string address;
  std::string space;  ///< its network namespace
  bool present;       ///< whether that namespace exists
  std::vector<pid_t> processes;
};
struct ClusterStatus {
  std::string id;
  std::optional<Cluster> cluster;  ///< empty: left over from a failure
  std::vector<HostStatus> hosts;   ///< if left over: its namespaces
  bool whole;                      ///< state and namespaces agree
};
/// Every cluster of this machine, also incomplete ones.
std::vector<ClusterStatus> cluster_statuses();

/// Clusters whose process ended while it created them, or before it removed them, sorted.
std::vector<std::string> abandoned_clusters();

/// Reserves a cluster for one job at a time. Errors: ConfigError when another job holds it.
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
