// The machines of a job whose drawn departures and arrivals end its generations.
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "workloads/job/plan/job.hpp"
#include "workloads/membership/restart_steward.hpp"

namespace tandem {

/// `job`: with all workers. Pre: has_drawn_generations(). Errors: ConfigError for a lifetime model that has
/// no machines as the job begins.
RestartSteward make_restart_steward(const Job& job);
/// The same, after processes have died by themselves. `job`: any of its generations. `is_revoked`: machines
/// depart as they are drawn; otherwise they stay.
RestartSteward steward_after(const Job& job, bool is_revoked, const std::vector<SlotDeath>& deaths);

/// Why a generation has ended. Code that prints the end of a job recognises this text.
std::string describe(const RestartSteward::End& end);

/// Adds the steward's machines until the end of the present generation.
void add_machines(Generation& generation, const RestartSteward& steward);

/// The machines in these slots (hosts_of_machines) have departed: removes what cache nodes keep there, and
/// the commits on their disks. Returns whether there were any commits.
bool lose_machines(const Job& job, const std::vector<int>& slots);

/// Adds the steward's machines, until that time (none: all), to membership.csv in `out`. Returns an error in
/// words; empty: it has succeeded.
std::string write_known_membership(const std::string& out, const RestartSteward& steward,
                                   std::optional<Seconds> until);

}  // namespace tandem
