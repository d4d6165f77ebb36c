#include "workloads/job/commit_place.hpp"

#include <fmt/format.h>

#include "workloads/experiment/key_error.hpp"

namespace tandem {
namespace {

std::optional<std::string> why_not_for_writers(const Experiment& experiment) {
  if (experiment.checkpoint.policy.empty())
    return "states are saved with the evaluations where checkpoint.policy is empty";
  if (experiment.checkpoint.to == CommitPlace::buddy && experiment.recovery.mode != RecoveryMode::restart)
    return "commits in memory serve only a job that starts again (recovery.mode restart)";
  if (!experiment.transience.may_depart()) return std::nullopt;
  const auto& recovery = experiment.recovery;
  if (recovery.mode == RecoveryMode::in_place && experiment.sync.over != sync::Route::server)
    return "without servers the workers that are there commit for those that are not";
  return std::nullopt;
}

}  // namespace

std::optional<std::string> why_commits_in_directory(const Experiment& experiment, CommitReaders readers) {
  if (experiment.checkpoint.to == CommitPlace::directory) return std::nullopt;
  // Only one machine has a folder for each host.
  if (readers == CommitReaders::several_machines)
    return "a restart reads the commits of all hosts on this one (local and buddy work on one machine, also "
           "with --cluster)";
  return why_not_for_writers(experiment);
}

void expect_commits_for_machines(const Experiment& experiment) {
  if (const auto why = why_commits_in_directory(experiment, CommitReaders::several_machines))
    throw KeyError("checkpoint.to", fmt::format("directory on several machines, because {}", *why),
                   fmt::format("'{}'", to_text(experiment.checkpoint.to)));
}

}  // namespace tandem
