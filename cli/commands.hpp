// The subcommands of `tandem`. Each adds itself to the application; its callback sets the exit code.
#pragma once

#include <CLI/CLI.hpp>

namespace tandem::cli {

/// Exit codes of the command.
inline constexpr int exit_success = 0;
inline constexpr int exit_beyond_tolerance = 1;
inline constexpr int exit_bad_input = 2;
inline constexpr int exit_environment_error = 70;
inline constexpr int exit_of_signal = 128;  ///< plus the number of the signal that ended the program

void add_simulate(CLI::App& app, int& exit_code);
void add_run(CLI::App& app, int& exit_code);
void add_compare(CLI::App& app, int& exit_code);
void add_study(CLI::App& app, int& exit_code);
void add_validate(CLI::App& app, int& exit_code);
void add_calibrate(CLI::App& app, int& exit_code);
void add_cache(CLI::App& app, int& exit_code);
void add_clean(CLI::App& app, int& exit_code);
void add_cluster(CLI::App& app, int& exit_code);
void add_data(CLI::App& app, int& exit_code);
void add_discover(CLI::App& app, int& exit_code);
void add_fit(CLI::App& app, int& exit_code);
void add_init(CLI::App& app, int& exit_code);
void add_list(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
void add_show(CLI::App& app, int& exit_code);
void add_view(CLI::App& app, int& exit_code);

}  // namespace tandem::cli
