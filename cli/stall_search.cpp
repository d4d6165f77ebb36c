#include "cli/stall_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cstdio>
#include <exception>
#include <filesystem>
#include <optional>
#include <utility>

#include "cli/commands.hpp"
#include "cli/output.hpp"
#include "cli/subcommand_process.hpp"
#include "policies/vocabulary/check.hpp"
#include "validation/campaign/least_capacity.hpp"
#include "workloads/experiment/json_file.hpp"
#include "workloads/experiment/quantity_text.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/job/job.hpp"
#include "workloads/records/summary.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;

/// In a copy of this process. Returns its exit code.
int simulate_stall(LoadedJob loaded, SimulateOptions options, const std::string& out) {
  begin_output({});
  const int code = exit_code_of([&] {
    options.operations = options.decisions = options.requests = options.losses = options.trace = false;
    options.keep = false;
    options.force = true;
    const Simulated simulated = simulate_job(std::move(loaded), options, out);
    const json summary = summarise(simulated.info, simulated.journal, simulated.makespan);
    const json stall = summary.value(json::json_pointer("/data/warm/stall"), json());
    write_whole_file(out + ".stall.json", json{{"stall", stall}}.dump());
    return exit_success;
  });
  std::fflush(stdout);
  std::fflush(stderr);
  return code;
}

/// The job has no stall in warm epochs, whatever its capacity.
struct NoStall {};

/// Errors: NoStall; ConfigError where the job is not possible with this capacity; WorldError.
double stall_with(LoadedJob loaded, const SimulateOptions& options, const std::string& out, Bytes capacity) {
  loaded.experiment.data.cache_capacity = capacity;
  const std::string own = fmt::format("{}/capacity_{}", out, capacity.count());
  const std::string log = own + ".log", figures = own + ".stall.json";
  std::exception_ptr failure;
  ProcessQueue queue{.count = 1, .start = {}, .ended = {}};
  queue.start = [&](std::size_t, const sigset_t& blocked_signals) {
    const Descriptor file = create_file(log);
    return start_function([&] { return simulate_stall(loaded, options, own); },
                          {.output = file.number(), .own_group = true, .blocked_signals = blocked_signals});
  };
  queue.ended = [&](std::size_t, const ExitStatus& status, std::exception_ptr error) {
    const std::string what = fmt::format("data.cache_capacity {}", to_text(capacity));
    failure = error ? error : error_of(what, log, status);
  };
  run_processes(queue, 1);
  if (failure) std::rethrow_exception(failure);
  const json stall = read_json_file(figures, "the stall of a simulation").at("stall");
  std::filesystem::remove(log);
  std::filesystem::remove(figures);
  if (!stall.is_number()) throw NoStall{};
  return stall;
}

}  // namespace

FoundCapacity least_capacity(const LoadedJob& loaded, const SimulateOptions& options, const std::string& out,
                             double stall) {
  if (loaded.experiment.data.source != DataSource::storage) return {};
  LoadedJob modelled = loaded;
  // Mathematics changes no time; see replicas_of().
  modelled.experiment.workload.math = Math::modelled;
  modelled.experiment.stop.accuracy = 0.0;
  const Job job(modelled.experiment, modelled.platform, out);
  const cache::Manifest& manifest = job.data().manifest();
  const Bytes whole = manifest.total();
  const Bytes largest = manifest.sizes.empty() ? manifest.each : *std::ranges::max_element(manifest.sizes);
  FoundCapacity result;
  const auto try_capacity = [&](Bytes capacity) -> std::optional<double> {
    try {
      return stall_with(modelled, options, out, capacity);
    } catch (const ConfigError& error) {
      // As a cache whose part is too small for what it must hold.
      if (result.warning.empty())
        result.warning =
            fmt::format("study.stall: a capacity that is not possible does not suffice: {}", error.what());
      return std::nullopt;
    }
  };
  validation::LeastCapacity found;
  try {
    found = validation::find_least_capacity(stall, whole, largest, try_capacity);
  } catch (const NoStall&) {
    result.warning =
        "study.stall: no least capacity, which needs steps after the first epoch (stop.epochs of 2 or more), "
        "in which caches have been filled, and workers with equal parts of it";
    return result;
  }
  json tried = json::array();
  for (const auto& [capacity, own] : found.tried)
    tried.push_back({capacity.count(), own ? json(*own) : json()});
  result.least = {{"stall", stall},
                  {"capacity_bytes", found.capacity ? json(found.capacity->count()) : json()},
                  {"data_set_bytes", whole.count()},
                  {"step_bytes", found.step.count()},
                  {"tried", std::move(tried)}};
  return result;
}

}  // namespace tandem::cli
