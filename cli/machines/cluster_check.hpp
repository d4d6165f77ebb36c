// `tandem cluster check`: measures an emulated cluster with MPI and compares it with the platform file.
#pragma once

#include <string>

namespace tandem::cli {

struct ClusterCheckOptions {
  std::string platform;
  double tolerance = 0.05;
};

/// Prints the table. Returns an exit code. Errors: as ClusterUse.
int check_cluster(const ClusterCheckOptions& options);

}  // namespace tandem::cli
