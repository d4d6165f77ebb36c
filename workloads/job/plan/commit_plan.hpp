// How a job commits its state, and how large each rank's part of a commit is: the same with modelled and with
// real mathematics.
#pragma once

#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policies/checkpointing/survival.hpp"
#include "workloads/job/placement/roster.hpp"
#include "workloads/job/plan/checkpoint_plan.hpp"
#include "workloads/job/plan/exchange_plan.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/job/plan/job_spec.hpp"

namespace tandem {

/// Errors: ConfigError for bad options.
CommitPlan plan_commits(const Experiment& experiment, const ResolvedExperiment& chosen, const Roster& roster,
                        const ExchangePlan& exchange);

/// Whether a job cannot be resumed without the states of its workers. Where these come and go while servers
/// stay, a newcomer begins with what the servers have, and so does a resumed job.
bool needs_states_of_workers(const Roster& roster, const ExchangePlan& exchange);

/// The ranks without whose state a job cannot be resumed.
std::vector<Rank> ranks_of_state(const Roster& roster, const ExchangePlan& exchange);
/// Whether a job can be resumed with the state of the rank. If peers run at different speeds, only the worker
/// that writes the checkpoints can use its state.
bool can_use_state(const Roster& roster, const ExchangePlan& exchange, Rank rank);

/// Whether the rank writes its state with a commit: the ranks whose state is needed, and workers that may
/// have finished the round, and started no other, when their server commits.
bool has_part_in_commits(const Job& job, Rank rank);

/// The directory whose checkpoints/ has what ranks on that host commit, and the states of jobs without
/// commits: `directory`, the result directory, or the folder that represents the host's own disk or memory.
std::string commit_directory(const CommitPlan& plan, const std::string& directory, const std::string& host);
/// The rank that keeps copies of what ranks on that host commit; none: nobody does.
std::optional<Rank> keeper_of(const Roster& roster, const CommitPlan& plan, const std::string& host);
/// The ranks whose parts it keeps.
std::vector<Rank> wards_of(const Job& job, Rank keeper);
/// Those of all hosts whose ranks have committed anything to them, of this job's generations; none where
/// commits are in the result directory.
std::vector<std::string> commit_directories(const CommitPlan& plan, const std::string& directory);

/// In place of a rank: the model, which the writer of checkpoints has.
inline constexpr int model_part = -1;
/// What the commit after `round` consists of: the model, and the states of ranks without which it is not
/// complete. With the hosts that have them, of which one is enough.
std::vector<checkpointing::Copy> copies_of_commit(const Job& job, std::int64_t round);
/// Of all these copies of parts: the rounds of complete commits, the latest first.
std::vector<std::int64_t> whole_commits(const Job& job, std::span<const checkpointing::Copy> copies);
/// The hosts whose machines end a generation when they depart, and whose departure takes a part of every
/// commit along, so that none is complete.
std::vector<std::string> hosts_without_whom_no_commit(const Job& job);

/// The vectors that a rank writes with a commit: its state, and the model if it is the writer of checkpoints.
/// Without numbers and texts, what a compression has learnt, losses of samples, and contributions that wait
/// for the next update.
Bytes commit_size(const Job& job, Rank rank);
/// The same for a rank that writes the model, or does not.
Bytes commit_size(const Job& job, Rank rank, bool with_model);

}  // namespace tandem
