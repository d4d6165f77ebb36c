// `tandem compare`: one simulated run against measured repetitions of the same job.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/job_options.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/platform_drawings.hpp"
#include "cli/shared/profile_origin.hpp"
#include "policies/vocabulary/check.hpp"
#include "validation/campaign/hold_out.hpp"
#include "validation/compare/summary.hpp"
#include "validation/report/report.hpp"
#include "validation/report/report_page.hpp"
#include "workloads/cost/profile.hpp"
#include "workloads/records/chrome_trace.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::cli {
namespace {

struct CompareArguments {
  std::string simulated;
  std::vector<std::string> measured;
  std::string witness;
  std::string out;
  double tolerance = 0.10;
  std::string trace;
  bool force = false;
};

/// Calibration never uses the runs that are compared. A profile that no longer exists cannot be checked.
void check_profile_of(const validation::VariantResults& results) {
  const std::string& path = results.simulated.info.profile;
  if (path.empty() || !std::filesystem::exists(path)) return;
  validation::check_hold_out(origin_of(path), results.measured);
}

int compare_results(const CompareArguments& arguments) {
  if (!arguments.out.empty()) check_result_directory(arguments.out, arguments.force);
  validation::VariantResults results{"", read_results(arguments.simulated), {}};
  results.name = results.simulated.info.experiment.name;
  for (const auto& path : arguments.measured) results.measured.push_back(read_results(path));
  if (!arguments.witness.empty()) results.witness = read_results(arguments.witness);
  check_profile_of(results);
  const auto validation = validation::validate({results}, arguments.tolerance);
  auto report = validation::make_report({results}, validation, {.title = results.name, .commands = {}});
  report.platforms = drawings_of(validation::platforms_of(report));
  fmt::print("{}\n", validation::summary_table(report));
  print_document(to_json(report));
  if (!arguments.out.empty()) {
    const WriteLock lock = create_result_directory(arguments.out, arguments.force);
    validation::write_report(arguments.out, report);
    std::filesystem::remove(arguments.out + "/INCOMPLETE");
    fmt::print("{}/report.html\n", arguments.out);
  }
  if (!arguments.trace.empty()) write_trace(arguments.trace, results.simulated, results.measured.front());
  return validation.passed() ? exit_success : exit_beyond_tolerance;
}

}  // namespace

void add_compare(CLI::App& app, int& exit_code) {
  auto* command =
      app.add_subcommand("compare", "Compare a simulation with measured runs: parity, replay, errors");
  const auto arguments = std::make_shared<CompareArguments>();
  command->add_option("SIMULATED", arguments->simulated, "Result directory of the simulation")->required();
  command->add_option("MEASURED", arguments->measured, "Result directories of the measured runs")->required();
  command->add_option("--out,-o", arguments->out, "Write report.html, report.md and report.json here");
  command->add_option("--witness", arguments->witness,
                      "Result directory of `tandem simulate --fidelity smpi`, shown as another column");
  command
      ->add_option("--tolerance", arguments->tolerance,
                   "Largest mean absolute error of step time, throughput and makespan that passes")
      ->capture_default_str()
      ->check(above_zero());
  command->add_option("--trace", arguments->trace,
                      "Write the simulation and the first measured run as one trace (opens in Perfetto)");
  command->add_flag("--force", arguments->force, "Replace an existing report");
  command->footer(
      "Parity and replay need results made with --operations and --decisions. The verdict is PASSED, PASSED\n"
      "WITH WARNINGS, INCONCLUSIVE or FAILED; the last two have exit code 1.\n\n"
      "Example:\n"
      "  tandem compare results/lab/simulated results/lab/measured --out results/lab/comparison");
  command->callback([arguments, &exit_code] { exit_code = compare_results(*arguments); });
}

}  // namespace tandem::cli
