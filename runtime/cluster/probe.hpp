// Checks whether this machine can emulate a cluster, by trying everything in temporary network namespaces.
#pragma once

namespace tandem::cluster {

/// Errors: ConfigError naming what is missing.
void require_rights();

struct Ability {
  bool delays;  ///< the kernel has netem
};
/// Errors: ConfigError naming the missing right, program or kernel feature.
Ability require_ability();

}  // namespace tandem::cluster
