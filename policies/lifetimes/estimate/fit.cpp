#include "policies/lifetimes/estimate/fit.hpp"

#include <algorithm>
#include <boost/math/distributions/chi_squared.hpp>
#include <boost/math/tools/toms748_solve.hpp>
#include <cmath>
#include <utility>

#include "policies/lifetimes/estimate/families.hpp"
#include "policies/lifetimes/estimate/minimise.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantile.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::lifetimes {
namespace {

double free_of(const Family::Parameter& parameter, double value) {
  return parameter.is_share ? std::log(value / (1.0 - value)) : std::log(value);
}
double natural_of(const Family::Parameter& parameter, double value) {
  return parameter.is_share ? 1.0 / (1.0 + std::exp(-value)) : std::exp(value);
}

/// A family on its scale without bounds.
class Problem {
 public:
  explicit Problem(Family family) : family_(std::move(family)) {}

  const Family& family() const { return family_; }
  Values free(const Values& natural) const {
    Values values;
    for (std::size_t i = 0; i < natural.size(); ++i)
      values.push_back(free_of(family_.parameters[i], natural[i]));
    return values;
  }
  Values natural(const Values& free) const {
    Values values;
    for (std::size_t i = 0; i < free.size(); ++i)
      values.push_back(natural_of(family_.parameters[i], free[i]));
    return values;
  }
  /// Minus the log-likelihood.
  double operator()(const Values& free) const {
    const double value = -family_.log_likelihood(natural(free));
    return std::isnan(value) ? infinity : value;
  }

  /// From the starts of the highest likelihood.
  Minimum best(bool thorough = true) const {
    constexpr std::size_t most = 3;
    std::vector<Minimum> starts;
    for (const auto& start : family_.starts) {
      const Values from = free(start);
      const double value = (*this)(from);
      if (!std::isinf(value)) starts.push_back({from, value});
    }
    TANDEM_CHECK(!starts.empty(), "starts", family_.starts.size());
    std::ranges::stable_sort(starts, {}, &Minimum::value);
    if (starts.size() > most) starts.resize(most);
    Minimum best = starts.front();
    for (const auto& start : starts) {
      Minimum found = minimise(*this, start.at, 0.3);
      if (found.value < best.value) best = std::move(found);
    }
    if (!thorough) return best;
    // Where observations bound the parameters, a simplex gets stuck; others, with edges in other directions,
    // continue.
    for (const double step : {0.1, -0.1, 0.02, -0.02, 0.005, -0.005}) {
      Minimum found = minimise(*this, best.at, step);
      if (found.value < best.value) best = std::move(found);
    }
    return best;
  }

 private:
  Family family_;
};

/// The likelihood of one parameter, maximised over the others.
class Profile {
 public:
  Profile(const Problem& problem, const Minimum& best, std::size_t index, double drop)
      : problem_(problem), best_(best), index_(index), drop_(drop), others_(without(best.at)) {}

  /// Where the log-likelihood has dropped, below (-1) or above (+1) the estimate; infinity if it does not.
  double bound(double direction) {
    const double centre = best_.at[index_];
    others_ = without(best_.at);
    double inner = centre, inner_value = -drop_, step = 0.05;
    while (step < 40.0) {
      const double outer = centre + direction * step;
      const double value = deviation(outer);
      if (value > 0.0) return root(inner, outer, inner_value, value);
      inner = outer;
      inner_value = value;
      step *= 1.6;
    }
    return direction * infinity;
  }

 private:
  Values without(const Values& all) const {
    Values others = all;
    others.erase(others.begin() + static_cast<std::ptrdiff_t>(index_));
    return others;
  }
  /// How far the log-likelihood has dropped, less the drop that bounds the interval.
  double deviation(double value) {
    const auto cost = [&](const Values& others) {
      Values all = others;
      all.insert(all.begin() + static_cast<std::ptrdiff_t>(index_), value);
      return problem_(all);
    };
    // Begins where the last value had its maximum, if the observations are possible there.
    if (std::isinf(cost(others_))) others_ = without(best_.at);
    if (std::isinf(cost(others_))) return 1e9;
    Minimum found = minimise(cost, others_, 0.05);
    others_ = found.at;
    return found.value - best_.value - drop_;
  }
  double root(double inner, double outer, double inner_value, double outer_value) {
    std::uintmax_t iterations = 60;
    const auto close = [](double a, double b) { return std::abs(a - b) < 1e-5; };
    const bool ordered = inner < outer;
    const auto [low, high] = boost::math::tools::toms748_solve(
        [this](double value) { return deviation(value); }, ordered ? inner : outer, ordered ? outer : inner,
        ordered ? inner_value : outer_value, ordered ? outer_value : inner_value, close, iterations);
    return (low + high) / 2.0;
  }

  const Problem& problem_;
  const Minimum& best_;
  std::size_t index_;
  double drop_;
  Values others_;
};

Values values_of(const Fitted& fitted) {
  Values values;
  for (const auto& parameter : fitted.parameters) values.push_back(parameter.value);
  return values;
}

std::vector<std::vector<std::size_t>> members_of(const std::vector<std::size_t>& groups) {
  std::map<std::size_t, std::vector<std::size_t>> by_group;
  for (std::size_t i = 0; i < groups.size(); ++i) by_group[groups[i]].push_back(i);
  std::vector<std::vector<std::size_t>> members;
  for (auto& [group, indices] : by_group) members.push_back(std::move(indices));
  return members;
}

bool has_deaths(const std::vector<Observation>& observations) {
  return std::ranges::any_of(observations,
                             [](const Observation& one) { return one.died && one.weight > 0.0; });
}

}  // namespace

Fitted fit(const std::string& model, const std::vector<Observation>& observations) {
  const Problem problem(family_of(model, observations));
  const Minimum best = problem.best();
  const Values values = problem.natural(best.at);
  Fitted fitted{model,
                {},
                -best.value,
                2.0 * static_cast<double>(values.size()) + 2.0 * best.value,
                problem.family().options(values),
                problem.family().ends};
  for (std::size_t i = 0; i < values.size(); ++i)
    fitted.parameters.push_back({problem.family().parameters[i].name, values[i], no_value, no_value});
  return fitted;
}

std::vector<Fitted> fit_all(const std::vector<Observation>& observations) {
  const auto deaths = std::ranges::count_if(observations, &Observation::died);
  std::vector<Fitted> all;
  for (const auto& name : fitted_names()) {
    const auto parameters = std::ssize(family_of(name, observations).parameters);
    // `piecewise` of one interval is `exponential`.
    if (name == "exponential" || (parameters < deaths && parameters > 1))
      all.push_back(fit(name, observations));
  }
  std::ranges::stable_sort(all, {}, &Fitted::aic);
  return all;
}

void add_profile_intervals(Fitted& fitted, const std::vector<Observation>& observations, double confidence) {
  const Problem problem(family_of(fitted.model, observations, fitted.ends));
  const Values free = problem.free(values_of(fitted));
  const Minimum best{free, problem(free)};
  const double drop = boost::math::quantile(boost::math::chi_squared(1.0), confidence) / 2.0;
  for (std::size_t i = 0; i < free.size(); ++i) {
    Profile profile(problem, best, i, drop);
    fitted.parameters[i].lower = natural_of(problem.family().parameters[i], profile.bound(-1.0));
    fitted.parameters[i].upper = natural_of(problem.family().parameters[i], profile.bound(1.0));
  }
}

void add_bootstrap_intervals(Fitted& fitted, const std::vector<Observation>& observations,
                             const std::vector<std::size_t>& groups, int draws, std::uint64_t seed,
                             double confidence) {
  TANDEM_CHECK(groups.size() == observations.size() && draws > 0, groups.size(), observations.size(), draws);
  TANDEM_CHECK(has_deaths(observations), observations.size());
  const auto members = members_of(groups);
  const Values estimate = values_of(fitted);
  std::vector<Values> drawn(estimate.size());
  Rng rng = Rng::stream(seed, "bootstrap");
  for (int draw = 0; draw < draws;) {
    std::vector<Observation> sample;
    for (std::size_t i = 0; i < members.size(); ++i)
      for (const std::size_t index : members[rng.below(members.size())])
        sample.push_back(observations[index]);
    if (!has_deaths(sample)) continue;
    ++draw;
    Family family = family_of(fitted.model, sample, fitted.ends);
    // The rates of `piecewise` start at or near their maximum already.
    if (family.ends.empty() && family.log_likelihood(estimate) > -infinity) family.starts = {estimate};
    const Problem problem(std::move(family));
    const Values values = problem.natural(problem.best(/*thorough=*/false).at);
    for (std::size_t i = 0; i < values.size(); ++i) drawn[i].push_back(values[i]);
  }
  for (std::size_t i = 0; i < estimate.size(); ++i) {
    fitted.parameters[i].lower = quantile(drawn[i], (1.0 - confidence) / 2.0);
    fitted.parameters[i].upper = quantile(drawn[i], (1.0 + confidence) / 2.0);
  }
}

}  // namespace tandem::lifetimes
