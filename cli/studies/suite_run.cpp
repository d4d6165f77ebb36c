#include "cli/studies/suite_run.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <exception>
#include <filesystem>
#include <map>
#include <memory>
#include <numeric>
#include <optional>

#include "cli/jobs/ensemble.hpp"
#include "cli/machines/calibration_run.hpp"
#include "cli/machines/cluster_use.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/job_options.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/plan_forecast.hpp"
#include "cli/shared/profile_origin.hpp"
#include "cli/shared/progress.hpp"
#include "cli/shared/subcommand_process.hpp"
#include "cli/studies/suite_input.hpp"
#include "policies/vocabulary/check.hpp"
#include "runtime/process/signals.hpp"
#include "validation/campaign/hold_out.hpp"
#include "validation/campaign/plan.hpp"
#include "validation/compare/disturbance.hpp"
#include "validation/report/several_jobs.hpp"
#include "workloads/cost/profile.hpp"
#include "workloads/experiment/json_file.hpp"
#include "workloads/records/chrome_trace.hpp"
#include "workloads/records/jobs_summary.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;
using nlohmann::json;
using validation::SuiteConfiguration;
using validation::Task;

/// A profile and the configurations that are simulated with it.
struct Calibration {
  validation::CalibrationGroup group;
  std::string profile;  ///< path
  std::string failure{};
};

class SuiteRun {
 public:
  SuiteRun(const validation::Suite& suite, const SuiteRunOptions& options)
      : suite_(suite), options_(options), machine_words_(cli::words_of(options.machines)) {
    for (std::size_t i = 0; i < suite.configurations.size(); ++i)
      entries_.resize(entries_.size() + suite.configurations[i].shown_entries().size(), i);
    reported_.resize(entries_.size());
    failures_.resize(suite.configurations.size());
    profile_of_.resize(suite.configurations.size());
  }

  SuiteResults carry_out() {
    name_profiles();
    bring_clusters_up();
    for (auto& calibration : calibrations_) calibrate(calibration);
    const auto tasks = validation::plan(suite_, options_.out, options_.witness);
    std::vector<const Experiment*> single;
    for (const auto& configuration : suite_.configurations)
      if (configuration.jobs.empty())
        for (const Experiment* experiment : configuration.experiments()) single.push_back(experiment);
    announce_ensembles(single);
    ProgressBar bar("validate " + suite_.name);
    auto campaign = validation::carry_out(suite_, tasks, runner(bar), failures_);
    for (std::size_t i = 0; i < reported_.size(); ++i)
      if (!campaign.configurations[i].failure.empty())
        reported_[i] = validation::failed_configuration(campaign.configurations[i]);
    SuiteResults results{std::move(campaign.configurations),
                         std::move(reported_),
                         {},
                         std::move(paid_),
                         {},
                         profiles(),
                         first_error_ ? first_error_ : campaign.first_error};
    for (const auto& several : campaign.several_jobs)
      results.several_jobs.push_back(validation::report_jobs(several));
    for (const Task& task : tasks) results.commands.push_back(command_of(words_of(task)));
    return results;
  }

 private:
  const SuiteConfiguration& at(std::size_t index) const { return suite_.configurations[index]; }
  /// Ranks run on several machines.
  bool is_real() const { return options_.on_machines; }

  /// The job, or the first one of several.
  JobOptions job_of(std::size_t index, std::vector<std::string> settings) const {
    JobOptions job;
    job.experiment_file = at(index).experiment_file;
    job.settings = std::move(settings);
    job.variant = at(index).variant;
    if (!at(index).jobs.empty()) job.job = at(index).jobs.front().name;
    return job;
  }

  // ---- Calibration ----

  /// With a given profile all configurations share it.
  void name_profiles() {
    std::vector<validation::CalibrationGroup> groups(1);
    if (options_.profile.empty()) {
      groups = validation::plan_calibrations(suite_, options_.on_cluster || is_real());
    } else {
      groups[0].configurations.resize(suite_.configurations.size());
      std::iota(groups[0].configurations.begin(), groups[0].configurations.end(), std::size_t{0});
    }
    for (std::size_t k = 0; k < groups.size(); ++k) {
      std::string path = options_.profile;
      if (path.empty())
        path =
            options_.out + (groups.size() == 1 ? "/profile.json" : fmt::format("/profiles/{}.json", k + 1));
      path = fs::absolute(path).lexically_normal().string();
      for (const std::size_t i : groups[k].configurations) profile_of_[i] = path;
      calibrations_.push_back({std::move(groups[k]), std::move(path)});
    }
  }

  /// The library's all-reduces are measured in the sizes of all configurations that use them.
  std::vector<AllReduceSeries> all_reduces_of_users(const validation::CalibrationGroup& group) const {
    std::vector<AllReduceSeries> all;
    for (const std::size_t i : group.configurations) {
      const auto& sync = at(i).experiment.sync;
      // Several jobs do not use them.
      if (!at(i).jobs.empty() || sync.over != sync::Route::all_reduce || sync.collective != native_all_reduce)
        continue;
      for (auto& series : all_reduces_of(job_of(i, at(i).settings)))
        if (std::ranges::find(all, series) == all.end()) all.push_back(std::move(series));
    }
    return all;
  }

  void calibrate(Calibration& calibration) {
    if (!options_.profile.empty() || (options_.resume && fs::exists(calibration.profile))) return;
    const std::size_t representative = calibration.group.representative;
    const std::string& platform = at(representative).experiment.platform;
    fmt::print("calibrating {}\n", options_.on_cluster ? "the emulated cluster of " + platform
                                   : is_real()         ? "the machines as the cluster of " + platform
                                                       : "this machine");
    fs::create_directories(fs::path(calibration.profile).parent_path());
    try {
      const JobOptions job = job_of(representative, at(representative).settings);
      const int code = run_calibration(job, calibration.profile,
                                       {.cluster = options_.on_cluster ? platform : "",
                                        .machines = options_.machines,
                                        .all_reduces = all_reduces_of_users(calibration.group)});
      if (code > exit_of_signal) throw Interrupted{code - exit_of_signal};
      if (code == exit_bad_input) throw ConfigError("bad input");
      if (code != exit_success) throw WorldError("its ranks failed");
    } catch (const std::exception& error) {
      if (!first_error_) first_error_ = std::current_exception();
      calibration.failure = std::string("the calibration failed: ") + error.what();
    }
    if (calibration.failure.empty()) return;
    print_error(calibration.failure);
    for (const std::size_t i : calibration.group.configurations) failures_[i] = calibration.failure;
  }

  std::vector<validation::ReportProfile> profiles() const {
    std::vector<validation::ReportProfile> all;
    for (const auto& calibration : calibrations_) {
      auto& own = all.emplace_back();
      own.path = calibration.profile;
      own.failure = calibration.failure;
      for (const std::size_t i : calibration.group.configurations) own.configurations.push_back(at(i).name);
      if (options_.profile.empty()) own.settings_of = at(calibration.group.representative).name;
      if (!calibration.failure.empty() || !fs::exists(calibration.profile)) continue;
      const Profile profile = load_profile(calibration.profile);
      own.date = profile.date;
      own.machine = profile.machine;
      own.software = profile.software;
      own.other_load = profile.other_load;
      own.command = profile.command;
    }
    return all;
  }

  void bring_clusters_up() {
    if (!options_.on_cluster) return;
    signals_.emplace(ending_signals);
    for (const auto& configuration : suite_.configurations) {
      auto& cluster = clusters_[configuration.experiment.platform];
      if (!cluster) cluster = std::make_unique<ClusterKeeper>(configuration.experiment.platform, true);
    }
  }

  // ---- Tasks ----

  std::vector<std::string> settings(std::size_t index) const {
    auto all = at(index).settings;
    if (is_real()) {
      LoadedJob loaded = load_job(job_of(index, all));
      compute_natively_by_default(loaded);
      all.push_back("run.devices=" + std::string(to_text(loaded.experiment.run.devices)));
    }
    all.insert(all.end(),
               {"physics.network=profile", "physics.noise=profile", "physics.profile=" + profile_of_[index]});
    return all;
  }

  /// The command that carries out a task, without the program.
  std::vector<std::string> words_of(const Task& task) const {
    const bool runs = task.kind == Task::Kind::run;
    auto words = words_for(runs ? "run" : "simulate", at(task.configuration), settings(task.configuration));
    const auto add = [&](std::initializer_list<std::string> more) { words.insert(words.end(), more); };
    add({"--out", task.out, "--operations", "--decisions", "--trace", "--force"});
    if (!runs) add({"--yes"});
    if (has_jobs(task) && runs && options_.alone) add({"--alone"});
    if (has_jobs(task) && !runs && !options_.alone) add({"--together-only"});
    if (task.kind == Task::Kind::witness) add({"--fidelity", "smpi"});
    if (task.repetition > 0 || runs) add({"--repetition", std::to_string(task.repetition)});
    if (runs && options_.on_cluster) add({"--cluster", at(task.configuration).experiment.platform});
    if (runs)
      for (const auto& word : machine_words_) words.push_back(word);
    return words;
  }

  validation::Runner runner(ProgressBar& bar) {
    validation::Runner runner;
    runner.run = [this](const Task& task) {
      fs::create_directories(task.out);
      run_subcommands({{words_of(task), options_.out + "/log.txt"}}, 1);
      return other_load_of(task);
    };
    runner.is_finished = [this](const Task& task) { return is_finished(task); };
    runner.compared = [this](std::size_t entry, const validation::VariantResults& results,
                             const validation::Comparison& comparison) {
      const std::size_t index = entries_[entry];
      validation::check_hold_out(origin_of(profile_of_[index]), results.measured);
      reported_[entry] = validation::report_configuration(results, comparison);
      note_bills(index, results.measured);
      if (!options_.traces) return;
      const std::string of_job =
          at(index).jobs.empty() ? "" : "-" + fs::path(results.simulated.path).filename().string();
      write_trace(options_.out + '/' + at(index).folder + "/trace" + of_job + ".json", results.simulated,
                  results.measured.front());
    };
    runner.foretold = [this](const Task& task) { return foretold_by(task); };
    runner.now = [] {
      return Seconds(
          std::chrono::duration<double>(std::chrono::steady_clock::now().time_since_epoch()).count());
    };
    runner.progress = [&bar](double fraction, std::optional<Seconds> left) { bar.update(fraction, left); };
    runner.message = print_note;
    runner.disturbing_load = validation::disturbing_load;
    return runner;
  }

  /// Of a configuration whose job a plan has written.
  void note_bills(std::size_t index, const std::vector<Results>& runs) {
    if (!at(index).jobs.empty() || runs.empty()) return;
    const auto forecast = forecast_of(job_of(index, {}), runs.front().info.experiment);
    for (const Results& run : runs)
      if (const auto paid = forecast ? paid_run(*forecast, run.summary) : std::nullopt)
        paid_.push_back(*paid);
  }

  bool has_jobs(const Task& task) const { return !at(task.configuration).jobs.empty(); }

  /// The directories of its results: of several jobs one each, and those of the jobs alone.
  std::vector<std::string> directories_of(const Task& task) const {
    if (!has_jobs(task)) return {task.out};
    std::vector<std::string> all;
    for (const auto& job : at(task.configuration).jobs) {
      all.push_back(directory_of_job(task.out, job.name));
      if (options_.alone) all.push_back(directory_of_job_alone(task.out, job.name));
    }
    return all;
  }

  /// All jobs together, and then each alone.
  Seconds foretold_by(const Task& simulation) const {
    if (!has_jobs(simulation)) return Seconds(read_summary(simulation.out).makespan_s);
    double all_s = read_jobs_summary(simulation.out).makespan_s;
    for (const auto& job : at(simulation.configuration).jobs)
      if (options_.alone) all_s += read_summary(directory_of_job_alone(simulation.out, job.name)).makespan_s;
    return Seconds(all_s);
  }

  /// Not known of jobs while they ran together, and 0 then.
  double other_load_of(const Task& task) const {
    double most = 0;
    for (const auto& directory : directories_of(task))
      most = std::max(most, read_summary(directory).other_load);
    return most;
  }

  /// Whether the results are of these jobs, which began then.
  bool is_of_same_jobs(const Task& task) const {
    const std::string file = task.out + "/" + jobs_file_name;
    if (!fs::exists(file)) return false;
    const json known = read_json_file(file, "a file of a result directory").at("experiment").at("jobs");
    const auto& jobs = at(task.configuration).jobs;
    return known.size() == jobs.size() && std::ranges::all_of(jobs, [&](const auto& job) {
             return known.contains(job.name) && known.at(job.name).at("start_s") == job.start.count();
           });
  }

  /// Whether an interrupted suite has finished the task already, for the same experiment.
  bool is_finished(const Task& task) const {
    if (!options_.resume || fs::exists(task.out + "/INCOMPLETE")) return false;
    try {
      if (has_jobs(task) && !is_of_same_jobs(task)) return false;
      JobOptions options = job_of(task.configuration, settings(task.configuration));
      std::vector<LoadedJob> jobs;
      if (!has_jobs(task)) jobs.push_back(load_job(options));
      for (const auto& job : at(task.configuration).jobs) {
        options.job = job.name;
        jobs.resize(jobs.size() + (options_.alone ? 2 : 1), load_job(options));
      }
      const auto directories = directories_of(task);
      for (std::size_t i = 0; i < directories.size(); ++i) {
        if (!fs::exists(directories[i] + "/run.json")) return false;
        const Results known = read_results(directories[i]);
        if (to_json(known.info.experiment) != to_json(jobs[i].experiment) ||
            known.info.repetition != task.repetition)
          return false;
      }
      return true;
    } catch (const ConfigError&) {
      return false;
    }
  }

  const validation::Suite& suite_;
  const SuiteRunOptions& options_;
  std::vector<std::size_t> entries_;                       ///< of each entry of the report, its configuration
  std::vector<validation::ReportConfiguration> reported_;  ///< of each entry
  std::vector<validation::PaidRun> paid_;                  ///< of planned jobs
  std::vector<std::string> failures_;                      ///< of calibrations, by configuration
  std::vector<std::string> profile_of_;                    ///< of each configuration
  std::vector<std::string> machine_words_;                 ///< of the runs
  std::vector<Calibration> calibrations_;
  std::optional<BlockedSignals> signals_;  ///< until no cluster is left; subcommands still end by them
  std::map<std::string, std::unique_ptr<ClusterKeeper>> clusters_;
  std::exception_ptr first_error_;
};

}  // namespace

void check_before_running(const validation::Suite& suite, const SuiteRunOptions& options) {
  if (options.on_machines && validation::has_several_jobs(suite))
    throw ConfigError(
        "--hosts, --hostfile, --slurm: expected this machine, or --cluster, with several jobs (key jobs)");
  if (options.profile.empty()) {
    validation::plan_calibrations(suite, options.on_cluster || options.on_machines);
    return;
  }
  std::vector<std::string> directories;
  for (const auto& configuration : suite.configurations)
    directories.push_back(options.out + '/' + configuration.folder);
  validation::check_apart(origin_of(options.profile), directories);
}

SuiteResults run_suite(const validation::Suite& suite, const SuiteRunOptions& options) {
  return SuiteRun(suite, options).carry_out();
}

}  // namespace tandem::cli
