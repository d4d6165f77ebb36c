#include "cli/commands/tandem_main.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/commands.hpp"
#include "cli/commands/help_files.hpp"
#include "cli/commands/versions.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/subcommand_process.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/options.hpp"

namespace tandem {
namespace {

/// For an unknown command, CLI11 reports only that a command is missing.
void check_command(const CLI::App& app, int argc, char** argv) {
  if (argc < 2 || argv[1][0] == '-') return;
  const std::string word = argv[1];
  std::vector<std::string> names;
  for (const auto* command : app.get_subcommands({}))
    if (command->get_name() == word || !command->get_group().empty()) names.push_back(command->get_name());
  if (std::find(names.begin(), names.end(), word) != names.end()) return;
  const std::string nearest = nearest_name(word, names);
  throw ConfigError(fmt::format("unknown command '{}'{}; see tandem --help", word,
                                nearest.empty() ? "" : ", did you mean '" + nearest + "'?"));
}

/// Options of earlier versions, and their names today.
constexpr std::array<std::pair<const char*, const char*>, 1> renamed_options = {{{"--at-once", "--jobs"}}};

/// "unknown option --wokers; did you mean --workers?"; empty: every option is known. CLI11 first names
/// options that are missing because another one is mistyped.
std::string unknown_option(const CLI::App& app, const CLI::App& command) {
  for (const std::string& word : app.remaining(true)) {
    if (!word.starts_with("--")) continue;
    const std::string option = word.substr(0, word.find('='));
    std::vector<std::string> names;
    for (const auto* known : command.get_options())
      for (const auto& name : known->get_lnames()) names.push_back("--" + name);
    const std::string nearest = nearest_name(option, names);
    return fmt::format("unknown option {}{}", option,
                       nearest.empty() ? "" : "; did you mean " + nearest + '?');
  }
  return "";
}

/// Below the name of the program, like every other error. CLI11 calls this with the main command, also for
/// errors of a subcommand.
std::string argument_error(const CLI::App* app, const CLI::Error& error) {
  std::string name = "tandem";
  const CLI::App* command = app;
  for (auto chosen = app->get_subcommands(); !chosen.empty(); chosen = chosen.front()->get_subcommands()) {
    command = chosen.front();
    name += ' ' + command->get_name();
  }
  std::string text = error.what();
  if (const std::string unknown = unknown_option(*app, *command); !unknown.empty()) text = unknown;
  for (const auto& [old, now] : renamed_options)
    if (text.find(old) != std::string::npos) return fmt::format("{}: {} is now {}\n", name, old, now);
  return fmt::format("{}: {}; see {} --help\n", name, text, name);
}

}  // namespace

int tandem_main(int argc, char** argv) {
  // A file that grows beyond a limit is an error like a full disk.
  std::signal(SIGXFSZ, SIG_IGN);
  CLI::App app(
      "Tandem predicts and runs distributed neural-network training, and reports how far prediction and "
      "measurement differ.");
  app.set_version_flag("--version", cli::versions_text,
                       "Versions of tandem and of the libraries that it uses");
  app.require_subcommand(1);
  app.failure_message(argument_error);
  app.footer(
      "Examples:\n"
      "  tandem validate workloads/experiments/quick.yaml          simulate, run and compare; writes "
      "report.html\n"
      "  tandem study workloads/studies/stragglers.yaml            simulate a grid and compare it; writes "
      "report.html\n"
      "  tandem simulate workloads/experiments/mixed_lab.yaml --variant asp\n"
      "  tandem show platforms/mixed_lab.xml                       hosts, devices, links, bottlenecks\n"
      "  tandem list sync                                          the synchronisation algorithms and their "
      "options\n"
      "\nExit codes: 0 success; 1 prediction errors exceed the tolerance, or a configuration "
      "failed; 2 bad input; 70 environment error (MPI, CUDA, file system); 130 "
      "interrupted.");
  int exit_code = cli::exit_success;
  cli::add_init(app, exit_code);
  cli::add_validate(app, exit_code);
  cli::add_study(app, exit_code);
  cli::add_simulate(app, exit_code);
  cli::add_run(app, exit_code);
  cli::add_compare(app, exit_code);
  cli::add_evaluate(app, exit_code);
  cli::add_calibrate(app, exit_code);
  cli::add_cluster(app, exit_code);
  cli::add_discover(app, exit_code);
  cli::add_fit(app, exit_code);
  cli::add_cache(app, exit_code);
  cli::add_record(app, exit_code);
  cli::add_import(app, exit_code);
  cli::add_data(app, exit_code);
  cli::add_clean(app, exit_code);
  cli::add_list(app, exit_code);
  cli::add_plan(app, exit_code);
  cli::add_predict(app, exit_code);
  cli::add_show(app, exit_code);
  cli::add_report(app, exit_code);
  cli::add_view(app, exit_code);
  cli::add_help_files(app, exit_code);
  cli::OutputOptions output;
  cli::add_output_options(app, output);
  app.parse_complete_callback([&output] { cli::begin_output(output); });
  try {
    return cli::exit_code_of([&] {
      try {
        check_command(app, argc, argv);
        app.parse(argc, argv);
      } catch (const CLI::ParseError& error) {
        return app.exit(error) == 0 ? cli::exit_success : cli::exit_bad_input;
      }
      if (std::fflush(stdout) != 0)
        throw WorldError(std::string("cannot write the output: ") + std::strerror(errno));
      return exit_code;
    });
  } catch (const cli::Interrupted& interrupt) {
    // Ends this program as the signal would have, so that a shell stops its script too.
    std::signal(interrupt.signal, SIG_DFL);
    std::raise(interrupt.signal);
    return cli::exit_of_signal + interrupt.signal;
  }
}

}  // namespace tandem
