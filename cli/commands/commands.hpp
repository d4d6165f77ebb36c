// The subcommands of `tandem`. Each adds itself to the application; its callback sets the exit code.
#pragma once

#include <CLI/CLI.hpp>

namespace tandem::cli {

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
void add_evaluate(CLI::App& app, int& exit_code);
void add_discover(CLI::App& app, int& exit_code);
void add_fit(CLI::App& app, int& exit_code);
void add_import(CLI::App& app, int& exit_code);
void add_init(CLI::App& app, int& exit_code);
void add_list(CLI::App& app, int& exit_code);
void add_plan(CLI::App& app, int& exit_code);
void add_predict(CLI::App& app, int& exit_code);
void add_record(CLI::App& app, int& exit_code);
void add_report(CLI::App& app, int& exit_code);
void add_show(CLI::App& app, int& exit_code);
void add_view(CLI::App& app, int& exit_code);

}  // namespace tandem::cli
