#include "cli/fit/server_tables.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <nlohmann/json.hpp>
#include <set>
#include <utility>

#include "cli/fit/speeds_file.hpp"
#include "cli/jobs/simulation.hpp"
#include "cli/shared/exit_codes.hpp"
#include "cli/shared/output.hpp"
#include "cli/shared/progress.hpp"
#include "cli/shared/scratch_folder.hpp"
#include "cli/shared/subcommand_process.hpp"
#include "platforms/host_properties.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/calibration/server_fit.hpp"
#include "workloads/experiment/json_file.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/job/plan/ensemble.hpp"
#include "workloads/records/ensemble.hpp"
#include "workloads/records/summary.hpp"

namespace tandem::cli {
namespace {

namespace fs = std::filesystem;

/// The simulations' figures and logs.
struct FitFolder : ScratchFolder {
  FitFolder() : ScratchFolder(new_temporary_path("tandem_server_fit_")) {}
  std::string file(std::size_t index, const char* kind) const {
    return (path() / fmt::format("{}.{}", index, kind)).string();
  }
};

/// The job of a row of the table.
LoadedJob load_row(JobOptions options, const SpeedsRow& row, PlatformCache& platforms) {
  options.settings.push_back("workload.model=" + row.model);
  options.settings.push_back(fmt::format("placement.worker_count={}", row.workers));
  try {
    LoadedJob loaded = load_job(options, platforms);
    if (loaded.experiment.sync.over != sync::Route::server)
      throw ConfigError(
          fmt::format("{}: expected workers that exchange over a server (sync.over: server), found {}",
                      options.experiment_file, to_text(loaded.experiment.sync.over)));
    // Mathematics changes no time.
    loaded.experiment.workload.math = Experiment::Workload::Math::modelled;
    loaded.experiment.stop.accuracy = 0.0;
    return loaded;
  } catch (const ConfigError& error) {
    throw ConfigError(fmt::format("{}: {}", row.place, error.what()));
  }
}

/// The load of the server with the most bytes by each push.
ServerFitRow fit_row(const LoadedJob& loaded, const SpeedsRow& row) {
  const Job job = make_job(loaded, "", {});
  const ShardLayout& layout = job.exchange().shard_layout();
  const ShardPieces& busiest = *std::ranges::max_element(layout, {}, shard_elements);
  return {.model = row.model,
          .steps_per_second = row.steps_per_second,
          .tensors = tensors_in(busiest, job.model()),
          .bytes = Bytes(4 * shard_elements(busiest))};
}

void state_cost(LoadedJob& loaded, const ServerCost& cost) {
  const auto& servers = loaded.experiment.placement.servers;
  for (auto& host : loaded.platform.hosts) {
    if (std::ranges::find(servers, host.name) == servers.end()) continue;
    for (const auto& name : server_cost_names()) host.properties.erase(name);
    for (const auto& [name, value] : server_properties(cost)) host.properties[name] = value;
  }
}

/// The jobs of all rows, simulated with given costs of their servers.
class RowSimulations {
 public:
  RowSimulations(std::vector<LoadedJob> jobs, int parallel) : jobs_(std::move(jobs)), parallel_(parallel) {}

  std::vector<std::vector<double>> speeds(const std::vector<ServerCost>& costs) {
    std::exception_ptr first_error;
    ProcessQueue queue{.count = costs.size() * jobs_.size(), .start = {}, .ended = {}};
    queue.start = [&](std::size_t index, const sigset_t& blocked_signals) {
      const Descriptor log = create_file(folder_.file(index, "log"));
      return start_function([&, index] { return simulate(index, costs[index / jobs_.size()]); },
                            {.output = log.number(), .own_group = true, .blocked_signals = blocked_signals});
    };
    queue.ended = [&](std::size_t index, const ExitStatus& status, std::exception_ptr error) {
      bar_.update(std::min(0.99, ++ended_ / (usual_predictions * static_cast<double>(jobs_.size()))));
      if (!error) error = error_of("the simulation of a row", folder_.file(index, "log"), status);
      if (error && !first_error) first_error = error;
    };
    run_processes(queue, parallel_);
    if (first_error) std::rethrow_exception(first_error);
    std::vector<std::vector<double>> speeds(costs.size());
    for (std::size_t index = 0; index < queue.count; ++index)
      speeds[index / jobs_.size()].push_back(speed_of(index));
    return speeds;
  }

 private:
  /// In a copy of this process. Returns its exit code.
  int simulate(std::size_t index, const ServerCost& cost) const {
    begin_output({});
    const int code = exit_code_of([&] {
      LoadedJob loaded = jobs_[index % jobs_.size()];
      state_cost(loaded, cost);
      SimulateOptions options;
      options.keep = false;
      options.force = true;
      options.yes = true;
      // A replica: with the spread of devices, the knee of a curve is as round as in reality.
      options.repetition = replicas_of(loaded.experiment) > 0 ? 1 : 0;
      const Simulated simulated = simulate_job(std::move(loaded), options, folder_.file(index, "results"));
      const auto summary = summarise(simulated.info, simulated.journal, simulated.makespan);
      std::ofstream file(folder_.file(index, "json"));
      file << to_json(replica_figures(summary));
      if (!file.flush()) throw WorldError("cannot write " + folder_.file(index, "json"));
      return exit_success;
    });
    std::fflush(stdout);
    std::fflush(stderr);
    return code;
  }

  double speed_of(std::size_t index) const {
    const std::string file = folder_.file(index, "json");
    const auto figures = replica_figures_from_json(read_json_file(file, "the figures of a simulation"), file);
    const LoadedJob& job = jobs_[index % jobs_.size()];
    if (!(figures.step_time > 0.0))
      throw ConfigError(
          fmt::format("{}: expected steps after the first {} of each worker (warmup_steps), found "
                      "none; raise stop.rounds",
                      job.experiment.name, job.experiment.warmup_steps));
    return static_cast<double>(job.experiment.placement.workers.size()) / figures.step_time;
  }

  static constexpr double usual_predictions = 16;  ///< of all rows, until a fit has ended

  std::vector<LoadedJob> jobs_;
  int parallel_;
  FitFolder folder_;
  ProgressBar bar_{"fit the costs of a server"};
  int ended_ = 0;
};

std::string property_line(const std::string& name, const std::string& value) {
  return fmt::format("<prop id=\"{}\" value=\"{}\"/>", name, value);
}

void print_fit(const std::string& table, const std::vector<SpeedsRow>& rows, const ServerFit& fit) {
  fmt::print("costs of a server from {} ({} rows, {} simulations)\n", table, rows.size(),
             fit.predictions * static_cast<int>(rows.size()));
  fmt::print("  workers  model             measured      fitted   error\n");
  for (std::size_t i = 0; i < rows.size(); ++i)
    fmt::print("  {:>7}  {:<14}  {:>8.4g} /s  {:>8.4g} /s  {:>+5.1f} %\n", rows[i].workers, rows[i].model,
               rows[i].steps_per_second, fit.predicted[i],
               100 * (fit.predicted[i] / rows[i].steps_per_second - 1));
  fmt::print("  root mean square of the errors of step times: {:.1f} %\n", 100 * fit.error);
  for (const auto& [name, value] : server_properties(fit.cost, true))
    fmt::print("  {}\n", property_line(name, value));
  for (const auto& warning : fit.warnings) print_warning(warning);
}

nlohmann::json document_of(const std::vector<SpeedsRow>& rows, const ServerFit& fit) {
  nlohmann::json of_rows = nlohmann::json::array();
  for (std::size_t i = 0; i < rows.size(); ++i)
    of_rows.push_back({{"workers", rows[i].workers},
                       {"model", rows[i].model},
                       {"steps_per_second", rows[i].steps_per_second},
                       {"fitted", fit.predicted[i]}});
  return {{"properties", server_properties(fit.cost, true)},
          {"error", fit.error},
          {"rows", of_rows},
          {"warnings", fit.warnings}};
}

void write_platform(const LoadedJob& loaded, const ServerCost& cost, const std::string& out) {
  const auto text =
      platforms::with_host_properties(loaded.experiment.platform, loaded.experiment.placement.servers,
                                      server_properties(cost, true), server_cost_names());
  write_whole_file(out, text);
  fmt::print("{}\n", out);
}

}  // namespace

void fit_server_table(const JobOptions& options, const std::string& table, int parallel) {
  const auto rows = read_speeds_file(table);
  PlatformCache platforms;
  std::vector<LoadedJob> jobs;
  std::vector<ServerFitRow> fit_rows;
  for (const auto& row : rows) {
    jobs.push_back(load_row(options, row, platforms));
    fit_rows.push_back(fit_row(jobs.back(), row));
  }
  const LoadedJob first = jobs.front();
  // Nothing is fitted for a platform that cannot be written.
  if (!options.out.empty())
    platforms::with_host_properties(first.experiment.platform, first.experiment.placement.servers, {}, {});
  RowSimulations simulations(std::move(jobs), parallel);
  const ServerFit fit =
      fit_server_cost(fit_rows, [&](const auto& costs) { return simulations.speeds(costs); });
  print_fit(table, rows, fit);
  if (!options.out.empty()) write_platform(first, fit.cost, options.out);
  print_document(document_of(rows, fit));
}

}  // namespace tandem::cli
