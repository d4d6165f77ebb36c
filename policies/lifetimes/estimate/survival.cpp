#include "policies/lifetimes/estimate/survival.hpp"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/distributions/normal.hpp>
#include <cmath>
#include <map>
#include <utility>

#include "policies/vocabulary/check.hpp"

namespace tandem::lifetimes {
namespace {

double normal_quantile(double confidence) {
  return boost::math::quantile(boost::math::normal(), 0.5 + confidence / 2.0);
}

struct AtRisk {
  double deaths = 0.0;
  double at_risk = 0.0;
};

/// By time of death.
std::map<double, AtRisk> risk_sets(const std::vector<Observation>& observations) {
  std::map<double, AtRisk> sets;
  for (const auto& one : observations) {
    TANDEM_CHECK(one.entry >= 0.0 && one.weight >= 0.0, one.entry, one.duration, one.weight);
    TANDEM_CHECK(one.entry < one.duration || one.duration == 0.0, one.entry, one.duration);
    if (one.died && one.weight > 0.0) sets[one.duration].deaths += one.weight;
  }
  // Sorted, so that the machines at risk are a running sum: those that entered less those that ended.
  std::vector<std::pair<double, double>> entries, ends;
  for (const auto& one : observations) {
    // Those observed from the start are at risk at age 0, too.
    entries.emplace_back(one.entry > 0.0 ? one.entry : -1.0, one.weight);
    ends.emplace_back(one.duration, one.weight);
  }
  std::ranges::sort(entries);
  std::ranges::sort(ends);
  auto entry = entries.begin();
  auto end = ends.begin();
  double entered = 0.0, ended = 0.0;
  for (auto& [time, set] : sets) {
    for (; entry != entries.end() && entry->first < time; ++entry) entered += entry->second;
    for (; end != ends.end() && end->first < time; ++end) ended += end->second;
    set.at_risk = entered - ended;
  }
  return sets;
}

/// Solves a symmetric positive definite system by Gaussian elimination.
std::vector<double> solved(std::vector<std::vector<double>> matrix, std::vector<double> right) {
  const std::size_t size = right.size();
  for (std::size_t pivot = 0; pivot < size; ++pivot)
    for (std::size_t row = pivot + 1; row < size; ++row) {
      const double factor = matrix[row][pivot] / matrix[pivot][pivot];
      for (std::size_t column = pivot; column < size; ++column)
        matrix[row][column] -= factor * matrix[pivot][column];
      right[row] -= factor * right[pivot];
    }
  for (std::size_t row = size; row-- > 0;) {
    for (std::size_t column = row + 1; column < size; ++column)
      right[row] -= matrix[row][column] * right[column];
    right[row] /= matrix[row][row];
  }
  return right;
}

}  // namespace

double SurvivalCurve::survival(double t) const {
  const auto after = std::ranges::upper_bound(steps, t, {}, &SurvivalStep::time);
  return after == steps.begin() ? 1.0 : (after - 1)->survival;
}

double SurvivalCurve::time_of_survival(double s) const {
  // A median of exactly one half must not be missed because the product was rounded.
  const auto step = std::ranges::find_if(
      steps, [s](const SurvivalStep& each) { return each.survival <= s * (1.0 + 1e-12); });
  return step == steps.end() ? infinity : step->time;
}

SurvivalCurve kaplan_meier(const std::vector<Observation>& observations, double confidence) {
  const double z = normal_quantile(confidence);
  SurvivalCurve curve;
  for (const auto& one : observations) curve.last = std::max(curve.last, one.duration);
  double survival = 1.0, variance = 0.0, hazard = 0.0;
  for (const auto& [time, set] : risk_sets(observations)) {
    // Rounded sums of weights must not leave a rest of machines.
    const double left = set.at_risk - set.deaths > 1e-9 * set.at_risk ? set.at_risk - set.deaths : 0.0;
    survival *= left / set.at_risk;
    hazard += set.deaths / set.at_risk;
    variance += left > 0.0 ? set.deaths / (set.at_risk * left) : 0.0;
    SurvivalStep step{time, set.at_risk, set.deaths, survival, no_value, no_value, no_value, hazard};
    if (survival > 0.0) {
      const double root = std::sqrt(variance);
      const double spread = std::exp(z * root / -std::log(survival));
      step.error = survival * root;
      step.lower = std::pow(survival, spread);
      step.upper = std::pow(survival, 1.0 / spread);
    }
    curve.steps.push_back(step);
    // Later entries could not bring a survival of 0 back.
    if (survival <= 0.0) break;
  }
  return curve;
}

Estimate restricted_mean(const SurvivalCurve& curve, double limit, double confidence) {
  const bool ends = !curve.steps.empty() && curve.steps.back().survival <= 0.0;
  TANDEM_CHECK(limit <= curve.last || ends, "limit", limit, "last", curve.last);
  // From the last step to the first, because the variance needs the area that follows each step.
  double area = 0.0, variance = 0.0, end = limit;
  for (auto step = curve.steps.rbegin(); step != curve.steps.rend(); ++step) {
    if (step->time >= limit) continue;
    area += step->survival * (end - step->time);
    end = step->time;
    const double left = step->at_risk - step->deaths;
    if (step->survival > 0.0) variance += area * area * step->deaths / (step->at_risk * left);
  }
  area += end;
  const double error = std::sqrt(variance);
  const double half = normal_quantile(confidence) * error;
  return {area, error, std::max(0.0, area - half), std::min(limit, area + half)};
}

LogRank log_rank(const std::vector<std::vector<Observation>>& groups) {
  const std::size_t count = groups.size();
  std::vector<Observation> together;
  for (const auto& group : groups) together.insert(together.end(), group.begin(), group.end());
  LogRank test;
  test.observed.assign(count, 0.0);
  test.expected.assign(count, 0.0);
  std::vector<std::vector<double>> covariance(count, std::vector<double>(count, 0.0));
  for (const auto& [time, all] : risk_sets(together)) {
    std::vector<double> shares(count, 0.0);
    for (std::size_t g = 0; g < count; ++g) {
      for (const auto& one : groups[g]) {
        if (one.died && one.duration == time) test.observed[g] += one.weight;
        const bool has_entered = one.entry < time || one.entry <= 0.0;
        if (has_entered && one.duration >= time) shares[g] += one.weight / all.at_risk;
      }
      test.expected[g] += all.deaths * shares[g];
    }
    if (all.at_risk <= 1.0) continue;
    const double factor = all.deaths * (all.at_risk - all.deaths) / (all.at_risk - 1.0);
    for (std::size_t g = 0; g < count; ++g)
      for (std::size_t h = 0; h < count; ++h)
        covariance[g][h] += factor * shares[g] * ((g == h ? 1.0 : 0.0) - shares[h]);
  }
  // Without one of the groups, because the differences sum to 0.
  std::vector<std::size_t> kept;
  for (std::size_t g = 0; g < count; ++g)
    if (covariance[g][g] > 0.0) kept.push_back(g);
  if (kept.size() < 2) return test;
  kept.pop_back();
  std::vector<std::vector<double>> matrix;
  std::vector<double> differences;
  for (const auto g : kept) {
    matrix.emplace_back();
    for (const auto h : kept) matrix.back().push_back(covariance[g][h]);
    differences.push_back(test.observed[g] - test.expected[g]);
  }
  const auto weights = solved(matrix, differences);
  for (std::size_t i = 0; i < kept.size(); ++i) test.statistic += differences[i] * weights[i];
  test.degrees = std::ssize(kept);
  const boost::math::chi_squared distribution(static_cast<double>(test.degrees));
  test.p_value = boost::math::cdf(boost::math::complement(distribution, std::max(0.0, test.statistic)));
  return test;
}

double late_hazard(const std::vector<Observation>& observations) {
  std::vector<double> deaths;
  for (const auto& one : observations)
    if (one.died) deaths.push_back(one.duration);
  if (deaths.empty()) return 0.0;
  const auto middle = deaths.begin() + std::ssize(deaths) / 2;
  std::ranges::nth_element(deaths, middle);
  // The death at this age counts, so time counts from just before it; with one death, from the start.
  const double from = deaths.size() == 1 ? 0.0 : *std::max_element(deaths.begin(), middle);
  double died = 0.0, time = 0.0;
  for (const auto& one : observations) {
    if (one.duration <= from) continue;
    died += one.died ? one.weight : 0.0;
    time += one.weight * (one.duration - std::max(from, one.entry));
  }
  return time > 0.0 ? died / time : 0.0;
}

}  // namespace tandem::lifetimes
