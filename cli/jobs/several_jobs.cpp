#include "cli/jobs/several_jobs.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <nlohmann/json.hpp>
#include <utility>

#include "cli/shared/output.hpp"
#include "cli/shared/results_text.hpp"
#include "policies/sampling/sampler.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/experiment/json_file.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/records/result_directory.hpp"
#include "workloads/records/shared_cache.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;
namespace fs = std::filesystem;

/// Its simulated time does not depend on the messages of other jobs.
void expect_own_all_reduce(const Job& job, const std::string& name) {
  const AllReducePlan* const plan = job.exchange().all_reduce();
  if (plan == nullptr || std::ranges::count(plan->collectives, native_all_reduce) == 0) return;
  throw ConfigError(fmt::format(
      "job '{}': sync.collective: expected an algorithm whose messages share the links in an experiment of "
      "several jobs, found '{}', which uses the library's ({})",
      name, job.spec().experiment.sync.collective, native_all_reduce));
}

/// Without jobs where fewer than two share.
SharedCache shared_cache_of(const LoadedJobs& several, std::span<const Job> jobs, const std::string& out) {
  SharedCache cache;
  for (std::size_t i = 0; i < jobs.size(); ++i) {
    const Experiment::Data& data = jobs[i].spec().experiment.data;
    if (!data.shared) continue;
    const std::string& name = several.jobs[i].name;
    cache.jobs.push_back(use_of_cache(name, read_results(directory_of_job(out, name)).journal));
    const auto nodes = std::ssize(jobs[i].roster().ranks_of(Roster::Role::cache_node));
    cache.set = jobs[i].data().manifest().total();
    cache.capacity = (data.cache_capacity + data.disk_capacity) * nodes;
    cache.visits_all = cache.visits_all && jobs[i].chosen().sampler->visits_all;
  }
  if (cache.jobs.size() < 2) cache.jobs.clear();
  return cache;
}

}  // namespace

std::string directory_of_jobs(const LoadedJobs& several, const JobOptions& options,
                              const std::string& world) {
  return options.out.empty() ? default_out(several.experiment.name, world) : options.out;
}

void refuse_one_job(const char* option) {
  throw ConfigError(fmt::format(
      "{}: expected an experiment of several jobs (key jobs), found one job, which is always alone", option));
}

std::vector<Job> make_jobs(const LoadedJobs& several, const JobOptions& options, const std::string& out) {
  std::vector<Job> jobs;
  for (const auto& one : several.jobs) {
    Job& job = jobs.emplace_back(make_job(one.loaded, directory_of_job(out, one.name)));
    expect_own_all_reduce(job, one.name);
    record_losses_if_asked(job, options);
  }
  return jobs;
}

JobRanks ranks_of(const LoadedJobs& several, std::span<const Job> jobs) {
  std::vector<RankedJob> ranked;
  for (std::size_t i = 0; i < jobs.size(); ++i)
    ranked.push_back({.roster = &jobs[i].roster(),
                      .start = several.jobs[i].start,
                      .shares = jobs[i].spec().experiment.data.shared});
  return JobRanks(ranked);
}

std::vector<WriteLock> create_directories_of_jobs(const LoadedJobs& several, const std::string& out,
                                                  bool force) {
  std::vector<WriteLock> locks;
  locks.push_back(create_result_directory(out, force));
  for (const auto& job : several.jobs)
    locks.push_back(create_result_directory(directory_of_job(out, job.name), false));
  return locks;
}

void finish_jobs(const LoadedJobs& several, std::span<const Job> ready, const std::string& out,
                 const std::string& world) {
  std::vector<JobInCompany> jobs;
  json experiments = json::object();
  for (const auto& one : several.jobs) {
    const std::string alone = directory_of_job_alone(out, one.name);
    JobInCompany job{.name = one.name,
                     .start = one.start,
                     .together = job_times_of(read_summary(directory_of_job(out, one.name)))};
    if (fs::exists(alone)) job.alone = job_times_of(read_summary(alone));
    jobs.push_back(std::move(job));
    experiments[one.name] = {{"start_s", one.start.count()}, {"overrides", one.overrides}};
  }
  json experiment = to_json(several.experiment);
  experiment["jobs"] = std::move(experiments);
  JobsSummary summary = jobs_summary(jobs);
  const SharedCache cache = shared_cache_of(several, ready, out);
  if (!cache.jobs.empty()) summary.shared_cache = shared_cache_summary(cache);
  write_whole_file(out + "/" + jobs_file_name, json{{"world", world},
                                                    {"command", command_line()},
                                                    {"started", timestamp()},
                                                    {"experiment", std::move(experiment)}}
                                                       .dump(2) +
                                                   '\n');
  write_whole_file(out + "/summary.json", to_json(summary).dump(2) + '\n');
  mark_complete(out);
  if (wants_json()) return print_document({{"directory", out}, {"summary", to_json(summary)}});
  for (const auto& one : several.jobs)
    fmt::print("{}\n", results_line(read_results(directory_of_job(out, one.name))));
  fmt::print("{} jobs on one platform\n{}{}  {}\n", jobs.size(), jobs_text(jobs), shared_cache_text(cache),
             out);
}

}  // namespace tandem::cli
