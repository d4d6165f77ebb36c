#include "validation/compare/gates.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "policies/cache/policy.hpp"
#include "policies/checkpointing/policy.hpp"
#include "policies/sampling/sampler.hpp"
#include "policies/sync/policy.hpp"
#include "workloads/experiment/resolved_experiment.hpp"
#include "workloads/records/jobs_summary.hpp"

namespace tandem::validation {

const char* state_name(Gate::State state) {
  switch (state) {
    case Gate::State::passed:
      return "passed";
    case Gate::State::failed:
      return "failed";
    case Gate::State::not_checked:
      return "not checked";
  }
  return "";
}

std::string timing_reason(const RunInfo& info) {
  const Experiment& experiment = info.experiment;
  const ResolvedExperiment chosen(experiment);
  if (chosen.algorithm->timing_driven)
    return fmt::format("{} decides by durations or the order of arrival", chosen.algorithm.name());
  if (experiment.transience.may_depart())
    return "machines depart by the clock, in the middle of steps (transience.lifetime)";
  if (const auto& commits = chosen.checkpointing;
      commits && !checkpointing::rounds_between_commits(commits->name(), commits->options()))
    return fmt::format("checkpointing policy {} decides by durations", commits->name());
  const auto& data = experiment.data;
  if (data.source == DataSource::storage && chosen.cache->needs.idle)
    return fmt::format("cache policy {} reads in the background when its node is idle", data.cache);
  if (data.source == DataSource::storage && chosen.sampler->needs_cached &&
      caches_serve_several(info))
    return fmt::format(
        "sampler {} lists what is cached, which depends on the order in which the workers of a node asked",
        data.sampling);
  if (experiment.stop.seconds.count() > 0) return "stop.seconds ends the job by the clock";
  return "";
}

bool caches_serve_several(const RunInfo& info) {
  return info.physics.contains(shared_cache_key) ||
         std::ranges::count(info.roles, "worker") > std::ranges::count(info.roles, "cache-node");
}

std::string describe_rank(const RunInfo& info, Rank rank) {
  if (rank < 0) return "the launcher";  // which runs the recovery policy of a job that starts again
  const auto index = static_cast<std::size_t>(rank);
  if (index >= info.roles.size() || index >= info.hosts.size()) return fmt::format("rank {}", rank);
  return fmt::format("rank {} ({} on {})", rank, info.roles[index], info.hosts[index]);
}

}  // namespace tandem::validation
