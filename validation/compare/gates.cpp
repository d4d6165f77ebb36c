#include "validation/compare/gates.hpp"

#include <fmt/format.h>

#include <algorithm>

#include "policies/cache/policy.hpp"
#include "policies/checkpointing/policy.hpp"
#include "policies/sampling/sampler.hpp"
#include "policies/sync/policy.hpp"
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
  const auto& algorithm = sync::catalog().find(experiment.sync.algorithm);
  if (algorithm.make.timing_driven)
    return fmt::format("{} decides by durations or the order of arrival", algorithm.name);
  if (experiment.transience.may_depart())
    return "machines depart by the clock, in the middle of steps (transience.lifetime)";
  const auto& checkpoint = experiment.checkpoint;
  if (!checkpoint.policy.empty()) {
    const auto& policy = checkpointing::catalog().find(checkpoint.policy);
    const Options options = Options::resolve(policy.name, policy.options, checkpoint.options);
    if (!checkpointing::rounds_between_commits(policy.name, options))
      return fmt::format("checkpointing policy {} decides by durations", policy.name);
  }
  const auto& data = experiment.data;
  if (data.source == DataSource::storage && cache::catalog().find(data.cache).make.needs.idle)
    return fmt::format("cache policy {} reads in the background when its node is idle", data.cache);
  if (data.source == DataSource::storage && sampling::samplers().find(data.sampling).make.needs_cached &&
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
