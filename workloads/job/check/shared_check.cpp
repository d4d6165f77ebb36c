#include "workloads/job/check/shared_check.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

#include "policies/vocabulary/check.hpp"
#include "workloads/experiment/keys.hpp"
#include "workloads/experiment/overrides.hpp"
#include "workloads/job/check/limits.hpp"
#include "workloads/job/plan/cache_policy.hpp"

namespace tandem {
namespace {

using Json = nlohmann::json;

[[noreturn]] void refuse(const LocatedJob& job, const std::string& key, const std::string& expected,
                         const std::string& found) {
  const Origin origin = job.locate(key);
  fail(origin.place, origin.label, expected, found);
}

Json value_of(const LocatedJob& job, const ExperimentKey& key) {
  Json value = written_value(key, job.experiment);
  // The benefit of the cache may differ from job to job.
  if (value.is_object()) value.erase("benefit");
  return value;
}

std::string text_of(const Json& value) {
  return value.is_string() || value.is_number() ? quote(value) : '\'' + value.dump() + '\'';
}

void expect_alike(const LocatedJob& first, const LocatedJob& job) {
  const std::string because =
      " of job '" + first.name + "', because they share their cache nodes (data.shared)";
  for (const ExperimentKey& key : experiment_keys()) {
    if (key.shared != Shared::with_caches) continue;
    const Json one = value_of(first, key), other = value_of(job, key);
    if (one != other) refuse(job, key.path, text_of(one) + ", as" + because, text_of(other));
  }
  const std::string& dataset = job.experiment.workload.dataset;
  const bool is_generated =
      (dataset.starts_with("synthetic") && job.experiment.workload.math == Math::real) || dataset == "sizes";
  if (is_generated && first.experiment.seed != job.experiment.seed)
    refuse(job, "seed",
           "'" + std::to_string(first.experiment.seed) + "', as" + because + ", and data set " + dataset +
               " is generated from it",
           '\'' + std::to_string(job.experiment.seed) + '\'');
}

/// The benefit of a cache is measured against the other jobs.
void check_probe(const LocatedJob& job, std::int64_t steps) {
  if (steps > 0)
    refuse(job, "data.cache_options.probe", "0, because no other job shares the cache nodes (data.shared)",
           quote(steps));
}

}  // namespace

void check_sharing(const std::vector<LocatedJob>& jobs) {
  const LocatedJob* first = nullptr;
  std::int64_t probe = 0;  // of the first one
  int sharing = 0;
  for (const LocatedJob& job : jobs) {
    if (!job.experiment.data.shared) continue;
    const ResolvedExperiment chosen(job.experiment);
    check_limits(limits_of_shared_caches(), {job.experiment, chosen}, job.locate);
    ++sharing;
    if (first != nullptr) {
      expect_alike(*first, job);
      continue;
    }
    first = &job;
    probe = probe_steps(chosen.cache.options());
  }
  if (sharing == 1) check_probe(*first, probe);
}

}  // namespace tandem
