#include "cli/jobs/run_jobs.hpp"

#include <fmt/format.h>

#include <nlohmann/json.hpp>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "cli/jobs/resume.hpp"
#include "cli/jobs/several_jobs.hpp"
#include "cli/machines/leftovers.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/job_text.hpp"
#include "cli/shared/output.hpp"
#include "policies/vocabulary/check.hpp"
#include "runtime/process/killed_job.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/job/placement/job_ranks.hpp"
#include "workloads/job/plan/job_document.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;

void refuse_other_launches(const RunOptions& options) {
  const auto refuse = [](const char* option) {
    throw ConfigError(
        fmt::format("{}: expected this machine, or --cluster, with several jobs (key jobs)", option));
  };
  if (MachineUse(options.machines, options.cluster.empty()).is_used()) refuse("--hosts, --hostfile, --slurm");
  if (options.check_only) refuse("--check");
  if (options.sbatch.sbatch.is_wanted) refuse("--sbatch");
  if (options.print_command) refuse("--print-command");
}

/// See runtime/rank/own_job.hpp.
json document_of(const LoadedJobs& several, std::span<const Job> jobs, const JobRanks& ranks) {
  json list = json::array();
  for (std::size_t i = 0; i < jobs.size(); ++i)
    list.push_back({{"name", several.jobs[i].name},
                    {"start_s", several.jobs[i].start.count()},
                    {"ranks", ranks.of(i)},
                    {"document", job_document(jobs[i])}});
  return {{"jobs", std::move(list)}};
}

/// The error of a launch. `names`: of its jobs.
std::string cause_of(const LaunchResult& result, std::span<const Job> jobs, const JobRanks& ranks,
                     const std::vector<std::string>& names) {
  if (result.failed_rank < 0) return result.message;
  const auto [job, rank] = ranks.own(result.failed_rank);
  const RankAssignment& assignment = jobs[job].roster().assignment(rank);
  return result.message + fmt::format("\n  rank {} is rank {} of job '{}', the {} on '{}' of the platform",
                                      result.failed_rank, rank, names[job], role_name(assignment.role),
                                      assignment.host);
}

/// The failure of the launch of all jobs.
void report_failure(const LaunchResult& result, std::span<const Job> jobs, const JobRanks& ranks,
                    const std::vector<std::string>& names, const std::string& out) {
  std::string message = cause_of(result, jobs, ranks, names);
  // Such a job wrote its results after its last commit, as if it had come to its end.
  const bool by_signal = result.exit_code > exit_of_signal;
  for (const Job& job : jobs)
    if (is_incomplete_result_directory(job.spec().directory) || (by_signal && may_commit_on_request(job)))
      mark_failed(job.spec().directory, message);
  leave_failed(out, result.exit_code, message);
  print_error(message);
}

/// The failure of a job alone. The jobs have run together before, and those results stay.
void report_failure_alone(const LaunchResult& result, const Job& job, const std::string& name,
                          const std::string& out) {
  const RankedJob alone{.roster = &job.roster()};
  std::string message = "alone: " + cause_of(result, {&job, 1}, JobRanks(std::span(&alone, 1)), {name});
  const std::string cause = message;
  leave_failed(job.spec().directory, result.exit_code, message);
  mark_failed(out, cause);
  print_error(message + fmt::format("\n  {0} is marked incomplete, but the results of the jobs together are "
                                    "complete: {0}/jobs/*",
                                    out));
}

/// Launches of jobs on this machine or on the emulated cluster.
class Launch {
 public:
  Launch(const LoadedJobs& several, const RunOptions& options, std::string directory)
      : options_(options),
        out_(std::move(directory)),
        cluster_(use_cluster(options, several.jobs.front().loaded.experiment)) {}

  /// `folder`: the --out of the ranks, with the document of these jobs.
  LaunchResult run(std::span<const Job> jobs, const JobRanks& ranks, const std::string& name,
                   const std::string& folder) const {
    LaunchSetting setting = launch_setting(jobs, options_, folder);
    setting.ranks = ranks.size();
    if (cluster_) {
      std::vector<std::string> hosts;
      for (Rank rank = 0; rank < ranks.size(); ++rank)
        hosts.push_back(jobs[ranks.own(rank).job].roster().host_of(ranks.own(rank).rank));
      cluster_->put_ranks(setting, hosts);
      note_cluster(setting, *cluster_);
    }
    return launch_job(setting, name, cluster_ ? " on the emulated hosts" : "", nullptr, {});
  }

  /// Each job alone, one after the other. Returns the exit code.
  int run_alone(const LoadedJobs& several) const {
    for (const auto& one : several.jobs) {
      const std::string folder = directory_of_job_alone(out_, one.name);
      Job job = make_job(one.loaded, folder);
      record_losses_if_asked(job, options_.job);
      const WriteLock lock = create_result_directory(folder, false);
      write_document(folder + "/job.json", job);
      lock.share();
      const RankedJob ranked{.roster = &job.roster()};
      const LaunchResult result =
          run({&job, 1}, JobRanks(std::span(&ranked, 1)), job.spec().experiment.name + " alone", folder);
      if (result.exit_code == exit_success) continue;
      report_failure_alone(result, job, one.name, out_);
      return result.exit_code;
    }
    return exit_success;
  }

 private:
  const RunOptions& options_;
  std::string out_;
  std::optional<ClusterUse> cluster_;
};

}  // namespace

int run_jobs(LoadedJobs several, const RunOptions& options) {
  refuse_other_launches(options);
  for (auto& one : several.jobs) {
    check_runnable(one.loaded.experiment);
    read_mounted_storage(one.loaded.experiment);
  }
  const std::string out = directory_of_jobs(several, options.job, "measured");
  const std::vector<Job> jobs = make_jobs(several, options.job, out);
  const JobRanks ranks = ranks_of(several, jobs);
  require_memory(jobs, ranks);
  remove_leftovers();
  const KilledJobGuard guard;
  const Launch launch(several, options, out);
  const auto locks = create_directories_of_jobs(several, out, options.job.force);
  write_whole_file(out + "/job.json", document_of(several, jobs, ranks).dump(1) + '\n');
  // The first rank of each job holds its lock too, in case this process is killed.
  for (std::size_t job = 1; job < locks.size(); ++job) locks[job].share();
  print_jobs(jobs, ranks);
  const LaunchResult result = launch.run(jobs, ranks, several.experiment.name, out);
  std::vector<std::string> names;
  for (const auto& one : several.jobs) names.push_back(one.name);
  if (result.exit_code != exit_success) {
    report_failure(result, jobs, ranks, names, out);
    return result.exit_code;
  }
  if (const int code = options.alone ? launch.run_alone(several) : exit_success; code != exit_success)
    return code;
  finish_jobs(several, jobs, out, "measured");
  return exit_success;
}

}  // namespace tandem::cli
