// Whether this machine can emulate a cluster. Tries everything in network namespaces that are thrown away.
#pragma once

namespace tandem::cluster {

/// Errors: ConfigError naming what is missing.
void require_rights();

struct Ability {
  bool delays;  ///< the kernel has netem
};
/// Errors: ConfigError naming the missing right, program or part of the kernel.
Ability require_ability();

}  // namespace tandem::cluster
