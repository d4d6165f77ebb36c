// The answer of `study --vary` in words.
#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

#include "cli/commands/answer_origins.hpp"
#include "cli/commands/compared_jobs.hpp"
#include "cli/commands/what_if.hpp"

namespace tandem::cli {
namespace {

using Found = std::vector<validation::StudyResult>;

/// Where it was simulated.
ClusterPlace place_of(const validation::StudyResult& result, const VarySuite& suite) {
  ClusterPlace place = suite.clusters.at(result.experiment.platform);
  place.workers = static_cast<int>(result.workers);
  return place;
}

/// The bounds of a launch-bound job differ in the processor's time.
bool has_host_time(const validation::StudyResult& result) {
  return result.experiment.workload.measured_host > Seconds(0);
}

/// One device's step without exchange; the second one of a job that waits for its processor.
using StepsAlone = std::map<bool, double>;

StepsAlone steps_alone(const Found& results, const std::string& one_device) {
  std::map<bool, Experiment> jobs;
  for (const auto& result : results)
    if (auto alone = one_device_alone(result.experiment, one_device))
      jobs.try_emplace(has_host_time(result), std::move(*alone));
  std::vector<Experiment> all;
  for (const auto& [has_host, job] : jobs) all.push_back(job);
  if (all.empty()) return {};
  const auto steps = simulated_steps(std::move(all));
  StepsAlone alone;
  for (const auto& [has_host, job] : jobs) alone.emplace(has_host, steps[alone.size()]);
  return alone;
}

/// "-41 %: helps": of a step to the job's own.
std::string change_text(double step_s, double own_s) {
  constexpr double noticeable = 0.05;
  const double change = step_s / own_s - 1;
  return fmt::format("{:+.0f} %: {}", 100 * change, change < -noticeable ? "helps" : "would not help");
}

/// "at 1.8 times: none 187.8 ms, fp16 135.0 ms (-28 %: helps)", per place.
std::string slowed_text(const Found& results, const VarySuite& suite) {
  std::vector<Experiment> jobs;
  for (const auto& result : results)
    jobs.push_back(
        with_slower_kernels(result.experiment, result.environment.physics).value_or(result.experiment));
  const auto steps = simulated_steps(std::move(jobs));
  std::map<std::string, std::pair<double, std::string>> places;
  for (std::size_t i = 0; i < results.size(); ++i) {
    const auto [place, is_first] = places.try_emplace(place_of(results[i], suite).name(), steps[i], "");
    auto& [own_s, text] = place->second;
    text += fmt::format("{} {} {}", is_first ? "" : ",", results[i].experiment.sync.compression,
                        ms_text(steps[i]));
    if (!is_first) text += fmt::format(" ({})", change_text(steps[i], own_s));
  }
  std::string text;
  for (const auto& [place, found] : places)
    text += fmt::format("  {} if kernels take {} times as long while messages move, the worst known:{}\n",
                        place, worst_slowdown, found.second);
  return text;
}

/// By bandwidth, and of each launch-bound job by its bound, then by number of workers.
using Efficiencies = std::map<std::string, std::map<int, double>>;

/// "  at least 90 % of one device's speed: up to 64 workers at 25Gbps".
std::string scaling_text(const Efficiencies& efficiencies) {
  constexpr double asked = 0.9;
  std::string text;
  for (const auto& [within, by_workers] : efficiencies) {
    if (by_workers.size() < 2) continue;
    int most = 0;
    for (const auto& [workers, efficiency] : by_workers) {
      if (efficiency < asked) break;
      most = workers;
    }
    text += fmt::format("  at least {} of one device's speed each, at {}: {}\n", share_text(asked), within,
                        most < 2 ? "with one worker alone" : fmt::format("up to {} workers", most));
  }
  return text;
}

}  // namespace

std::string vary_text(Found results, const JobOptions& job, const VarySuite& suite) {
  std::erase_if(results, [](const auto& result) { return result.failed(); });
  if (results.empty()) return "";
  const auto alone = steps_alone(results, suite.one_device);
  const bool has_bounds =
      std::ranges::any_of(results, has_host_time) && !std::ranges::all_of(results, has_host_time);
  std::map<std::string, double> own;  // by place: the first value of a grid is the job's own
  Efficiencies efficiencies;
  std::set<std::string> methods;
  std::string text;
  const auto bound_of = [&](const validation::StudyResult& result) {
    return !has_bounds ? "" : has_host_time(result) ? ", as profiled" : ", GPU alone";
  };
  std::size_t width = 0;
  for (const auto& result : results)
    width = std::max(width, place_of(result, suite).name().size() + std::string(bound_of(result)).size());
  for (const auto& result : results) {
    const ClusterPlace at = place_of(result, suite);
    const std::string bound = bound_of(result), place = at.name() + bound;
    methods.insert(result.experiment.sync.compression);
    text += fmt::format("{:<{}}  {:<10} {:>9}", place, width, result.experiment.sync.compression,
                        ms_text(result.step_time_s));
    if (const auto found = alone.find(has_host_time(result)); found != alone.end()) {
      const double efficiency = found->second / result.step_time_s;
      text += fmt::format("  {:>5} of one device's speed each", share_text(efficiency));
      efficiencies[at.within + bound][at.workers] = efficiency;
    }
    const auto [known, is_own] = own.try_emplace(place, result.step_time_s);
    if (!is_own) text += "  " + change_text(result.step_time_s, known->second);
    text += '\n';
  }
  const auto& first = results.front();
  std::vector<nlohmann::json> physics;
  for (const auto& result : results) physics.push_back(result.environment.physics);
  text += scaling_text(efficiencies) + origins_text(job, first.experiment, physics);
  if (methods.size() > 1 && !has_bounds && with_slower_kernels(first.experiment, first.environment.physics))
    text += slowed_text(results, suite);
  return text;
}

}  // namespace tandem::cli
