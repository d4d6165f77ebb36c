// What provisioning policy `tiers` asks of the placement of a job. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/options.hpp"

namespace tandem::provisioning {

/// The hosts that stay and have copies of all commits, in the second stage of the policy; none in the first,
/// and of other policies. `options`: of the provisioning policy, complete or not.
std::vector<std::string> backups_of(const std::string& policy,
                                    const std::map<std::string, OptionValue>& options);

/// A host with ranks of the job.
struct HostOfRoles {
  std::string name;
  bool may_depart = false;  ///< its machine may be taken away
  bool has_worker = false;
  std::string stable_role = {};  ///< of a rank that has to stay, such as "server"; empty: it has none
};

/// The first rank that is on the wrong kind of host.
struct MisplacedRole {
  std::string host;
  std::string role;
  bool should_stay = false;  ///< it needs a host whose machine stays; otherwise one that may depart
};
std::optional<MisplacedRole> find_misplaced_role(const std::vector<HostOfRoles>& hosts);

}  // namespace tandem::provisioning
