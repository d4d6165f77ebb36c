#include "validation/report/seed_means.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "validation/compare/statistics.hpp"

namespace tandem::validation {
namespace {

/// "uniform" of "seed=4/uniform".
std::string without_seed(const std::string& name) {
  std::string kept;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    if (!part.starts_with("seed=")) kept += (kept.empty() ? "" : "/") + part;
    begin = end + 1;
  }
  return kept.empty() ? name : kept;
}

/// Equal for configurations that differ in their seed alone.
std::string key_of(const StudyResult& configuration) {
  // What a job does depends on all jobs on its platform.
  if (!configuration.jobs_hash.empty()) return configuration.jobs_hash + ' ' + configuration.job;
  nlohmann::json experiment = to_json(configuration.experiment);
  experiment.erase("seed");
  experiment.erase("name");
  return experiment.dump();
}

using Seeds = std::vector<const StudyResult*>;

/// None unless all have a number.
template <class Value>
std::optional<SeedMean> over(const Seeds& members, Value&& value) {
  std::vector<double> values;
  for (const StudyResult* member : members) {
    const std::optional<double> own = value(*member);
    if (!own) return std::nullopt;
    values.push_back(*own);
  }
  const Moments moments = mean_and_deviation(values);
  if (std::isnan(moments.deviation)) return std::nullopt;
  return SeedMean{moments.mean, moments.deviation};
}

SeedMeans entry_of(const Seeds& members) {
  SeedMeans entry{.name = without_seed(members.front()->name)};
  for (const StudyResult* member : members) entry.configurations.push_back(member->name);
  entry.samples =
      over(members, [](const StudyResult& own) { return static_cast<double>(own.samples); }).value().mean;
  entry.makespan_s = over(members, [](const StudyResult& own) { return own.makespan_s; });
  entry.throughput = over(members, [](const StudyResult& own) { return own.throughput; });
  entry.last_accuracy = over(members, [](const StudyResult& own) {
    return own.curve.empty() ? std::nullopt : std::optional(own.curve.back().accuracy);
  });
  entry.best_accuracy = over(members, [](const StudyResult& own) { return own.best_accuracy; });
  return entry;
}

/// With Welch's standard error.
void compare(SeedMeans& own, const SeedMeans& baseline) {
  own.baseline = baseline.name;
  if (!own.last_accuracy || !baseline.last_accuracy) return;
  const auto squared_error = [](const SeedMeans& entry) {
    const double deviation = entry.last_accuracy->deviation;
    return deviation * deviation / static_cast<double>(entry.configurations.size());
  };
  own.accuracy_gain = SeedMean{own.last_accuracy->mean - baseline.last_accuracy->mean,
                               std::sqrt(squared_error(own) + squared_error(baseline))};
}

}  // namespace

std::vector<SeedMeans> means_over_seeds(const std::vector<StudyResult>& configurations,
                                        const std::string& baseline) {
  std::vector<std::string> order;
  std::map<std::string, Seeds> members;
  for (const auto& own : configurations) {
    if (own.failed()) continue;
    const std::string key = key_of(own);
    if (members[key].empty()) order.push_back(key);
    members[key].push_back(&own);
  }
  std::vector<SeedMeans> entries;
  std::map<std::string, std::size_t> baselines;  ///< by the group, without its seed
  std::vector<std::string> groups;
  for (const auto& key : order) {
    const auto& same = members.at(key);
    if (same.size() < 2) continue;
    groups.push_back(without_seed(same.front()->group));
    if (same.front()->algorithm == baseline) baselines[groups.back()] = entries.size();
    entries.push_back(entry_of(same));
  }
  for (std::size_t i = 0; i < entries.size(); ++i)
    if (const auto found = baselines.find(groups[i]); found != baselines.end() && found->second != i)
      compare(entries[i], entries[found->second]);
  return entries;
}

}  // namespace tandem::validation
