#include "workloads/job/shared_check.hpp"

#include <algorithm>
#include <string>

#include "policies/cache/policy.hpp"
#include "policies/sampling/sampler.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/experiment/keys.hpp"
#include "workloads/experiment/overrides.hpp"
#include "workloads/job/cache_policy.hpp"

namespace tandem {
namespace {

using Json = nlohmann::json;

/// The data set, and what cache nodes and stores are and do.
constexpr const char* common_keys[] = {"workload.math",
                                       "workload.dataset",
                                       "workload.dataset_options",
                                       "workload.dataset_directory",
                                       "workload.train_samples",
                                       "workload.image_size",
                                       "data.cache",
                                       "data.cache_options",
                                       "data.cache_capacity",
                                       "data.disk_capacity",
                                       "data.peers",
                                       "data.copies",
                                       "data.store",
                                       "data.bad_sample",
                                       "data.cold",
                                       "placement.cache_nodes",
                                       "placement.stores"};

[[noreturn]] void refuse(const LocatedJob& job, const char* key, const std::string& expected,
                         const std::string& found) {
  const Origin origin = job.locate(key);
  fail(origin.place, origin.label, expected, found);
}

Json value_of(const LocatedJob& job, const std::string& key) {
  Json value = written_value(*find_experiment_key(key), job.experiment);
  // What the cache saves a job is its own.
  if (key == "data.cache_options") value.erase("benefit");
  return value;
}

std::string text_of(const Json& value) {
  return value.is_string() || value.is_number() ? quote(value) : '\'' + value.dump() + '\'';
}

void expect_alike(const LocatedJob& first, const LocatedJob& job) {
  const std::string because =
      " of job '" + first.name + "', because they share their cache nodes (data.shared)";
  for (const char* key : common_keys) {
    const Json one = value_of(first, key), other = value_of(job, key);
    if (one != other) refuse(job, key, text_of(one) + ", as" + because, text_of(other));
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

/// Those that know the lists of one job.
void check_alone(const LocatedJob& job) {
  const Experiment& experiment = job.experiment;
  const std::string because = ", because several jobs share the cache nodes (data.shared)";
  if (experiment.data.source == DataSource::memory)
    refuse(job, "data.shared", "false, because workers have their samples in memory (data.source)", "'true'");
  const std::string& cache = experiment.data.cache;
  if (cache::catalog().find(cache).make.plans_one_job)
    refuse(job, "data.cache", "a policy that does not plan with the list of one job" + because, quote(cache));
  if (sampling::samplers().find(experiment.data.sampling).make.needs_cached)
    refuse(job, "data.sampling", "a sampler that does not depend on what is cached" + because,
           quote(experiment.data.sampling));
  if (experiment.data.background != BackgroundReads::always)
    refuse(job, "data.background", "always" + because, quote(to_text(experiment.data.background)));
  if (experiment.data.keep) refuse(job, "data.keep", "false" + because, "'true'");
  if (experiment.data.peers == Peers::plan || experiment.data.peers == Peers::directory)
    refuse(job, "data.peers", "none, partition or ring" + because, quote(to_text(experiment.data.peers)));
}

/// What a cache saves is measured against the other jobs.
void check_probe(const LocatedJob& job) {
  if (const auto steps = probe_steps(job.experiment.data); steps > 0)
    refuse(job, "data.cache_options.probe", "0, because no other job shares the cache nodes (data.shared)",
           quote(steps));
}

}  // namespace

void check_sharing(const std::vector<LocatedJob>& jobs) {
  const LocatedJob* first = nullptr;
  int sharing = 0;
  for (const LocatedJob& job : jobs) {
    if (!job.experiment.data.shared) continue;
    check_alone(job);
    ++sharing;
    if (first == nullptr)
      first = &job;
    else
      expect_alike(*first, job);
  }
  if (sharing == 1) check_probe(*first);
}

}  // namespace tandem
