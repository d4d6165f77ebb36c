#include "validation/report/seed_means.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>

#include "validation/compare/statistics.hpp"

namespace tandem::validation {
namespace {

/// Equal for configurations that differ in their seed alone.
std::string key_of(const StudyResult& configuration) {
  // The results of a job depend on all jobs on its platform.
  if (!configuration.jobs_hash.empty()) return configuration.jobs_hash + ' ' + configuration.job;
  nlohmann::json experiment = to_json(configuration.experiment);
  experiment.erase("seed");
  experiment.erase("name");
  return experiment.dump();
}

using Seeds = std::vector<const StudyResult*>;

std::optional<SeedMean> mean_of(const Moments& moments) {
  if (std::isnan(moments.deviation)) return std::nullopt;
  return SeedMean{moments.mean, moments.deviation};
}

/// None unless all have a number.
template <class Value>
std::optional<SeedMean> over(const Seeds& members, Value&& value) {
  std::vector<double> values;
  for (const StudyResult* member : members) {
    const std::optional<double> own = value(*member);
    if (!own) return std::nullopt;
    values.push_back(*own);
  }
  return mean_of(mean_and_deviation(values));
}

std::optional<double> last_accuracy(const StudyResult& own) {
  return own.curve.empty() ? std::nullopt : std::optional(own.curve.back().accuracy);
}

SeedMeans entry_of(const Seeds& members) {
  const std::string name = without_seed(members.front()->name);
  SeedMeans entry{.name = name.empty() ? members.front()->name : name};
  for (const StudyResult* member : members) entry.configurations.push_back(member->name);
  entry.samples =
      over(members, [](const StudyResult& own) { return static_cast<double>(own.samples); }).value().mean;
  entry.makespan_s = over(members, [](const StudyResult& own) { return own.makespan_s; });
  entry.throughput = over(members, [](const StudyResult& own) { return own.throughput; });
  entry.last_accuracy = over(members, last_accuracy);
  entry.best_accuracy = over(members, [](const StudyResult& own) { return own.best_accuracy; });
  return entry;
}

/// Empty unless all have one.
std::map<std::string, double> accuracies_by_seed(const Seeds& members) {
  std::map<std::string, double> accuracies;
  for (const StudyResult* own : members) {
    const auto accuracy = last_accuracy(*own);
    if (!accuracy) return {};
    accuracies[seed_of(*own)] = *accuracy;
  }
  return accuracies;
}

}  // namespace

bool is_seed(const std::string& key) { return key == "seed" || key.ends_with(".seed"); }

std::string seed_of(const StudyResult& configuration) {
  std::string seed;
  for (const auto& [key, value] : configuration.coordinates)
    if (is_seed(key)) seed += (seed.empty() ? "" : "/") + value;
  return seed;
}

std::string without_seed(const std::string& name) {
  std::string kept;
  for (std::size_t begin = 0; begin <= name.size();) {
    const std::size_t end = std::min(name.find('/', begin), name.size());
    const std::string part = name.substr(begin, end - begin);
    if (!part.starts_with("seed=")) kept += (kept.empty() ? "" : "/") + part;
    begin = end + 1;
  }
  return kept;
}

Moments difference_over_seeds(const std::map<std::string, double>& ours,
                              const std::map<std::string, double>& theirs) {
  std::vector<double> differences;
  for (const auto& [seed, value] : ours)
    if (const auto same = theirs.find(seed); same != theirs.end())
      differences.push_back(value - same->second);
  Moments difference = mean_and_deviation(differences);
  difference.deviation /= std::sqrt(static_cast<double>(differences.size()));
  return difference;
}

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
  std::vector<std::map<std::string, double>> accuracies;
  for (const auto& key : order) {
    const auto& same = members.at(key);
    if (same.size() < 2) continue;
    groups.push_back(without_seed(same.front()->group));
    if (same.front()->algorithm == baseline) baselines[groups.back()] = entries.size();
    entries.push_back(entry_of(same));
    accuracies.push_back(accuracies_by_seed(same));
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto found = baselines.find(groups[i]);
    if (found == baselines.end() || found->second == i) continue;
    entries[i].baseline = entries[found->second].name;
    entries[i].accuracy_gain = mean_of(difference_over_seeds(accuracies[i], accuracies[found->second]));
  }
  return entries;
}

}  // namespace tandem::validation
