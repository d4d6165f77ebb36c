#include "cli/jobs/run_launch.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <nlohmann/json.hpp>
#include <system_error>
#include <utility>

#include "cli/shared/exit_codes.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/progress.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::cli {

void check_runnable(const Experiment& experiment) {
  const auto& data = experiment.data;
  if (experiment.run.devices == DeviceSpeed::native && data.source == DataSource::storage &&
      experiment.workload.math == Experiment::Workload::Math::modelled)
    throw ConfigError(
        "data.source 'storage' with native devices and modelled math would read nothing; set workload.math "
        "to real or "
        "run.devices to emulated");
}

void read_mounted_storage(Experiment& experiment) {
  if (experiment.data.store != StoreAccess::mounted) return;
  const auto fail = [&](const std::string& key, const std::string& expected, const std::string& found) {
    throw ConfigError(fmt::format("key '{}': expected {}, because data.store is mounted, found '{}'", key,
                                  expected, found));
  };
  if (experiment.run.devices != DeviceSpeed::native)
    fail("run.devices", "native (emulated disks are those of stores that serve)",
         to_text(experiment.run.devices));
  const std::string& set = experiment.workload.dataset;
  if (set != "folder" && set != "shards")
    fail("workload.dataset", "folder or shards, whose files are in workload.dataset_directory", set);
  experiment.placement.stores.clear();
}

bool may_commit_on_request(const Job& job) {
  const CheckpointPlan& checkpoints = job.checkpoints();
  return checkpoints.keeps_states() && checkpoints.commits.may_be_requested();
}

LaunchSetting launch_setting(std::span<const Job> jobs, const RunOptions& options, const std::string& out) {
  LaunchSetting setting;
  setting.ranks = 0;
  for (const Job& job : jobs) {
    setting.ranks += job.roster().size();
    if (may_commit_on_request(job)) setting.notice = Seconds(options.grace_s);
    setting.device_memory |= job.devices().may_send_device_memory();
  }
  setting.program = {
      sibling_program("tandem-rank"),         out + "/job.json", "--out",       out, "--repetition",
      std::to_string(options.job.repetition), "--command",       command_line()};
  if (options.job.trace) setting.program.emplace_back("--trace");
  if (options.job.operations) setting.program.emplace_back("--operations");
  if (options.job.decisions) setting.program.emplace_back("--decisions");
  if (options.job.requests) setting.program.emplace_back("--requests");
  if (options.job.losses) setting.program.emplace_back("--losses");
  return setting;
}

std::optional<ClusterUse> use_cluster(const RunOptions& options, const Experiment& experiment) {
  if (options.cluster.empty()) return std::nullopt;
  std::error_code error;
  if (!std::filesystem::equivalent(options.cluster, experiment.platform, error))
    throw ConfigError(
        fmt::format("--cluster {}: the experiment's platform is {}", options.cluster, experiment.platform));
  return std::optional<ClusterUse>(std::in_place, options.cluster, !options.print_command);
}

void note_cluster(LaunchSetting& setting, const ClusterUse& cluster) {
  setting.program.insert(setting.program.end(), {"--cluster", cluster.record().dump()});
}

void leave_failed(const std::string& directory, int exit_code, std::string& message) {
  if (exit_code == exit_bad_input) {
    std::filesystem::remove_all(directory);
    return;
  }
  mark_failed(directory, message);
  message += fmt::format("\n  {} is marked incomplete", directory);
}

GuardedResult launch_job(const LaunchSetting& setting, const std::string& name, const char* where,
                         std::unique_ptr<machines::Guards> guards,
                         const std::function<std::optional<PlannedKill>()>& kill) {
  ProgressBar bar("run " + name);
  bar.status(fmt::format("starting {} ranks{}", setting.ranks, where));
  LaunchEvents events;
  events.status = [&bar](const std::string& text) { bar.status(text); };
  events.output = [](const std::string& line) { fmt::print("{}\n", line); };
  events.error = print_line;
  events.progress = [&bar](double fraction) { bar.update(fraction); };
  events.kill = kill;
  return launch_guarded(setting, events, std::move(guards));
}

}  // namespace tandem::cli
