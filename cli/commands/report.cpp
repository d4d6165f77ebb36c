// `tandem report`: writes the pages of a report again from its report.json.
#include "validation/report/report.hpp"

#include <fmt/format.h>

#include <filesystem>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/output.hpp"
#include "policies/vocabulary/check.hpp"
#include "validation/report/report_page.hpp"
#include "validation/report/study.hpp"
#include "workloads/experiment/json_file.hpp"

namespace tandem::cli {
namespace {

void check_version(const std::string& path, const nlohmann::json& document, int expected) {
  const auto found = document.value("schema_version", 0);
  if (found == expected) return;
  throw ConfigError(fmt::format(
      "{}: schema_version: expected {}, found {}: another version of Tandem wrote it. The command that "
      "made it, with --resume, writes it again; finished simulations and runs are kept",
      path, expected, found));
}

int rebuild(const std::string& directory) {
  const std::string path = directory + "/report.json";
  if (!std::filesystem::exists(path))
    throw ConfigError(
        fmt::format("{}: expected a directory that `tandem validate`, `compare` or `study` wrote, found no "
                    "report.json{}",
                    directory,
                    std::filesystem::exists(directory + "/summary.json")
                        ? "; it has the results of one job: `tandem view` shows those"
                        : ""));
  const nlohmann::json document = read_json_file(path, "a report");
  try {
    if (document.value("kind", "") == "study") {
      check_version(path, document, validation::study_schema_version);
      const auto study = validation::study_from_json(document, path);
      validation::write_study(directory, study);
      fmt::print("{}\n", validation::study_table(study));
      print_document(to_json(study));
    } else {
      check_version(path, document, validation::report_schema_version);
      const auto report = validation::report_from_json(document, path);
      validation::write_report(directory, report);
      fmt::print("{}\n", validation::summary_table(report));
      print_document(to_json(report));
    }
  } catch (const nlohmann::json::exception& error) {
    throw ConfigError(
        fmt::format("{}: expected a complete report, found a damaged one: {}", path, error.what()));
  }
  fmt::print("{}/report.html\n", directory);
  return exit_success;
}

}  // namespace

void add_report(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "report", "Write the pages of a report again (report.html, report.md), and print its summary");
  const auto directory = std::make_shared<std::string>();
  command->add_option("DIRECTORY", *directory, "Written by `tandem validate`, `compare --out` or `study`")
      ->required();
  command->footer(
      "Nothing is measured or simulated again.\n\n"
      "Example:\n"
      "  tandem report results/quickstart");
  command->callback([directory, &exit_code] { exit_code = rebuild(*directory); });
}

}  // namespace tandem::cli
