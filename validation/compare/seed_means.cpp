#include "validation/compare/seed_means.hpp"

#include <algorithm>
#include <cmath>
#include <map>

namespace tandem::validation {
namespace {

using nlohmann::json;
using SeedMembers = std::vector<const json*>;

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
std::string key_of(const json& configuration) {
  // What a job does depends on all jobs on its platform.
  if (const auto jobs = configuration.find("jobs_hash"); jobs != configuration.end())
    return jobs->get<std::string>() + ' ' + configuration.at("job").get<std::string>();
  json experiment = configuration.at("experiment");
  experiment.erase("seed");
  experiment.erase("name");
  return experiment.dump();
}

json json_of(const Moments& moments) {
  if (std::isnan(moments.deviation)) return nullptr;
  return {{"mean", moments.mean}, {"deviation", moments.deviation}};
}

/// Null unless all have a number.
template <class Value>
json over(const SeedMembers& members, Value&& value) {
  std::vector<double> values;
  for (const json* member : members) {
    const json own = value(*member);
    if (!own.is_number()) return nullptr;
    values.push_back(own);
  }
  return json_of(mean_and_deviation(values));
}

json last_accuracy(const json& own) { return own.at("curve").empty() ? json() : own.at("curve").back()[2]; }

json entry_of(const SeedMembers& members) {
  json names = json::array();
  for (const json* member : members) names.push_back(member->at("name"));
  const json samples = over(members, [](const json& own) { return own.at("samples"); });
  return {{"name", without_seed(members.front()->at("name"))},
          {"baseline", nullptr},
          {"configurations", std::move(names)},
          {"samples", samples.at("mean")},
          {"makespan_s", over(members, [](const json& own) { return own.at("makespan_s"); })},
          {"throughput", over(members, [](const json& own) { return own.at("throughput"); })},
          {"last_accuracy", over(members, last_accuracy)},
          {"best_accuracy", over(members, [](const json& own) { return own.at("best_accuracy"); })},
          {"accuracy_gain", nullptr}};
}

/// Empty unless all have one.
std::map<std::string, double> accuracies_by_seed(const SeedMembers& members) {
  std::map<std::string, double> accuracies;
  for (const json* own : members) {
    const json accuracy = last_accuracy(*own);
    if (!accuracy.is_number()) return {};
    accuracies[seed_of(*own)] = accuracy;
  }
  return accuracies;
}

}  // namespace

bool is_seed(const std::string& key) { return key == "seed" || key.ends_with(".seed"); }

std::string seed_of(const json& configuration) {
  std::string seed;
  for (const json& one : configuration.at("coordinates"))
    if (is_seed(one.at(0))) seed += (seed.empty() ? "" : "/") + one.at(1).get<std::string>();
  return seed;
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

json means_over_seeds(const std::vector<json>& configurations, const std::string& baseline) {
  std::vector<std::string> order;
  std::map<std::string, SeedMembers> members;
  for (const auto& own : configurations) {
    if (own.at("failure") != "") continue;
    const std::string key = key_of(own);
    if (members[key].empty()) order.push_back(key);
    members[key].push_back(&own);
  }
  json entries = json::array();
  std::map<std::string, std::size_t> baselines;  ///< by the group, without its seed
  std::vector<std::string> groups;
  std::vector<std::map<std::string, double>> accuracies;
  for (const auto& key : order) {
    const auto& same = members.at(key);
    if (same.size() < 2) continue;
    groups.push_back(without_seed(same.front()->at("group")));
    if (same.front()->at("algorithm") == baseline) baselines[groups.back()] = entries.size();
    entries.push_back(entry_of(same));
    accuracies.push_back(accuracies_by_seed(same));
  }
  for (std::size_t i = 0; i < entries.size(); ++i) {
    const auto found = baselines.find(groups[i]);
    if (found == baselines.end() || found->second == i) continue;
    entries[i]["baseline"] = entries[found->second].at("name");
    entries[i]["accuracy_gain"] = json_of(difference_over_seeds(accuracies[i], accuracies[found->second]));
  }
  return entries;
}

}  // namespace tandem::validation
