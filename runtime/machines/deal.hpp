// Assigns the hosts of a platform to machines (--map auto). Pure.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "runtime/machines/placement.hpp"

namespace tandem::machines {

/// A host of the platform that has ranks.
struct HostNeed {
  std::string host;
  int ranks = 1;
  std::optional<int> gpu = {};  ///< number of the GPU that computes for it; none: it computes on processors
  /// Number of its group at each level, from small groups (hosts behind one switch) to large ones; the same
  /// levels for all hosts. Empty: the platform has no groups.
  std::vector<int> groups = {};
  std::string machine = {};  ///< already assigned, with this GPU; empty: to be assigned
};

struct MachineOffer {
  std::string machine;
  int ranks = 0;  ///< limit
  int gpus = 0;
};

/// The machines of all hosts that have none. A host gets a GPU of its own where it needs one, numbered from 0
/// on each machine in the order of hosts.
///
/// The largest groups are dealt first. A group goes to one machine where it fits. Where it fits on none, it
/// is divided into smaller groups, and these into hosts. A machine gets groups in the order of their hosts up
/// to its share, which is proportional to its GPUs for hosts with a GPU, or else to its ranks. If this leaves
/// a host without a machine, each group goes where the least remains free; if that fails too, each host does.
///
/// Errors: ConfigError that says what is missing, with all needs and offers.
std::vector<Mapped> deal(const std::vector<HostNeed>& hosts, const std::vector<MachineOffer>& machines);

/// The same on the fewest equal machines: those that hosts already have, and further ones with names of their
/// own. `each`: what a machine offers; its name has no effect. Errors: ConfigError for a host that needs
/// more.
std::vector<Mapped> deal_on_fewest(const std::vector<HostNeed>& hosts, const MachineOffer& each);

}  // namespace tandem::machines
