// The machines whose loss stops a job, for its checkpointing policy: how long they live, and their events
// before a generation begins.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "policies/checkpointing/policy.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {

struct CommitMachine {
  int slot = 0;  ///< of a worker in the whole job; then of machines without workers
  std::string host;
};

/// The machines that may depart as it is drawn: those of workers (platforms::machine_of), if workers do not
/// recover in place, and those that every generation needs. If none may, any host of the job may fail. In the
/// order of slots.
std::vector<CommitMachine> machines_that_stop(const Job& job);
/// The slot of the rank's machine; -1: its machine is none of these.
int slot_of_machine(const Job& job, const std::vector<CommitMachine>& machines, Rank rank);

/// The events of these machines in this job until its present generation began, and after `known`, if that
/// is given: machines are ready and depart, in the order of time.
std::vector<checkpointing::Event> machine_events(const Job& job, const std::vector<CommitMachine>& machines,
                                                 std::optional<Seconds> known);

/// The lifetimes of these machines, by slot: for run.json. Null: not all of them have a distribution.
nlohmann::json describe_lifetimes(const Job& job, const std::vector<CommitMachine>& machines);
/// The setting from which a policy of the experiment is made. `lifetimes`: from describe_lifetimes().
checkpointing::Setting checkpointing_setting(const Experiment& experiment, const Options& options,
                                             const nlohmann::json& lifetimes);

}  // namespace tandem
