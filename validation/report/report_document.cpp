// The document that every form of the report is made from.
#include <algorithm>
#include <cmath>
#include <filesystem>
#include <map>
#include <set>

#include "policies/vocabulary/check.hpp"
#include "validation/report/report.hpp"
#include "validation/report/report_names.hpp"

namespace tandem::validation {
namespace {

using nlohmann::json;

template <class T>
json optional_json(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

json errors_json(const ErrorSummary& s) {
  return {{"key", s.key},
          {"name", s.name},
          {"unit", unit_name(s.unit)},
          {"count", s.count},
          {"undefined", s.undefined},
          {"bias", s.bias},
          {"mape", s.mape},
          {"median", s.median},
          {"p95", s.p95},
          {"largest", s.largest},
          {"largest_configuration", s.largest_name},
          {"mape_interval", s.mape_interval ? json{s.mape_interval->low, s.mape_interval->high} : json()},
          {"noise_floor", optional_json(s.noise_floor)},
          {"error_over_noise", optional_json(s.error_over_noise)},
          {"contribution", optional_json(s.contribution)},
          {"absolute_contribution", optional_json(s.absolute_contribution)},
          {"witnessed", s.witnessed},
          {"code_path", optional_json(s.code_path)},
          {"model", optional_json(s.model)},
          {"equivalent", s.equivalent},
          {"different", s.different},
          {"inconclusive", s.inconclusive}};
}

json worlds_json(const BothWorlds& value) {
  return {{"simulated", optional_json(value.simulated)}, {"measured", optional_json(value.measured)}};
}

json group_json(const Ranking& ranking) {
  json variants = json::array();
  for (const auto& variant : ranking.variants)
    variants.push_back({{"name", variant.name},
                        {"simulated_throughput", variant.simulated_throughput},
                        {"measured_throughput", variant.measured_throughput},
                        {"simulated_place", variant.simulated_place},
                        {"measured_place", variant.measured_place},
                        {"baseline", variant.baseline.empty() ? json() : json(variant.baseline)},
                        {"speed_up", worlds_json(variant.speed_up)},
                        {"target", optional_json(variant.target)},
                        {"time_to_target", worlds_json(variant.time_to_target)},
                        {"target_speed_up", worlds_json(variant.target_speed_up)}});
  return {{"name", ranking.group},
          {"spearman", optional_json(ranking.spearman)},
          {"kendall", optional_json(ranking.kendall)},
          {"same_order", ranking.same_order},
          {"same_best", ranking.same_best},
          {"largest_swapped_gap", ranking.largest_swapped_gap},
          {"regret", ranking.regret},
          {"variants", std::move(variants)}};
}

json set_json(const SetSummary& set) {
  json errors = json::array(), groups = json::array();
  for (const auto& summary : set.errors) errors.push_back(errors_json(summary));
  for (const auto& ranking : set.groups) groups.push_back(group_json(ranking));
  return {{"name", set.name},
          {"configurations", set.configurations},
          {"failed", set.failed},
          {"errors", std::move(errors)},
          {"ranking",
           {{"spearman", optional_json(set.spearman)},
            {"kendall", optional_json(set.kendall)},
            {"mean_spearman", optional_json(set.mean_spearman)},
            {"mean_kendall", optional_json(set.mean_kendall)},
            {"same_best", set.same_best},
            {"mean_regret", set.mean_regret},
            {"largest_regret", set.largest_regret},
            {"speed_ups", set.speed_ups},
            {"speed_up_mape", optional_json(set.speed_up_mape)}}},
          {"groups", std::move(groups)},
          {"mean_kolmogorov", set.mean_kolmogorov},
          {"mean_wasserstein", set.mean_wasserstein}};
}

/// Error of the step time of the ranks on each host, over configurations; largest first.
json hosts_json(const std::vector<json>& configurations) {
  struct Host {
    std::set<std::string> configurations;
    std::vector<double> errors;
  };
  std::map<std::pair<std::string, std::string>, Host> hosts;
  for (const auto& configuration : configurations) {
    if (configuration.at("failure") != "") continue;
    const std::filesystem::path platform(configuration.at("experiment").at("platform").get<std::string>());
    for (const auto& figure : configuration.at("figures")) {
      if (figure.at("rank") == -1 || !figure.at("error").is_number()) continue;
      auto& host = hosts[{platform.stem().string(), figure.at("host")}];
      host.configurations.insert(configuration.at("name"));
      host.errors.push_back(figure.at("error"));
    }
  }
  std::vector<json> all;
  for (const auto& [name, host] : hosts) {
    double sum = 0, magnitude = 0;
    for (const double error : host.errors) {
      sum += error;
      magnitude += std::abs(error);
    }
    const auto count = static_cast<double>(host.errors.size());
    all.push_back({{"platform", name.first},
                   {"host", name.second},
                   {"configurations", host.configurations.size()},
                   {"bias", sum / count},
                   {"mape", magnitude / count}});
  }
  std::stable_sort(all.begin(), all.end(), [](const json& a, const json& b) {
    return a.at("mape").get<double>() > b.at("mape").get<double>();
  });
  return all;
}

double error_of(const json& configuration) {
  for (const auto& figure : configuration.at("figures"))
    if (figure.at("key") == "step_time" && figure.at("rank") == -1 && figure.at("error").is_number())
      return std::abs(figure.at("error").get<double>());
  return 0;
}

/// Keeps the details of the worst configurations and of some evenly chosen ones, so that reports of many
/// configurations stay small.
void keep_chosen_details(std::vector<json>& configurations) {
  std::vector<std::size_t> worked;
  for (std::size_t i = 0; i < configurations.size(); ++i)
    if (configurations[i].at("failure") == "") worked.push_back(i);
  if (worked.size() <= most_worst_details + most_even_details) return;
  auto by_error = worked;
  std::stable_sort(by_error.begin(), by_error.end(), [&](std::size_t a, std::size_t b) {
    return error_of(configurations[a]) > error_of(configurations[b]);
  });
  std::set<std::size_t> chosen(by_error.begin(),
                               by_error.begin() + static_cast<std::ptrdiff_t>(most_worst_details));
  std::erase_if(worked, [&](std::size_t i) { return chosen.contains(i); });
  for (std::size_t k = 0; k < most_even_details; ++k)
    chosen.insert(worked[(2 * k + 1) * worked.size() / (2 * most_even_details)]);
  for (std::size_t i = 0; i < configurations.size(); ++i)
    if (!chosen.contains(i) && configurations[i].contains("detail")) configurations[i]["detail"] = nullptr;
}

json commands_of(const std::vector<json>& configurations) {
  json commands = json::array();
  for (const auto& configuration : configurations)
    if (configuration.contains("commands"))
      for (const auto& command : configuration.at("commands")) commands.push_back(command);
  return commands;
}

}  // namespace

json report_document(std::vector<json> configurations, const Validation& validation,
                     const ReportSource& source) {
  TANDEM_CHECK(configurations.size() == validation.configurations.size());
  keep_chosen_details(configurations);
  // Without a split there is one set only.
  if (validation.sets.size() == 1)
    for (auto& configuration : configurations) configuration["set"] = "all";
  json sets = json::array();
  for (const auto& set : validation.sets) sets.push_back(set_json(set));
  json hosts = hosts_json(configurations);
  json commands = source.commands.empty() ? commands_of(configurations) : json(source.commands);
  return {{"schema_version", 3},
          {"title", source.title},
          {"verdict", validation.verdict},
          {"passed", validation.passed},
          {"tolerance", validation.tolerance},
          {"margin", CompareOptions().margin},
          {"mape", validation.mape},
          {"bias", validation.bias},
          {"worst", {{"configuration", validation.worst_variant}, {"error", validation.worst}}},
          {"sets", std::move(sets)},
          {"configurations", std::move(configurations)},
          {"hosts", std::move(hosts)},
          {"profiles", source.profiles},
          {"phases", phase_names},
          {"commands", std::move(commands)}};
}

json report_document(const std::vector<VariantResults>& variants, const Validation& validation,
                     const ReportSource& source) {
  TANDEM_CHECK(variants.size() == validation.configurations.size());
  std::vector<json> configurations;
  for (std::size_t i = 0; i < variants.size(); ++i)
    configurations.push_back(configuration_document(variants[i], *validation.configurations[i].comparison));
  return report_document(std::move(configurations), validation, source);
}

}  // namespace tandem::validation
