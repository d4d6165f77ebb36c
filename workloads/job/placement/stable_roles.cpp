#include "workloads/job/placement/stable_roles.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <string>
#include <utility>
#include <vector>

#include "platforms/description_index.hpp"
#include "policies/provisioning/tiers.hpp"
#include "workloads/experiment/key_error.hpp"
#include "workloads/job/placement/host_lifetime.hpp"

namespace tandem {
namespace {

std::vector<provisioning::HostOfRoles> hosts_of_roles(const Experiment& experiment,
                                                      const platforms::Description& platform,
                                                      const Roster& roster,
                                                      const std::vector<std::string>& backups) {
  using Role = RankAssignment::Role;
  std::map<std::string, provisioning::HostOfRoles> hosts;
  const platforms::HostIndex known(platform);
  const LifetimesOfHosts lifetimes(experiment.transience);
  for (std::size_t rank = 0; rank < roster.assignments().size(); ++rank) {
    const RankAssignment& assignment = roster.assignment(static_cast<Rank>(rank));
    // Keepers are where the parts of commits are.
    const bool is_backup = std::ranges::find(backups, assignment.host) != backups.end();
    if (assignment.role == Role::keeper && !is_backup) continue;
    const bool has_backup =
        !backups.empty() && (assignment.role == Role::server || assignment.role == Role::coordinator);
    auto& host = hosts[assignment.host];
    host.name = assignment.host;
    const bool is_worker = assignment.role == Role::worker;
    if (is_worker)
      host.has_worker = true;
    else if (host.stable_role.empty() && !has_backup)
      host.stable_role = role_name(assignment.role);
    if (lifetimes.may_depart(known.host(assignment.host), is_worker)) host.may_depart = true;
  }
  std::vector<provisioning::HostOfRoles> all;
  for (auto& [name, host] : hosts) all.push_back(std::move(host));
  return all;
}

}  // namespace

void check_stable_roles(const Experiment& experiment, const platforms::Description& platform,
                        const Roster& roster) {
  if (experiment.recovery.provisioning != "tiers") return;
  if (experiment.placement.evaluator == first_worker_evaluates)
    throw KeyError("placement.evaluator",
                   "a host whose machine stays, or none, with recovery.provisioning tiers", "'first-worker'");
  const auto backups = provisioning::backups_of("tiers", experiment.recovery.provisioning_options);
  if (!backups.empty() && roster.keepers().empty())
    throw KeyError("checkpoint.to",
                   "buddy, and a checkpoint.policy, with backups of recovery.provisioning tiers",
                   "'" + to_text(experiment.checkpoint.to) + "'");
  const auto flaw = provisioning::find_misplaced_role(hosts_of_roles(experiment, platform, roster, backups));
  if (!flaw) return;
  const char* const expected =
      flaw->should_stay && !backups.empty()
          ? "backups, and all ranks but workers, servers and keepers, on hosts that stay (of no worker, and "
            "without tandem:lifetime or with never), with tiers"
      : flaw->should_stay ? "all ranks but workers and keepers on hosts that stay (of no worker, and without "
                            "tandem:lifetime or with never), with tiers"
                          : "workers on hosts whose machines may depart (transience.lifetime, "
                            "tandem:lifetime), with tiers";
  throw KeyError("recovery.provisioning", expected,
                 fmt::format("the {} on '{}', whose machine {}", flaw->role, flaw->host,
                             flaw->should_stay ? "may depart" : "stays"));
}

}  // namespace tandem
