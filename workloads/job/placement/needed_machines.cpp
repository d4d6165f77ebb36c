#include "workloads/job/placement/needed_machines.hpp"

#include <algorithm>
#include <set>

#include "platforms/description_index.hpp"
#include "workloads/job/placement/host_lifetime.hpp"
#include "workloads/job/placement/roster.hpp"

namespace tandem {
namespace {

/// "server, evaluator and steward", each once.
void add_role(std::vector<std::string>& roles, const std::string& role) {
  if (std::ranges::find(roles, role) == roles.end()) roles.push_back(role);
}

std::string text_of(const std::vector<std::string>& roles) {
  std::string text;
  for (std::size_t index = 0; index < roles.size(); ++index) {
    if (index > 0) text += index + 1 == roles.size() ? " and " : ", ";
    text += roles[index];
  }
  return text;
}

}  // namespace

std::vector<NeededMachine> needed_machines(const Experiment& experiment,
                                           const platforms::Description& platform) {
  if (!experiment.transience.may_depart()) return {};
  if (!launches_again(experiment.continuation()) && experiment.checkpoint.policy.empty()) return {};
  const Roster roster(experiment);
  std::set<std::string> of_workers;
  for (const Rank worker : roster.workers()) of_workers.insert(roster.host_of(worker));
  const platforms::HostIndex hosts(platform);
  std::vector<NeededMachine> machines;
  std::vector<std::vector<std::string>> roles;
  for (const RankAssignment& assignment : roster.assignments()) {
    if (of_workers.contains(assignment.host) || !has_own_departures(hosts.host(assignment.host))) continue;
    // In place, these depart alone.
    const bool departs_alone =
        assignment.role == RankAssignment::Role::cache_node || assignment.role == RankAssignment::Role::store;
    if (departs_alone && experiment.continuation() != Continuation::restart_on_departure) continue;
    const auto found = std::ranges::find(machines, assignment.host, &NeededMachine::host);
    const auto place = static_cast<std::size_t>(found - machines.begin());
    if (found == machines.end()) {
      machines.push_back({.host = assignment.host, .roles = {}});
      roles.emplace_back();
    }
    add_role(roles[place], role_name(assignment.role));
  }
  for (std::size_t place = 0; place < machines.size(); ++place) machines[place].roles = text_of(roles[place]);
  return machines;
}

}  // namespace tandem
