#include "workloads/job/check/commit_place.hpp"

#include <fmt/format.h>

#include "workloads/experiment/key_error.hpp"

namespace tandem {

void expect_commits_for_machines(const Experiment& experiment) {
  if (experiment.checkpoint.to == CommitPlace::directory) return;
  throw KeyError(
      "checkpoint.to",
      "directory on several machines, because a restart reads the commits of all hosts on this one "
      "(local and buddy work on one machine, also with --cluster)",
      fmt::format("'{}'", to_text(experiment.checkpoint.to)));
}

}  // namespace tandem
