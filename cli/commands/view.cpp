// `tandem view`: one page with all results below a folder.
#include <fmt/format.h>

#include <filesystem>
#include <fstream>
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/output.hpp"
#include "policies/vocabulary/check.hpp"
#include "validation/report/results_page.hpp"

namespace tandem::cli {
namespace {

int view(const std::string& folder) {
  const auto list = validation::list_results(folder);
  const auto page = std::filesystem::path(folder) / "index.html";
  std::ofstream file(page, std::ios::binary);
  file << validation::results_html(list);
  file.close();
  if (!file) throw WorldError("cannot write " + page.string());
  print_document(to_json(list));
  fmt::print("{}", validation::results_table(list));
  for (const std::string& skipped : list.skipped) print_note("skipped " + skipped);
  fmt::print("\n{}\n", page.string());
  return exit_success;
}

}  // namespace

void add_view(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "view", "Show all results below a folder: one table, and a page that compares any two of them");
  const auto folder = std::make_shared<std::string>("results");
  command->add_option("FOLDER", *folder, "With result directories at any depth")->capture_default_str();
  command->footer(
      "Writes FOLDER/index.html, which a browser opens from the disk: a table that sorts by any column, and "
      "two\n"
      "marked results side by side. Its links to reports are relative, so the folder can be moved.\n\n"
      "Examples:\n"
      "  tandem view\n"
      "  tandem view results/quickstart");
  command->callback([folder, &exit_code] { exit_code = view(*folder); });
}

}  // namespace tandem::cli
