// `tandem run`: the job under the real clock, through mpirun.
#include <fmt/format.h>

#include <csignal>
#include <filesystem>
#include <memory>
#include <nlohmann/json.hpp>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/commands/what_if.hpp"
#include "cli/jobs/launched_generations.hpp"
#include "cli/jobs/resume.hpp"
#include "cli/jobs/run_jobs.hpp"
#include "cli/jobs/run_launch.hpp"
#include "cli/jobs/several_jobs.hpp"
#include "cli/machines/leftovers.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/job_options.hpp"
#include "cli/shared/job_text.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/plan_forecast.hpp"
#include "cli/shared/results_text.hpp"
#include "platforms/csv_table.hpp"
#include "policies/vocabulary/check.hpp"
#include "runtime/launcher/launcher.hpp"
#include "runtime/process/commit_memory.hpp"
#include "runtime/process/killed_job.hpp"
#include "workloads/checkpoint/record_files.hpp"
#include "workloads/checkpoint/state_files.hpp"
#include "workloads/data/dataset_memory.hpp"
#include "workloads/job/check/commit_place.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/job/plan/job_document.hpp"
#include "workloads/job/plan/machines_of_job.hpp"
#include "workloads/membership/generations/generations.hpp"
#include "workloads/priced/prediction.hpp"
#include "workloads/priced/speed_check.hpp"
#include "workloads/records/result_directory.hpp"
#include "workloads/records/summary.hpp"

namespace tandem::cli {
namespace {

bool is_on_machines(const MachineUse& machines, const RunOptions& options) {
  return machines.is_used() || options.sbatch.sbatch.is_wanted;
}

void check_machine_use(const Experiment& experiment, const MachineUse& machines, const RunOptions& options) {
  if (options.check_only && !machines.is_used())
    throw ConfigError(
        "--check: expected several machines (--hosts, --hostfile or a Slurm allocation), found none");
  const bool on_machines = is_on_machines(machines, options);
  // On several machines, those that watch them kill ranks.
  if (experiment.run.revoke == RevokeMode::kill && on_machines && options.machines.lost_after_s == 0.0)
    throw ConfigError(
        "run.revoke: expected none with --lost-after 0, because kill needs machines that are watched, found "
        "'kill'");
  if (on_machines) expect_commits_for_machines(experiment);
  if (on_machines && experiment.data.keep)
    throw ConfigError(
        "data.keep: expected false on several machines, because second tiers are kept in the result "
        "directory, "
        "which goes from machine to machine, found 'true'");
  if (experiment.checkpoint.to == CommitPlace::buddy && options.print_command)
    throw ConfigError(
        "checkpoint.to: expected directory or local with --print-command, because only `tandem run` itself "
        "makes and removes the memory of the hosts, found 'buddy'");
}

/// Checks that need the job. On several machines, the ranks of needed machines that depart are killed by the
/// processes that watch machines, so these must run.
void check_job(const Job& job, const MachineUse& machines, const RunOptions& options) {
  require_memory(job);
  if (!is_on_machines(machines, options) || options.machines.lost_after_s > 0.0 ||
      continuation_of(job) != Continuation::in_place)
    return;
  const auto needed = needed_machines(job);
  if (needed.empty()) return;
  throw ConfigError(
      fmt::format("--lost-after: expected more than 0, because the machine of the {} on '{}' may depart "
                  "(tandem:lifetime), which needs machines that are watched, found '0'",
                  needed.front().roles, needed.front().host));
}

/// Outside the directory, because printing changes nothing in it: the ranks create or replace it.
int print_launch(const Job& job, const RunOptions& options, LaunchSetting setting) {
  check_result_directory(job.spec().directory, options.job.force);
  auto out = std::filesystem::absolute(job.spec().directory).lexically_normal();
  if (!out.has_filename()) out = out.parent_path();
  std::filesystem::create_directories(out.parent_path());
  const std::string document =
      out.lexically_proximate(std::filesystem::current_path()).string() + ".job.json";
  write_document(document, job);
  setting.program[1] = document;
  setting.program.emplace_back("--create");
  if (options.job.force) setting.program.emplace_back("--force");
  if (has_generations(job))
    print_note("the printed command ends when a rank dies: only `tandem run` itself starts the job again");
  const std::string command = print_command(setting);
  fmt::print("{}\n", command);
  print_document({{"command", command}, {"document", document}});
  return exit_success;
}

/// A generation of a job may have fewer workers than the job.
void put_ranks(LaunchSetting& setting, const Job& job, const ClusterUse* cluster, MachineUse& machines) {
  setting.ranks = job.roster().size();
  std::vector<std::string> hosts;
  for (const auto& assignment : job.roster().assignments()) hosts.push_back(assignment.host);
  if (cluster != nullptr) cluster->put_ranks(setting, hosts);
  if (machines.is_used()) machines.put_ranks(setting, job);
}

/// " --resume-from ROUND" where the latest complete checkpoint is at the end of the job, and another one
/// before it: what follows the last round may fail. None: there is nothing before the end.
std::optional<std::string> words_for_round(const Job& job, const std::string& out) {
  bool has_end = false;
  for (const std::int64_t round : rounds_of_job(job, out)) {
    try {
      const ResumePoint point = find_resume_point(job, out, round);
      if (!job.stop().is_reached(progress_at(job, point)))
        return has_end ? fmt::format(" --resume-from {}", round) : std::string();
      has_end = true;
    } catch (const ConfigError&) {
      // Incomplete, or of other workers.
    }
  }
  return has_end ? std::nullopt : std::optional(std::string());
}

/// The command that continues a job which has ended early; empty: it has no checkpoint with values before its
/// end.
std::string command_to_resume(const Job& job, const RunOptions& options, const std::string& out) {
  if (!job.real_math() || rounds_of_job(job, out).empty()) return "";
  const auto round = words_for_round(job, out);
  if (!round) return "";
  std::string command = "tandem run --resume " + shell_word(out) + *round;
  for (const auto& word : words_of(options.machines)) command += ' ' + shell_word(word);
  if (!options.cluster.empty()) command += " --cluster " + shell_word(options.cluster);
  return command;
}

void note_emulation(const Experiment& experiment) {
  if (experiment.run.devices == DeviceSpeed::emulated)
    print_note(
        "run.devices is emulated: operations take as long as on the devices of the platform file; --set "
        "run.devices=native computes as fast as these machines can");
}

/// The memory of hosts, if commits are there.
std::unique_ptr<CommitMemory> memory_of_hosts(const Job& job, const std::string& out) {
  if (!job.checkpoints().commits.are_in_memory()) return nullptr;
  return std::make_unique<CommitMemory>(out + "/memory", job.real_math());
}

void end_memory(CommitMemory* memory) {
  if (memory == nullptr) return;
  if (const auto left = memory->end())
    print_error(fmt::format(
        "the commits in memory cannot be copied into the result directory, and stay in {}: free the "
        "disk and copy them by hand before `tandem clean` removes them",
        left->string()));
}

/// The round of the last commit in a result; none: it has none.
std::optional<std::string> last_commit_of(const std::string& out) {
  const std::string path = out + "/commits.csv";
  if (!std::filesystem::exists(path)) return std::nullopt;
  CsvTable commits(path, "a table of commits");
  std::optional<std::string> round;
  while (commits.next_row()) round = commits.text("round");
  return round;
}

void report_failure(const GuardedResult& result, const Job& job, const RunOptions& options,
                    const std::string& out) {
  std::string message = result.message;
  if (const auto round = last_commit_of(out); result.ended_in_order && round)
    message += fmt::format(" after its commit of round {}", *round);
  if (result.failed_rank >= 0) {
    const RankAssignment& assignment = job.roster().assignment(result.failed_rank);
    message += fmt::format("\n  rank {} is the {} on '{}' of the platform", result.failed_rank,
                           role_name(assignment.role), assignment.host);
  }
  leave_failed(out, result.exit_code, message);
  // After an error of the environment, the missing thing (room on a disk, a machine) may be there later.
  if (result.exit_code > exit_of_signal || result.exit_code == exit_environment_error)
    if (const auto command = command_to_resume(job, options, out); !command.empty())
      message += "\n  to resume it: " + command;
  if (const auto advice = advice_after_death(job, result); !advice.empty()) message += "\n  " + advice;
  print_error(message);
}

/// Where the run had the platform's links, or real ones: its speed and the closed form of the job. Nothing
/// for a job without one, and where machines may depart.
void note_speed(const Job& job, const std::string& out) {
  const Summary measured = read_summary(out);
  const bool may_depart = job.spec().experiment.continuation() != Continuation::none;
  if (may_depart || measured.step_time.steps == 0) return;
  try {
    PlatformCache platforms;
    const auto network = platforms.network(job.spec().experiment.platform, priced::hosts_of_prediction(job),
                                           priced::hubs_of_prediction(job));
    const auto check = priced::check_speed(priced::predict(job, network), measured);
    if (check.is_slow)
      print_warning(check.text);
    else
      print_note(check.text);
  } catch (const ConfigError&) {
    // No closed form.
  }
}

/// For the status of a launch.
const char* place_of_ranks(const RunOptions& options, const MachineUse& machines) {
  if (!options.cluster.empty()) return " on the emulated hosts";
  return machines.is_used() ? " on the machines" : "";
}

/// Those of a script are known when it runs.
MachineUse machines_for(const RunOptions& options) {
  if (options.sbatch.sbatch.is_wanted) return MachineUse({}, false);
  return MachineUse(options.machines, options.cluster.empty());
}

/// Settles what depends on where the ranks run: devices, storage, and the machines and GPUs of hosts.
void adapt_to_machines(LoadedJob& loaded, MachineUse& machines, const RunOptions& options) {
  check_machine_use(loaded.experiment, machines, options);
  if (is_on_machines(machines, options)) compute_natively_by_default(loaded);
  read_mounted_storage(loaded.experiment);
  machines.map_hosts(loaded);
}

int print_script(const Job& job, const RunOptions& options, const std::string& out) {
  RunSbatchOptions sbatch = options.sbatch;
  if (may_commit_on_request(job)) sbatch.grace_s = options.grace_s;
  print_sbatch(run_script(job, options.job, options.machines, sbatch, out));
  return exit_success;
}

int run_job(const RunOptions& options) {
  LoadedExperiment all = load_or_resumed(options.job);
  if (auto* several = std::get_if<LoadedJobs>(&all)) return run_jobs(std::move(*several), options);
  if (options.alone) refuse_one_job("--alone");
  LoadedJob& loaded = std::get<LoadedJob>(all);
  check_runnable(loaded.experiment);
  const auto forecast = forecast_of(options.job, loaded.experiment);
  MachineUse machines = machines_for(options);
  adapt_to_machines(loaded, machines, options);
  const std::string out = result_directory_of(options.job, loaded.experiment, "measured");
  // Building the job here finds bad input before anything is written or started.
  Job job = make_job(loaded, out);
  check_job(job, machines, options);
  resume_if_asked(job, options.job);
  record_losses_if_asked(job, options.job);
  if (options.sbatch.sbatch.is_wanted) return print_script(job, options, out);
  // Machines may have another working directory.
  LaunchSetting setting =
      launch_setting({&job, 1}, options,
                     machines.is_used() ? std::filesystem::absolute(out).lexically_normal().string() : out);
  if (!options.print_command) remove_leftovers();
  const auto cluster = use_cluster(options, loaded.experiment);
  put_ranks(setting, job, cluster ? &*cluster : nullptr, machines);
  if (cluster) note_cluster(setting, *cluster);
  if (machines.is_used() && !options.print_command) {
    machines.stage(setting);
    machines.check(setting, out);
  }
  if (machines.is_used()) note_emulation(loaded.experiment);
  if (options.check_only) return exit_success;
  if (options.print_command) return print_launch(job, options, std::move(setting));
  const WriteLock lock = create_result_directory(out, options.job.force);
  const auto memory = memory_of_hosts(job, out);
  const KilledJobGuard guard(memory.get());
  const bool restarts = begin_generations(job);
  write_document(out + "/job.json", job);
  // Rank 0 writes the results, and holds the lock too, in case this process is killed.
  lock.share();
  // Memory is shared within this machine.
  const auto data = machines.is_used() ? nullptr : share_dataset(job.data().dataset());
  if (data) setting.program.insert(setting.program.end(), {"--data", data->path()});
  print_job(job);
  const char* const where = place_of_ranks(options, machines);
  const auto launch_once = [&](const std::function<std::optional<PlannedKill>()>& kill) {
    LaunchSetting own = setting;
    if (restarts) put_ranks(own, job, cluster ? &*cluster : nullptr, machines);
    if (machines.is_used()) machines.share_document(own, out, job.resume());
    auto guards = machines.guard(
        own, machines.is_used() ? std::filesystem::absolute(out).lexically_normal().string() : out);
    GuardedResult result = launch_job(own, job.spec().experiment.name, where, std::move(guards), kill);
    for (const auto& problem : machines.fetch_results(out, result.lost_machine)) {
      print_error(problem);
      result.exit_code = std::max(result.exit_code, exit_environment_error);
    }
    return result;
  };
  const GuardedResult result = restarts ? launch_all(job, out, launch_once) : launch_once({});
  if (result.exit_code == exit_success && restarts) remove_generation_files(job, out);
  end_memory(memory.get());
  if (result.exit_code == exit_success && machines.is_used()) mark_complete(out);
  if (result.exit_code == exit_success && (cluster || machines.is_used())) note_speed(job, out);
  if (result.exit_code == exit_success)
    print_results(out, false, forecast);
  else
    report_failure(result, job, options, out);
  return result.exit_code;
}

int run_placed(RunOptions& options, const ClusterOptions& cluster) {
  place_on_cluster(options.job, cluster, "measured");
  return run_job(options);
}

}  // namespace

void add_run(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("run", "Run an experiment through mpirun, on this machine or on several");
  const auto options = std::make_shared<RunOptions>();
  add_experiment_options(*command, options->job);
  add_resume_options(*command, options->job);
  add_record_options(*command, options->job);
  add_machine_options(*command, options->machines);
  const auto cluster = add_cluster_options(*command);
  command->add_flag("--print-command", options->print_command,
                    "Write OUT.job.json and print the launch command, which creates OUT, for a batch system");
  command
      ->add_option(
          "--cluster", options->cluster,
          "Run each rank in its host of the emulated cluster of this platform file, which must be the "
          "experiment's")
      ->type_name("PLATFORM")
      ->excludes("--hosts")
      ->excludes("--hostfile")
      ->excludes("--slurm");
  command
      ->add_option(
          "--grace", options->grace_s,
          "After SIGTERM: seconds in which the job commits its state (checkpoint.policy) and ends by "
          "itself, before it is ended as by Ctrl-C; where one rank counts the rounds of commits: one server, "
          "a coordinator, or a policy by time where workers stay")
      ->check(CLI::Range(0.0, 1e6))
      ->capture_default_str();
  command->add_flag("--alone", options->alone,
                    "Of several jobs (key jobs): also run each of them alone, for its slow-down");
  command->add_flag("--check", options->check_only,
                    "Only ask all machines whether they can take part, and print the table");
  add_sbatch_options(
      *command, options->sbatch.sbatch,
      "runs the job on a node for each host, or as --map says, where a machine is any name for a "
      "node, and resumes it when it is requeued",
      "Several machines");
  command
      ->add_option(
          "--gpus", options->sbatch.gpus,
          "Of the script: GPUs of a node; 0: none, even if hosts have them [those that its hosts use]")
      ->check(CLI::Range(0, 1000))
      ->needs(command->get_option("--print-sbatch"))
      ->group("Several machines");
  command
      ->add_option("--cpus", options->sbatch.cpus,
                   "Of the script: cores of a node, which --map auto gives a rank each [any number]")
      ->check(CLI::Range(1, 100'000))
      ->needs(command->get_option("--print-sbatch"))
      ->group("Several machines");
  command->footer(
      "Examples:\n"
      "  tandem run workloads/experiments/mixed_lab.yaml --variant ring\n"
      "  tandem run workloads/experiments/mixed_lab.yaml --variant bsp --print-command\n"
      "  tandem run workloads/experiments/mixed_lab.yaml --variant bsp --hosts a:4,b:4 --map server=a "
      "--check\n"
      "  tandem run workloads/experiments/mixed_lab.yaml --variant bsp --hosts 'a[1-2]:4' --map server=a1 "
      "--map "
      "auto\n"
      "  tandem run workloads/experiments/mixed_lab.yaml --variant bsp --print-sbatch --map 'node-[1-6]=a' "
      "--map server=b\n"
      "  tandem run workloads/experiments/mixed_lab.yaml --variant bsp --print-sbatch --map auto --cpus 4\n"
      "  tandem run --resume results/mixed_lab/bsp/measured --set stop.rounds=200\n"
      "  tandem run --cluster platforms/mixed_lab.xml workloads/experiments/mixed_lab.yaml --variant bsp\n"
      "SIGUSR1 to a rank's process (tandem-rank) warns the job that its machine will be taken away in\n"
      "transience.notice, or 30 s. checkpoint.policy on-warning, or its option on_warning, then commits.");
  command->callback([options, cluster, &exit_code] { exit_code = run_placed(*options, *cluster); });
}

}  // namespace tandem::cli
