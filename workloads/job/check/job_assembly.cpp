#include "workloads/job/check/job_assembly.hpp"

#include <filesystem>
#include <set>
#include <string_view>
#include <utility>

#include "workloads/experiment/key_error.hpp"
#include "workloads/experiment/overrides.hpp"
#include "workloads/experiment/resolved_experiment.hpp"
#include "workloads/job/placement/cache_rates.hpp"
#include "workloads/job/plan/all_reduce_plan.hpp"
#include "workloads/job/plan/data_plan.hpp"

namespace tandem {
namespace {

namespace fs = std::filesystem;

/// The last model in the result directory of a job, or in its folder of checkpoints: the one with which it
/// ended, or that of the latest round. Empty: there is none.
std::string last_model_in(const fs::path& directory) {
  if (fs::exists(directory / "model.pt")) return (directory / "model.pt").string();
  fs::path last;
  for (const fs::path& folder : {directory / "checkpoints", directory}) {
    std::error_code error;
    for (const auto& entry : fs::directory_iterator(folder, error)) {
      const std::string name = entry.path().filename().string();
      // Numbers have equally many digits.
      if (name.starts_with("round_") && name.ends_with(".pt") && entry.path().filename() > last.filename())
        last = entry.path();
    }
  }
  return last.string();
}

void choose_initial_model(Experiment& experiment, const Locate& locate) {
  std::string& initial = experiment.workload.initial;
  std::error_code error;
  if (!fs::is_directory(initial, error)) return;
  const std::string file = last_model_in(initial);
  const Origin origin = locate("workload.initial");
  if (file.empty())
    fail(origin.place, origin.label, "a model's file, or the results of a job with model.pt or checkpoints",
         "'" + initial + "', a folder without them");
  initial = file;
}

LoadedJob placed(Experiment experiment, const Locate& locate, PlatformReader& platforms) {
  platforms::Description platform = platforms.platform(experiment.platform);
  resolve_cache_capacity(experiment);
  choose_loaders(experiment, locate);
  choose_initial_model(experiment, locate);
  resolve_placement(experiment, platform, locate);
  const auto hosts = hosts_of_cache_rates(experiment);
  set_cache_rates(experiment, platform,
                  hosts.empty() ? platforms::Network{} : platforms.network(experiment.platform, hosts));
  const bool devices_are_given = locate("run.devices").is_given;
  return {std::move(experiment), std::move(platform), devices_are_given, locate};
}

LoadedJob placed_alone(LocatedExperiment located, PlatformReader& platforms) {
  if (located.experiment.data.shared) {
    const Origin origin = located.locate("data.shared");
    fail(origin.place, origin.label,
         "false, because the experiment has only one job (several jobs: key jobs)", "'true'");
  }
  return placed(std::move(located.experiment), located.locate, platforms);
}

}  // namespace

LoadedExperiment load_placed(const std::string& path, const Overrides& overrides, const std::string& variant,
                             PlatformReader& platforms) {
  LocatedExperiment located = load_located(path, overrides, variant);
  if (located.jobs.empty()) return placed_alone(std::move(located), platforms);
  LoadedJobs loaded;
  for (LocatedJob& job : located.jobs)
    loaded.jobs.push_back({std::move(job.name), job.start, std::move(job.overrides),
                           placed(std::move(job.experiment), job.locate, platforms)});
  loaded.experiment = std::move(located.experiment);
  return loaded;
}

LoadedJob load_placed_job(const std::string& path, const Overrides& overrides, const std::string& variant,
                          PlatformReader& platforms) {
  return placed_alone(load_located_job(path, overrides, variant), platforms);
}

void compute_natively_by_default(LoadedJob& loaded) {
  if (!loaded.devices_are_given && loaded.experiment.workload.math == Experiment::Workload::Math::real)
    loaded.experiment.run.devices = DeviceSpeed::native;
}

platforms::Network network_of_workers(const Experiment& experiment, PlatformReader& platforms) {
  const auto& sync = experiment.sync;
  // Both compare predicted times; `native` does so where no calibration measured it.
  const bool priced = sync.collective == cheapest_all_reduce || sync.collective == native_all_reduce;
  const bool depends =
      sync.order != WorkerOrder::rank || sync.collective == "hierarchical" || sync.rings != 1 || priced;
  if (sync.over != sync::Route::all_reduce || !depends) return {};
  std::vector<std::string> hosts;
  std::set<std::string_view> known;
  for (const auto* of : {&experiment.placement.workers, &experiment.placement.spares})
    for (const auto& host : *of)
      if (known.insert(host).second) hosts.push_back(host);
  if (hosts.size() < 2 && !priced) return {};
  return platforms.network(experiment.platform, hosts);
}

Job make_job(LoadedJob loaded, const std::string& out, const platforms::Network& network) {
  try {
    Job job(std::move(loaded.experiment), std::move(loaded.platform), out, network, loaded.locate);
    job.data().check_cache_options(static_cast<int>(job.roster().ranks_of(Roster::Role::cache_node).size()));
    return job;
  } catch (const KeyError& error) {
    if (!loaded.locate) throw;
    const Origin origin = loaded.locate(error.key());
    fail(origin.place, origin.label, error.expected(), error.found());
  }
}

}  // namespace tandem
