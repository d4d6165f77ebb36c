#include "cli/studies/stall_search.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>
#include <utility>
#include <vector>

#include "cli/jobs/simulated_jobs.hpp"
#include "cli/shared/subcommand_process.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantity_text.hpp"
#include "validation/campaign/least_capacity.hpp"
#include "workloads/experiment/json_fields.hpp"
#include "workloads/experiment/json_file.hpp"
#include "workloads/files/whole_file.hpp"
#include "workloads/job/plan/job.hpp"
#include "workloads/records/jobs_summary.hpp"
#include "workloads/records/summary.hpp"

namespace tandem {
namespace {

/// The result of a process that simulated.
struct FoundStall {
  std::optional<double> stall{};  ///< none: unknown
};

}  // namespace

template <>
struct Fields<FoundStall> {
  static void visit(auto& found, auto&& field) { field("stall", found.stall); }
};

namespace cli {
namespace {

using Stall = std::optional<double>;

Stall warm_stall(const Summary& summary) {
  return summary.data && summary.data->warm ? summary.data->warm->stall : std::nullopt;
}

/// The stall of a job with this capacity, from the folder `out`; none: unknown.
Stall simulate_stall(LoadedJob loaded, const SimulateOptions& options, const std::string& out,
                     Bytes capacity) {
  loaded.experiment.data.cache_capacity = capacity;
  const Simulated simulated = simulate_job(std::move(loaded), options, out);
  return warm_stall(summarise(simulated.info, simulated.journal, simulated.makespan));
}

/// The longest stall of the jobs that have cache nodes; none: that of one is unknown.
Stall simulate_stall(LoadedJobs several, SimulateOptions options, const std::string& out, Bytes capacity) {
  std::vector<std::string> cached;
  for (auto& one : several.jobs) {
    if (one.loaded.experiment.data.source != DataSource::storage) continue;
    one.loaded.experiment.data.cache_capacity = capacity;
    cached.push_back(one.name);
  }
  options.together_only = true;
  options.out = out;
  simulate_jobs(std::move(several), options);
  Stall longest = 0.0;
  for (const auto& name : cached) {
    const Stall own = warm_stall(read_summary(directory_of_job(out, name)));
    longest = own && longest ? Stall(std::max(*longest, *own)) : std::nullopt;
  }
  std::filesystem::remove_all(out);
  return longest;
}

/// There is no stall in warm epochs, whatever the capacity.
struct NoStall {};

/// `Loaded`: a job, or several. Errors: NoStall; ConfigError where it is not possible with this capacity;
/// WorldError.
template <class Loaded>
double stall_with(const Loaded& loaded, SimulateOptions options, const std::string& out, Bytes capacity) {
  options.operations = options.decisions = options.requests = options.losses = options.trace = false;
  options.keep = false;
  options.force = true;
  const std::string own = fmt::format("{}/capacity_{}", out, capacity.count());
  const std::string log = own + ".log", figures = own + ".stall.json";
  run_apart(
      [&] {
        const Stall stall = simulate_stall(loaded, options, own, capacity);
        write_whole_file(figures, write_fields(FoundStall{stall}).dump());
      },
      fmt::format("data.cache_capacity {}", to_text(capacity)), log);
  const auto found = read_fields<FoundStall>(read_json_file(figures, "the stall of a simulation"), figures);
  std::filesystem::remove(figures);
  if (!found.stall) throw NoStall{};
  return *found.stall;
}

/// Mathematics changes no time; see replicas_of().
void model_mathematics(LoadedJob& loaded) {
  loaded.experiment.workload.math = Math::modelled;
  loaded.experiment.stop.accuracy = 0.0;
}

/// A data set and its largest sample.
struct SetSizes {
  Bytes whole{0};
  Bytes largest{0};
};
SetSizes sizes_of(const LoadedJob& modelled, const std::string& out) {
  const Job job = make_job(modelled, out, {});
  const cache::Manifest& manifest = job.data().manifest();
  return {manifest.total(),
          manifest.sizes.empty() ? manifest.each : *std::ranges::max_element(manifest.sizes)};
}

template <class Loaded>
FoundCapacity search(const Loaded& modelled, const SimulateOptions& options, const std::string& out,
                     double stall, const SetSizes& sizes) {
  FoundCapacity result;
  const auto try_capacity = [&](Bytes capacity) -> std::optional<double> {
    try {
      return stall_with(modelled, options, out, capacity);
    } catch (const ConfigError& error) {
      // Like a cache whose part is too small for its content.
      if (result.warning.empty())
        result.warning =
            fmt::format("study.stall: a capacity that is not possible does not suffice: {}", error.what());
      return std::nullopt;
    }
  };
  validation::LeastCapacity found;
  try {
    found = validation::find_least_capacity(stall, sizes.whole, sizes.largest, try_capacity);
  } catch (const NoStall&) {
    result.warning =
        "study.stall: no least capacity, which needs steps after the first epoch (stop.epochs of 2 or more), "
        "in which caches have been filled, and workers with equal parts of it";
    return result;
  }
  auto& least = result.least.emplace();
  least.stall = stall;
  if (found.capacity) least.capacity_bytes = found.capacity->count();
  least.data_set_bytes = sizes.whole.count();
  least.step_bytes = found.step.count();
  for (const auto& [capacity, own] : found.tried) least.tried.emplace_back(capacity.count(), own);
  return result;
}

}  // namespace

FoundCapacity least_capacity(const LoadedJob& loaded, const SimulateOptions& options, const std::string& out,
                             double stall) {
  if (loaded.experiment.data.source != DataSource::storage) return {};
  LoadedJob modelled = loaded;
  model_mathematics(modelled);
  return search(modelled, options, out, stall, sizes_of(modelled, out));
}

FoundCapacity least_capacity(const LoadedJobs& several, const SimulateOptions& options,
                             const std::string& out, double stall) {
  LoadedJobs modelled = several;
  SetSizes sizes;
  for (auto& one : modelled.jobs) {
    model_mathematics(one.loaded);
    if (one.loaded.experiment.data.source != DataSource::storage) continue;
    const SetSizes own = sizes_of(one.loaded, out);
    sizes = {std::max(sizes.whole, own.whole), std::max(sizes.largest, own.largest)};
  }
  if (sizes.whole == Bytes(0)) return {};
  return search(modelled, options, out, stall, sizes);
}

}  // namespace cli
}  // namespace tandem
