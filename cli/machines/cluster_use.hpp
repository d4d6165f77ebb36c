// The emulated cluster of a job: the one that is up for a platform file, or a temporary one.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "platforms/description.hpp"
#include "runtime/cluster/cluster.hpp"
#include "runtime/process/signals.hpp"

namespace tandem::cli {

/// The network of a platform file, as SimGrid sees it, in the form that the emulation needs.
/// Errors: ConfigError as load_platform, and naming an element that cannot be emulated.
cluster::Wiring wiring_of(const std::string& platform_path);

/// Prints which properties of the file a new cluster cannot emulate, if any.
void report_cluster(const cluster::Cluster& cluster);

/// The cluster of a platform file, for several jobs one after the other. A signal that ends the program
/// would leave a temporary cluster behind: block signals (BlockedSignals) while it exists.
class ClusterKeeper {
 public:
  /// Creates the cluster if it is not up, and then removes it at the end. Reports both on standard error.
  /// Errors: ConfigError when the file has changed since the cluster was created, and when the cluster is
  /// not up and `may_create` is false; errors of bring_up.
  ClusterKeeper(const std::string& platform_path, bool may_create);
  ~ClusterKeeper();
  ClusterKeeper(const ClusterKeeper&) = delete;
  ClusterKeeper& operator=(const ClusterKeeper&) = delete;

  const cluster::Cluster& cluster() const { return *cluster_; }

 private:
  std::optional<cluster::Cluster> cluster_;
  bool temporary_ = false;
};

/// The same for one job, with exclusive use. Signals that would end the program are delivered when the use
/// ends.
class ClusterUse {
 public:
  /// Errors: ConfigError as ClusterKeeper, and when another job uses the cluster.
  ClusterUse(const std::string& platform_path, bool may_create)
      : keeper_(platform_path, may_create), lock_(keeper_.cluster().id) {}

  const cluster::Cluster& cluster() const { return keeper_.cluster(); }
  /// Changes the launch to run on the cluster, with one rank for each of `hosts` (names in the platform
  /// file). Errors: ConfigError for a host that the cluster does not have.
  void put_ranks(LaunchSetting& setting, const std::vector<std::string>& hosts) const;
  /// For run.json: {"id", "platform", "latency": "netem" | "kernel"}.
  nlohmann::json record() const;

 private:
  BlockedSignals signals_{ending_signals};
  ClusterKeeper keeper_;
  cluster::ClusterLock lock_;
};

}  // namespace tandem::cli
