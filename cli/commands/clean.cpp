// `tandem clean`: removes what jobs leave on this machine when they are killed.
#include <memory>

#include "cli/commands/commands.hpp"
#include "cli/machines/leftovers.hpp"

namespace tandem::cli {

void add_clean(CLI::App& app, int& exit_code) {
  auto* command = app.add_subcommand(
      "clean",
      "Remove what killed jobs left on this machine: shared memory, sessions, temporary emulated clusters");
  const auto options = std::make_shared<CleanOptions>();
  command->add_flag("--dry-run", options->dry_run, "Only list it");
  command
      ->add_option(
          "--results", options->results,
          "Also remove the incomplete results of killed jobs and suites in this folder and below; they "
          "can no longer be resumed")
      ->type_name("DIR");
  command->footer(
      "Removes files of Open MPI and commits (checkpoint.to buddy) in /dev/shm, and session directories of "
      "Open\n"
      "MPI, that belong to this user and that no living process uses, and emulated clusters of jobs that "
      "have\n"
      "died. The next `tandem run` does the same, but leaves commits, which `clean` alone removes.\n"
      "Examples:\n"
      "  tandem clean --dry-run\n"
      "  tandem clean\n"
      "  tandem clean --results results --dry-run");
  command->callback([options, &exit_code] { exit_code = clean(*options); });
}

}  // namespace tandem::cli
