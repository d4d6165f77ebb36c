// `tandem calibrate`: measures this machine for an experiment and writes a profile that simulations use.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/calibration_run.hpp"
#include "cli/commands.hpp"
#include "cli/job_options.hpp"
#include "policies/vocabulary/check.hpp"
#include "runtime/launcher/launcher.hpp"
#include "workloads/job.hpp"
#include "workloads/profile.hpp"

namespace tandem::cli {
namespace {

std::string profile_text(const Profile& profile) {
  std::string text = fmt::format("measured on {}\n\n  message size    one way\n", profile.machine);
  for (const auto& entry : profile.messages)
    text += fmt::format("  {:>10} B  {:>9.1f} us  +-{:.0f} %\n", entry.bytes, entry.median_s * 1e6,
                        entry.spread * 50);
  text += "\n  fitted network\n";
  for (const auto& segment : profile.network)
    text += fmt::format("  from {:>9} B: {:.1f} us + size / {:.3g} MB/s\n", segment.from_bytes,
                        segment.alpha_s * 1e6, 1e-6 / segment.beta_s);
  if (!profile.compute.empty()) text += "\n  work            size          time\n";
  for (const auto& entry : profile.compute)
    text += fmt::format(
        "  {:<9} {:>4} {:>9} {:>9.3f} ms  +-{:.0f} %\n", name_of(entry.kind),
        entry.bucket < 0 ? "" : fmt::format("b{}", entry.bucket),
        entry.samples > 0 ? fmt::format("{} smp", entry.samples) : fmt::format("{} B", entry.bytes),
        entry.median_s * 1e3, entry.spread * 50);
  if (!profile.storage.empty()) text += "\n  storage read\n";
  for (const auto& entry : profile.storage)
    text += fmt::format("  {:>10} B  {:>9.1f} us\n", entry.bytes, entry.median_s * 1e6);
  return text;
}

}  // namespace

int run_calibration(const JobOptions& options, const std::string& profile_path) {
  const LoadedJob loaded = load_job(options);
  const std::string directory = profile_path + ".work";
  std::filesystem::create_directories(directory);
  std::ofstream(directory + "/job.json") << job_document(loaded.experiment, loaded.platform).dump();
  const Job job(loaded.experiment, loaded.platform, directory);
  LaunchSetting setting;
  setting.ranks = std::max(2, static_cast<int>(job.seats().size()));
  setting.program = {program_beside("tandem-rank"),
                     directory + "/job.json",
                     "--out",
                     directory,
                     "--calibrate",
                     profile_path,
                     "--command",
                     command_line()};
  LaunchEvents events;
  events.error = [](const std::string& line) { fmt::print(stderr, "{}\n", line); };
  const LaunchResult result = launch(setting, events);
  std::filesystem::remove_all(directory);
  if (result.exit_code != 0) fmt::print(stderr, "tandem: {}\n", result.message);
  return result.exit_code;
}

void add_calibrate(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "calibrate", "Measure this machine for an experiment; writes a profile for simulations");
  const auto options = std::make_shared<JobOptions>();
  add_experiment_options(*command, *options);
  command->footer(
      "Measures messages between ranks, every piece of work of one training step, and storage reads (the "
      "latter two\n"
      "with real math), never the runs that are compared. Example:\n"
      "  tandem calibrate workloads/experiments/mixed_lab.yaml --out profile.json\n"
      "  tandem simulate workloads/experiments/mixed_lab.yaml --set physics.network=profile --set "
      "physics.profile=profile.json");
  command->callback([options, &exit_code] {
    const std::string path = options->out.empty() ? "profile.json" : options->out;
    if (std::filesystem::exists(path) && !options->force)
      throw ConfigError(path + " exists already; choose another --out, or --force");
    exit_code = run_calibration(*options, path);
    if (exit_code == exit_fine) fmt::print("{}\n{}\n", profile_text(load_profile(path)), path);
  });
}

}  // namespace tandem::cli
