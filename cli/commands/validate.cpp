// `tandem validate`: calibrates, simulates and runs every configuration of a suite, or every variant of an
// experiment, and reports how far simulation and measurement differ.
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <optional>

#include "cli/commands/commands.hpp"
#include "cli/jobs/several_jobs.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/job_options.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/platform_drawings.hpp"
#include "cli/studies/suite_input.hpp"
#include "cli/studies/suite_run.hpp"
#include "policies/vocabulary/check.hpp"
#include "validation/campaign/suite.hpp"
#include "validation/compare/summary.hpp"
#include "validation/report/report.hpp"
#include "validation/report/report_page.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::cli {
namespace {

struct ValidateOptions {
  JobOptions job;
  SuiteRunOptions run;
  std::optional<double> tolerance;  ///< of the mean absolute errors of step time, throughput and makespan
  SuiteInputOptions input;
};

constexpr double default_tolerance = 0.10;

WriteLock prepare_directory(const ValidateOptions& options) {
  const std::string& out = options.run.out;
  if (!options.run.resume || !std::filesystem::exists(out))
    return create_result_directory(out, options.job.force);
  if (!std::filesystem::exists(out + "/report.json") && !std::filesystem::exists(out + "/INCOMPLETE"))
    throw ConfigError(
        out + ": expected a directory that `tandem validate` wrote, found none; there is nothing to resume");
  return WriteLock(out);
}

int validate_all(ValidateOptions options) {
  const validation::Suite suite = read_suite(options.job, options.input);
  if (options.input.list) {
    print_names(suite);
    return exit_success;
  }
  const auto has_profile = [](const auto& one) { return !one.experiment.physics.profile.empty(); };
  if (options.run.profile.empty() && std::ranges::any_of(suite.configurations, has_profile))
    print_note(
        "physics.profile is for simulations: a validation measures a profile of its own; --profile FILE uses "
        "one");
  options.run.on_cluster = options.run.on_cluster || suite.on_cluster;
  options.run.witness = options.run.witness || suite.with_witness;
  options.run.out = options.job.out.empty() ? default_out(suite.name, "validation") : options.job.out;
  options.run.on_machines = MachineUse(options.run.machines, !options.run.on_cluster).is_used();
  if (options.run.alone && !validation::has_several_jobs(suite)) refuse_one_job("--alone");
  options.run.alone = options.run.alone || suite.with_alone;
  check_before_running(suite, options.run);
  const WriteLock lock = prepare_directory(options);
  const SuiteResults results = run_suite(suite, options.run);
  // If the only configuration fails, there is nothing to report.
  if (suite.configurations.size() == 1 && results.first_error) std::rethrow_exception(results.first_error);

  const double tolerance = options.tolerance.value_or(suite.tolerance.value_or(default_tolerance));
  const auto validation = validation::conclude(results.configurations, tolerance);
  validation::ReportSource source{.title = suite.name,
                                  .commands = {command_line()},
                                  .profiles = results.profiles,
                                  .several_jobs = results.several_jobs,
                                  .bills = validation::bills_of(results.paid)};
  source.commands.insert(source.commands.end(), results.commands.begin(), results.commands.end());
  auto report = validation::make_report(results.reported, validation, source);
  report.platforms = drawings_of(validation::platforms_of(report));
  validation::write_report(options.run.out, report);
  std::filesystem::remove(options.run.out + "/INCOMPLETE");
  fmt::print("{}\n{}/report.html\n", validation::summary_table(report), options.run.out);
  print_document(to_json(report));
  return validation.passed() ? exit_success : exit_beyond_tolerance;
}

}  // namespace

void add_validate(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "validate",
      "Simulate and run an experiment or a suite, and report how far simulation and measurement differ");
  const auto options = std::make_shared<ValidateOptions>();
  add_experiment_options(*command, options->job);
  add_suite_options(*command, options->input);
  command->add_option("--profile", options->run.profile,
                      "Use this calibration profile instead of measuring one");
  command->add_flag(
      "--cluster", options->run.on_cluster,
      "Run on an emulated cluster: hosts and links of the platform as network namespaces (Linux, root)");
  add_machine_options(*command, options->run.machines);
  for (const char* option : {"--hosts", "--hostfile", "--slurm"})
    command->get_option(option)->excludes("--cluster");
  command->add_flag(
      "--witness", options->run.witness,
      "Also simulate the MPI program itself on SimGrid's MPI (SMPI), as a check of the simulator's "
      "code; sim/README.md explains known differences");
  command
      ->add_option("--tolerance", options->tolerance,
                   "Largest mean absolute error of step time, throughput and makespan that passes [0.1]")
      ->check(above_zero());
  command->add_flag("--alone", options->run.alone,
                    "Of several jobs (key jobs): also simulate and run each of them alone, to compare its "
                    "slow-down");
  command->add_flag("--resume", options->run.resume,
                    "Continue an interrupted suite; finished simulations and runs are kept");
  command->add_flag(
      "--trace-both", options->run.traces,
      "Write trace.json with simulation and measurement for each configuration (opens in Perfetto)");
  command->footer(
      "All ranks run on this machine. The simulation therefore uses the devices and disks of the platform, "
      "but the "
      "network\n"
      "of this machine, which is measured first (calibration).\n\n"
      "Verdicts: PASSED; PASSED WITH WARNINGS; INCONCLUSIVE (other programs disturbed the measurement, or "
      "its\n"
      "noise exceeds the tolerance: the output says what to do); FAILED (step time, throughput or makespan\n"
      "beyond the tolerance, another ranking, different work, or no result). The last two have exit code "
      "1.\n\n"
      "A suite names experiments and a grid; every combination with every variant is a configuration:\n"
      "  experiments: [a.yaml, b.yaml]         paths from the suite's folder\n"
      "  variants: [bsp, asp]                  variants of the experiments; default: all\n"
      "  set: {workload.math: modelled}        keys for all configurations\n"
      "  grid: {platform: [x.xml, y.xml], seed: [1, 2]}\n"
      "  calibration: {platform: [x.xml]}      the calibration set; all other configurations are the "
      "hold-out set\n"
      "  repetitions: 3                        measured runs per configuration\n"
      "  tolerance: 0.1                        largest mean absolute error that passes\n"
      "  seed: 1                               seed of the order of runs\n"
      "  cluster: false    witness: false      the same as --cluster and --witness\n"
      "  alone: false                          the same as --alone\n"
      "  study: {...}                          for `tandem study`, which only simulates\n\nExamples:\n"
      "  tandem validate workloads/experiments/mixed_lab.yaml --set repetitions=3\n"
      "  tandem validate validation/suites/lab_small.yaml --only boards/quad/mlp");
  command->callback([options, &exit_code] { exit_code = validate_all(*options); });
}

}  // namespace tandem::cli
