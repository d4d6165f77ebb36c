#include "workloads/membership/generations/drawn_machines.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <exception>
#include <utility>

#include "policies/lifetimes/catalog.hpp"
#include "workloads/checkpoint/restart_point.hpp"
#include "workloads/data/tier_index.hpp"
#include "workloads/job/plan/fates_of_job.hpp"
#include "workloads/job/plan/machines_of_job.hpp"
#include "workloads/job/plan/recovery_plan.hpp"
#include "workloads/job/plan/workers_of_generation.hpp"
#include "workloads/job/plan/zones.hpp"
#include "workloads/records/membership_file.hpp"

namespace tandem {
namespace {

std::vector<std::string> hosts_of_workers(const Job& job) {
  std::vector<std::string> hosts;
  for (const Rank worker : job.roster().workers()) hosts.push_back(job.roster().host_of(worker));
  return hosts;
}

/// As machines are drawn, with these deaths.
RestartSteward steward_of(const Job& job, const std::vector<SlotDeath>& deaths) {
  std::vector<RestartSteward::Needed> needed;
  for (NeededMachine& machine : needed_machines(job))
    needed.push_back({std::move(machine.host), std::move(machine.roles)});
  auto hosts = hosts_of_workers(job);
  const std::size_t slots = hosts.size() + needed.size();
  // In place, a rank of the job asks the policy.
  auto policy = continuation_of(job) == Continuation::in_place ? nullptr : make_recovery_policy(job);
  return {Machines(job.spec().experiment.transience, fates_of(job), slots, deaths), std::move(policy),
          std::move(hosts), std::move(needed)};
}

}  // namespace

RestartSteward make_restart_steward(const Job& job) { return steward_of(job, {}); }

RestartSteward steward_after(const Job& job, bool is_revoked, const std::vector<SlotDeath>& deaths) {
  const JobSpec& spec = job.spec();
  Experiment experiment = whole_experiment(job);
  // Machines stay for the policy too, as its replay expects.
  if (!is_revoked) experiment.transience = {};
  const Job whole(JobSpec{std::move(experiment), spec.platform, spec.directory, spec.data_memory},
                  std::nullopt);
  if (is_revoked) return steward_of(whole, deaths);
  auto fates = lifetimes::make_fates("never", {}, spec.experiment.seed, zones_of(whole));
  auto hosts = hosts_of_workers(whole);
  return {Machines({}, std::move(fates), hosts.size(), deaths), make_recovery_policy(whole),
          std::move(hosts)};
}

std::string describe(const RestartSteward::End& end) {
  if (!end.roles.empty())
    return fmt::format("the machine of the {} on '{}' departed ({})", end.roles, end.host, to_text(*end.how));
  if (end.how)
    return fmt::format("the machine of worker {} on '{}' departed ({})", end.slot, end.host,
                       to_text(*end.how));
  return fmt::format("a machine came up for worker {} on '{}'", end.slot, end.host);
}

void add_machines(Generation& generation, const RestartSteward& steward) {
  generation.membership = steward.membership();
  generation.decisions = steward.decisions();
  generation.warnings.clear();
  const auto& members = steward.members();
  for (DrawnWarning warning : steward.warnings()) {
    const auto found = std::ranges::lower_bound(members, warning.slot);
    if (found == members.end() || *found != warning.slot) continue;
    warning.slot = static_cast<int>(found - members.begin());
    generation.warnings.push_back(warning);
  }
}

bool lose_machines(const Job& job, const std::vector<int>& slots) {
  const std::vector<std::string> hosts = hosts_of_machines(job);
  bool has_lost = false;
  for (const int slot : slots) {
    const std::string& host = hosts.at(static_cast<std::size_t>(slot));
    for (const Rank node : job.roster().ranks_of(Roster::Role::cache_node))
      if (job.spec().experiment.data.keep && job.roster().host_of(node) == host)
        lose_tier(job.spec().directory, job.roster().assignment(node).index);
    if (job.checkpoints().commits.are_on_machines()) has_lost = lose_machine(job, host) || has_lost;
  }
  return has_lost;
}

std::string write_known_membership(const std::string& out, const RestartSteward& steward,
                                   std::optional<Seconds> until) {
  std::vector<MembershipRecord> known = steward.membership();
  if (until) std::erase_if(known, [&](const MembershipRecord& change) { return change.time > *until; });
  // The error that has ended the job is the one to report.
  try {
    add_to_membership_file(out, known);
  } catch (const std::exception& error) {
    return fmt::format("what is known of the machines is not in membership.csv: {}", error.what());
  }
  return "";
}

}  // namespace tandem
