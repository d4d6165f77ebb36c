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

/// Whether a job can be resumed only with the states of its workers. Not if workers come and go while
/// servers stay: a newcomer begins with the state of the servers, and so does a resumed job.
bool needs_states_of_workers(const Roster& roster, const ExchangePlan& exchange);

/// The ranks whose states are needed to resume a job.
std::vector<Rank> ranks_of_state(const Roster& roster, const ExchangePlan& exchange);
/// Whether a job can be resumed with the state of the rank. If peers run at different speeds, only the worker
/// that writes the checkpoints can use its state.
bool can_use_state(const Roster& roster, const ExchangePlan& exchange, Rank rank);

/// Whether the rank writes its state with a commit: ranks whose state is needed, and workers that may have
/// finished the round, and started no other, when their server commits.
bool has_part_in_commits(const Job& job, Rank rank);

/// The directory whose checkpoints/ has what ranks on that host commit, and the states of jobs without
/// commits: `directory`, the result directory, or the folder that represents the host's own disk or memory.
std::string commit_directory(const CommitPlan& plan, const std::string& directory, const std::string& host);
/// The rank that keeps copies of the commits of ranks on that host; none: no rank does.
std::optional<Rank> keeper_of(const Roster& roster, const CommitPlan& plan, const std::string& host);
/// The ranks whose parts it keeps.
std::vector<Rank> wards_of(const Job& job, Rank keeper);
/// The directories of all hosts to which ranks have committed, of this job's generations; empty if commits
/// are in the result directory.
std::vector<std::string> commit_directories(const CommitPlan& plan, const std::string& directory);

/// In the place of a rank: the model, which the writer of checkpoints has.
inline constexpr int model_part = -1;
/// The parts of the commit after `round`: the model, and the states of the ranks that make it complete. With
/// the hosts that have them; one of these is enough.
std::vector<checkpointing::Copy> copies_of_commit(const Job& job, std::int64_t round);
/// The rounds of complete commits among these copies of parts, the latest first.
std::vector<std::int64_t> whole_commits(const Job& job, std::span<const checkpointing::Copy> copies);
/// The hosts whose machines end a generation when they depart, and take a part of every commit with them, so
/// that none is complete.
std::vector<std::string> hosts_without_whom_no_commit(const Job& job);

/// Size of the vectors that a rank writes with a commit: its state, and the model if it is the writer of
/// checkpoints. Without numbers and texts, the state of a compression, losses of samples, and contributions
/// that wait for the next update.
Bytes commit_size(const Job& job, Rank rank);
/// The same for a rank that writes the model, or does not.
Bytes commit_size(const Job& job, Rank rank, bool with_model);

}  // namespace tandem
