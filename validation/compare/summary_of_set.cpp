// The figures of a set of configurations: errors, rankings by group, distributions.
#include <math.h>  // Boost 1.74 uses sqrt without including it

#include <algorithm>
#include <boost/math/statistics/univariate_statistics.hpp>
#include <cmath>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantile.hpp"
#include "validation/compare/summary.hpp"

namespace tandem::validation {
namespace {

using Configurations = std::vector<const Compared*>;

std::optional<double> mean_of(const std::vector<double>& values) {
  if (values.empty()) return std::nullopt;
  return boost::math::statistics::mean(values);
}

/// 1 + how many are faster; equal ones share a place.
std::vector<int> places(const std::vector<double>& throughput) {
  std::vector<int> result;
  for (const double own : throughput)
    result.push_back(1 + static_cast<int>(std::count_if(throughput.begin(), throughput.end(),
                                                        [own](double other) { return other > own; })));
  return result;
}

/// No two variants that measurably differ are the other way round in the simulation.
bool agree(const std::vector<double>& simulated, const std::vector<double>& measured) {
  for (std::size_t i = 0; i < measured.size(); ++i)
    for (std::size_t j = 0; j < measured.size(); ++j)
      if (measured[i] > measured[j] * (1 + Ranking::tie) && simulated[i] < simulated[j]) return false;
  return true;
}

void count_verdict(const Figure& figure, ErrorSummary& summary) {
  if (!figure.verdict) return;
  switch (*figure.verdict) {
    case Equivalence::equivalent:
      ++summary.equivalent;
      break;
    case Equivalence::different:
      ++summary.different;
      break;
    case Equivalence::inconclusive:
      ++summary.inconclusive;
  }
}

void finish(ErrorSummary& summary, const std::vector<double>& errors, const std::vector<double>& floors,
            const Resampling& resampling) {
  std::vector<double> magnitudes;
  for (const double error : errors) magnitudes.push_back(std::abs(error));
  summary.count = static_cast<int>(errors.size());
  if (errors.empty()) return;
  summary.bias = boost::math::statistics::mean(errors);
  summary.mape = boost::math::statistics::mean(magnitudes);
  summary.median = quantile(magnitudes, 0.5);
  summary.p95 = quantile(magnitudes, 0.95);
  summary.mape_interval = percentile_interval(resampled_means(magnitudes, resampling), 0.9);
  summary.noise_floor = mean_of(floors);
  if (summary.noise_floor && *summary.noise_floor > 0)
    summary.error_over_noise = summary.mape / *summary.noise_floor;
}

/// A phase that the configuration does not have says nothing about errors of those that do.
bool is_absent_phase(const Figure& figure) {
  return figure.key.starts_with("phase.") && figure.simulated == 0 && figure.measured == 0;
}

ErrorSummary errors_of(const Figure& kind, const Configurations& configurations,
                       const Resampling& resampling) {
  ErrorSummary summary{.key = kind.key, .name = kind.name, .unit = kind.unit};
  std::vector<double> errors, floors, contributions, magnitudes, code_paths, models;
  for (const auto* configuration : configurations) {
    const Figure* figure = configuration->comparison->find(kind.key);
    if (figure == nullptr || is_absent_phase(*figure)) continue;
    if (figure->contribution) {
      contributions.push_back(*figure->contribution);
      magnitudes.push_back(std::abs(*figure->contribution));
    }
    if (!std::isfinite(figure->error)) {
      ++summary.undefined;
      continue;
    }
    if (std::abs(figure->error) > std::abs(summary.largest)) {
      summary.largest = figure->error;
      summary.largest_name = configuration->name;
    }
    errors.push_back(figure->error);
    if (figure->noise_floor && std::isfinite(*figure->noise_floor)) floors.push_back(*figure->noise_floor);
    count_verdict(*figure, summary);
    if (!figure->witness || figure->measured == 0) continue;
    code_paths.push_back(std::abs(figure->simulated - *figure->witness) / figure->measured);
    models.push_back(std::abs(*figure->witness - figure->measured) / figure->measured);
  }
  summary.witnessed = static_cast<int>(models.size());
  summary.code_path = mean_of(code_paths);
  summary.model = mean_of(models);
  summary.contribution = mean_of(contributions);
  summary.absolute_contribution = mean_of(magnitudes);
  finish(summary, errors, floors, resampling);
  return summary;
}

void add_errors(const Configurations& configurations, const Resampling& resampling, SetSummary& set) {
  for (const auto* configuration : configurations)
    for (const auto& figure : configuration->comparison->figures)
      if (figure.rank < 0 && set.find(figure.key) == nullptr)
        set.errors.push_back(errors_of(figure, configurations, resampling));
}

Ranking rank_of(const Configurations& configurations) {
  std::vector<std::string> names;
  std::vector<double> simulated, measured;
  for (const auto* configuration : configurations) {
    names.push_back(configuration->label());
    const auto& throughput = configuration->comparison->figure("throughput");
    simulated.push_back(throughput.simulated);
    measured.push_back(throughput.measured);
  }
  return rank(names, simulated, measured);
}

void add_rankings(const Configurations& configurations, SetSummary& set) {
  std::vector<std::string> groups;
  for (const auto* configuration : configurations)
    if (std::find(groups.begin(), groups.end(), configuration->group) == groups.end())
      groups.push_back(configuration->group);
  std::vector<double> regrets, spearmans, kendalls, speed_up_errors;
  for (const auto& group : groups) {
    Configurations members;
    for (const auto* configuration : configurations)
      if (configuration->group == group) members.push_back(configuration);
    if (members.size() < 2) continue;
    Ranking& ranking = set.groups.emplace_back(rank_of(members));
    ranking.group = group;
    add_speed_ups(members, ranking);
    for (const auto& variant : ranking.variants)
      if (!variant.baseline.empty() && variant.baseline != variant.name)
        speed_up_errors.push_back(
            std::abs(relative_error(*variant.speed_up.simulated, *variant.speed_up.measured)));
    set.same_best += ranking.same_best;
    regrets.push_back(ranking.regret);
    if (ranking.spearman) spearmans.push_back(*ranking.spearman);
    if (ranking.kendall) kendalls.push_back(*ranking.kendall);
  }
  set.mean_regret = mean_of(regrets).value_or(0);
  set.largest_regret = regrets.empty() ? 0 : *std::max_element(regrets.begin(), regrets.end());
  set.speed_ups = static_cast<int>(speed_up_errors.size());
  set.speed_up_mape = mean_of(speed_up_errors);
  set.mean_spearman = mean_of(spearmans);
  set.mean_kendall = mean_of(kendalls);
  if (configurations.size() < 2) return;
  const Ranking all = rank_of(configurations);
  set.spearman = all.spearman;
  set.kendall = all.kendall;
}

}  // namespace

const ErrorSummary* SetSummary::find(const std::string& key) const {
  for (const auto& summary : errors)
    if (summary.key == key) return &summary;
  return nullptr;
}

Ranking rank(const std::vector<std::string>& names, const std::vector<double>& simulated,
             const std::vector<double>& measured) {
  TANDEM_CHECK(!names.empty() && names.size() == simulated.size() && names.size() == measured.size());
  Ranking ranking;
  const auto simulated_places = places(simulated), measured_places = places(measured);
  for (std::size_t i = 0; i < names.size(); ++i)
    ranking.variants.push_back(
        {names[i], simulated[i], measured[i], simulated_places[i], measured_places[i]});
  std::stable_sort(ranking.variants.begin(), ranking.variants.end(),
                   [](const auto& a, const auto& b) { return a.measured_place < b.measured_place; });
  ranking.spearman = spearman(simulated, measured);
  ranking.kendall = kendall(simulated, measured);
  ranking.same_order = agree(simulated, measured);
  const auto favourite = std::max_element(simulated.begin(), simulated.end()) - simulated.begin();
  const double chosen = measured[static_cast<std::size_t>(favourite)];
  ranking.regret = *std::max_element(measured.begin(), measured.end()) / chosen - 1;
  ranking.same_best = ranking.regret == 0;
  for (std::size_t a = 0; a < names.size(); ++a)
    for (std::size_t b = 0; b < names.size(); ++b)
      if (simulated[a] > simulated[b] && measured[a] < measured[b])
        ranking.largest_swapped_gap = std::max(ranking.largest_swapped_gap, measured[b] / measured[a] - 1);
  return ranking;
}

SetSummary summarise_set(const std::string& name, const Configurations& configurations,
                         const Resampling& resampling) {
  SetSummary set{.name = name, .configurations = static_cast<int>(configurations.size())};
  Configurations worked;
  std::vector<double> kolmogorov, wasserstein;
  for (const auto* configuration : configurations) {
    if (!configuration->comparison) {
      ++set.failed;
      continue;
    }
    worked.push_back(configuration);
    kolmogorov.push_back(configuration->comparison->step_times.kolmogorov);
    wasserstein.push_back(configuration->comparison->step_times.wasserstein);
  }
  add_errors(worked, resampling, set);
  add_rankings(worked, set);
  set.mean_kolmogorov = mean_of(kolmogorov).value_or(0);
  set.mean_wasserstein = mean_of(wasserstein).value_or(0);
  return set;
}

}  // namespace tandem::validation
