// The emulated cluster as `tandem run` and others use it: the one that is up for a platform file, or one that
// is brought up for as long as it is needed.
#pragma once

#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <vector>

#include "platforms/description.hpp"
#include "runtime/cluster/cluster.hpp"

namespace tandem::cli {

/// What SimGrid says of a platform file, as the emulation needs it.
/// Errors: ConfigError as load_platform, and naming an element that cannot be emulated.
cluster::Wiring wiring_of(const std::string& platform_path);

/// Prints what of the file the cluster that was just made cannot show, if anything.
void report_cluster(const cluster::Cluster& cluster);

/// The cluster of a platform file, for several jobs one after the other.
class ClusterKeeper {
 public:
  /// Brings the cluster up if it is not there, and takes it down in the end then. Prints what it does on
  /// standard error. Errors: ConfigError when the file has changed since the cluster was made, or, unless
  /// `may_make`, when it is not up; as bring_up.
  ClusterKeeper(const std::string& platform_path, bool may_make);
  ~ClusterKeeper();
  ClusterKeeper(const ClusterKeeper&) = delete;
  ClusterKeeper& operator=(const ClusterKeeper&) = delete;

  const cluster::Cluster& cluster() const { return *cluster_; }

 private:
  std::optional<cluster::Cluster> cluster_;
  bool temporary_ = false;
};

/// The same for one job, which has it for itself.
class ClusterUse {
 public:
  /// Errors: ConfigError as ClusterKeeper, and when another job uses the cluster.
  ClusterUse(const std::string& platform_path, bool may_make)
      : keeper_(platform_path, may_make), lock_(keeper_.cluster().id) {}

  const cluster::Cluster& cluster() const { return keeper_.cluster(); }
  /// Has the launch take place on it: a rank for each of `hosts`, which are names of the platform file.
  /// Errors: ConfigError for a host that the cluster does not have.
  void put_ranks(LaunchSetting& setting, const std::vector<std::string>& hosts) const;
  /// For run.json: {"id", "platform", "latency": "netem" | "kernel"}.
  nlohmann::json record() const;

 private:
  ClusterKeeper keeper_;
  cluster::ClusterLock lock_;
};

}  // namespace tandem::cli
