#include "validation/campaign/sweep.hpp"

#include <algorithm>
#include <array>
#include <cstdlib>
#include <nlohmann/json.hpp>
#include <numeric>
#include <optional>
#include <tuple>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/digest.hpp"
#include "policies/vocabulary/text_parts.hpp"

namespace tandem::validation {
namespace {

constexpr int most_shards = 1'000'000;

std::optional<int> number_in(const std::string& text) { return parse_number<int>(text, 0, most_shards); }

std::optional<int> variable(const char* name) {
  const char* const text = std::getenv(name);
  return text == nullptr ? std::nullopt : number_in(text);
}

/// A batch system whose arrays of tasks number the shards.
struct ArrayKind {
  const char* variable;  ///< with the number of the task
  const char* option;    ///< numbers tasks from 0 to the number that follows
};
/// HyperQueue first: its tasks may run within an array of Slurm or PBS.
constexpr std::array<ArrayKind, 3> array_kinds = {{{"HQ_TASK_ID", "hq submit --array 0-"},
                                                   {"PBS_ARRAY_INDEX", "qsub -J 0-"},
                                                   {"SLURM_ARRAY_TASK_ID", "sbatch --array=0-"}}};

/// The number of the task that the environment names, among `count`.
Shard shard_of_task(int count) {
  for (const auto& [name, option] : array_kinds) {
    const char* const text = std::getenv(name);
    if (text == nullptr) continue;
    if (const auto task = number_in(text); task && *task < count) return {*task, count};
    throw ConfigError("--shard /" + std::to_string(count) + ": expected " + name + " from 0 to " +
                      std::to_string(count - 1) + ", found '" + text + "'; number the tasks with " + option +
                      std::to_string(count - 1));
  }
  throw ConfigError("--shard /" + std::to_string(count) +
                    ": expected the number of a task in SLURM_ARRAY_TASK_ID, PBS_ARRAY_INDEX or HQ_TASK_ID, "
                    "found none; write --shard I/" +
                    std::to_string(count));
}

/// Only Slurm states how many tasks an array has.
Shard shard_of_slurm() {
  if (const auto task = variable("SLURM_ARRAY_TASK_ID")) {
    const int first = variable("SLURM_ARRAY_TASK_MIN").value_or(0);
    const auto count = variable("SLURM_ARRAY_TASK_COUNT");
    if (count && *task >= first && *task - first < *count) return {*task - first, *count};
    throw ConfigError("--shard: expected a job array without gaps (SLURM_ARRAY_TASK_ID " +
                      std::to_string(*task) + "), found another; write --shard /N, with tasks from 0");
  }
  throw ConfigError(
      "--shard: expected I/N, or a Slurm job array (SLURM_ARRAY_TASK_ID), found neither; in an array of PBS "
      "or HyperQueue write --shard /N");
}

}  // namespace

double expected_cost(const SuiteConfiguration& configuration) {
  constexpr double workers_if_unknown = 8, rounds_if_unknown = 100;
  double cost = 0;
  for (const Experiment* experiment : configuration.experiments()) {
    const auto& [placement, stop] = std::tie(experiment->placement, experiment->stop);
    const double named = static_cast<double>(placement.workers.size());
    const double workers = placement.worker_count > 0 ? placement.worker_count
                           : named > 0                ? named
                                                      : workers_if_unknown;
    cost += workers * (stop.rounds > 0 ? static_cast<double>(stop.rounds) : rounds_if_unknown);
  }
  return cost;
}

Shard parse_shard(const std::string& text) {
  if (text.empty()) return shard_of_slurm();
  const auto slash = text.find('/');
  const int count = slash == std::string::npos ? 0 : number_in(text.substr(slash + 1)).value_or(0);
  if (slash == 0 && count > 0) return shard_of_task(count);
  const auto index = number_in(text.substr(0, slash));
  if (!index || *index >= count)
    throw ConfigError("--shard: expected I/N with I from 0 to N - 1, found '" + text +
                      "'; number the tasks of an array from 0");
  return {*index, count};
}

std::string content_hash(const SuiteConfiguration& configuration) {
  Digest digest;
  digest.add(configuration.keys().dump());
  return digest.text();
}

std::string hash_without_seeds(const SuiteConfiguration& configuration) {
  nlohmann::json keys = configuration.keys();
  keys.erase("seed");
  if (keys.contains("jobs"))
    for (auto& job : keys.at("jobs")) job.at("keys").erase("seed");
  Digest digest;
  digest.add(keys.dump());
  return digest.text();
}

std::string study_id(const Suite& suite) {
  Digest digest;
  for (const auto& configuration : suite.configurations)
    digest.add(configuration.name + ' ' + content_hash(configuration) + '\n');
  return digest.text();
}

std::vector<std::size_t> configurations_of(const Suite& suite, const Shard& shard) {
  std::vector<std::size_t> order(suite.configurations.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::vector<double> cost;
  for (const auto& configuration : suite.configurations) cost.push_back(expected_cost(configuration));
  std::ranges::stable_sort(order, [&](std::size_t a, std::size_t b) { return cost[a] > cost[b]; });
  // The most expensive first, each to the shard that has least.
  std::vector<double> load(static_cast<std::size_t>(shard.count));
  std::vector<std::size_t> own;
  for (const std::size_t i : order) {
    const auto least = std::ranges::min_element(load);
    *least += cost[i];
    if (least - load.begin() == shard.index) own.push_back(i);
  }
  std::ranges::sort(own);
  return own;
}

}  // namespace tandem::validation
