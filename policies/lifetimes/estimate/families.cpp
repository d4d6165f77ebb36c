#include "policies/lifetimes/estimate/families.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "policies/vocabulary/check.hpp"

namespace tandem::lifetimes {
namespace {

using Observations = std::vector<Observation>;

/// Deaths and time observed. A death within an interval counts as in the middle of it.
struct Totals {
  double deaths = 0.0;
  double time = 0.0;
  double longest = 0.0;
};

Totals totals_of(const Observations& observations) {
  Totals totals;
  for (const auto& one : observations) {
    totals.deaths += one.died ? one.weight : 0.0;
    totals.time += one.weight * (one.middle() - one.entry);
    totals.longest = std::max(totals.longest, one.duration);
  }
  return totals;
}

/// Without durations of 0, at which densities may be infinite.
Observations above_zero(Observations observations) {
  double shortest = infinity;
  for (const auto& one : observations)
    if (one.duration > 0.0) shortest = std::min(shortest, one.duration);
  for (auto& one : observations)
    if (one.duration <= 0.0) one.duration = std::isinf(shortest) ? 1.0 : shortest / 2.0;
  return observations;
}

/// The sum over observations of log f (died), log S (alive), or the log of the difference of two S (died in
/// between), less log S at the entry. At age 0 every machine is alive, also those of models with S(0) < 1.
template <class LogDensity, class LogSurvival>
double sum_of(const Observations& observations, const LogDensity& log_density,
              const LogSurvival& log_survival) {
  double sum = 0.0;
  for (const auto& one : observations) {
    double term = one.died && !one.alive_at ? log_density(one.duration) : log_survival(one.duration);
    if (one.alive_at) {
      const double before = *one.alive_at > 0.0 ? log_survival(*one.alive_at) : 0.0;
      term = before + std::log(-std::expm1(term - before));
    }
    if (one.entry > 0.0) term -= log_survival(one.entry);
    sum += one.weight * term;
  }
  return std::isnan(sum) ? -infinity : sum;
}

/// The likelihood of hazards that are constant between ages.
class ConstantHazards {
 public:
  /// `ends`: of all intervals of age but the last.
  ConstantHazards(const Observations& observations, const Values& ends)
      : ends_(ends), known_(ends.size() + 1), all_(ends.size() + 1) {
    for (const auto& one : observations) {
      add_time(known_, one.entry, one.alive_at.value_or(one.duration), one.weight);
      add_time(all_, one.entry, one.middle(), one.weight);
      if (!one.died) continue;
      all_[interval_of(one.middle())].deaths += one.weight;
      if (one.alive_at)
        between_[times_between(*one.alive_at, one.duration)] += one.weight;
      else
        known_[interval_of(one.duration)].deaths += one.weight;
    }
  }

  std::size_t size() const { return known_.size(); }
  double log_likelihood(const Values& rates) const {
    double sum = 0.0;
    for (std::size_t i = 0; i < size(); ++i)
      sum +=
          (known_[i].deaths > 0.0 ? known_[i].deaths * std::log(rates[i]) : 0.0) - known_[i].time * rates[i];
    for (const auto& [times, weight] : between_) {
      const double hazard = std::inner_product(times.begin(), times.end(), rates.begin(), 0.0);
      sum += weight * std::log(-std::expm1(-hazard));
    }
    return sum;
  }
  /// Those of the highest likelihood if the age of every death is known.
  Values start() const {
    Values rates;
    // An interval without deaths has no logarithm of a rate, and one without time no rate.
    for (const auto& interval : all_)
      rates.push_back(std::max(interval.deaths, 1e-6) / std::max(interval.time, 1e-6));
    return rates;
  }

 private:
  /// A death exactly at an end counts in the interval before it, in which its time is.
  std::size_t interval_of(double age) const {
    return static_cast<std::size_t>(std::ranges::lower_bound(ends_, age) - ends_.begin());
  }
  void add_time(std::vector<Totals>& totals, double from, double to, double weight) const {
    const Values times = times_between(from, to);
    for (std::size_t i = 0; i < totals.size(); ++i) totals[i].time += weight * times[i];
  }
  /// In each interval.
  Values times_between(double from, double to) const {
    Values times;
    for (std::size_t i = 0; i <= ends_.size(); ++i) {
      const double begin = std::max(from, i == 0 ? 0.0 : ends_[i - 1]);
      times.push_back(std::max(0.0, std::min(to, i < ends_.size() ? ends_[i] : infinity) - begin));
    }
    return times;
  }

  Values ends_;
  std::vector<Totals> known_;  ///< deaths at known ages; time for which machines are known to have lived
  std::vector<Totals> all_;    ///< all deaths
  std::map<Values, double> between_;  ///< deaths by the times in which they lie
};

Family exponential(const Observations& observations) {
  const ConstantHazards hazards(observations, {});
  return {.parameters = {{"mean"}},
          .log_likelihood = [hazards](const Values& p) { return hazards.log_likelihood({1.0 / p[0]}); },
          .starts = {{1.0 / hazards.start()[0]}},
          .options =
              [](const Values& p) {
                return std::map<std::string, OptionValue>{{"mean", p[0]}};
              }};
}

Family weibull(const Observations& observations) {
  const Totals totals = totals_of(observations);
  const double mean = totals.time / totals.deaths;
  const auto log_likelihood = [observations](const Values& p) {
    const double shape = p[0], scale = p[1];
    const double constant = std::log(shape / scale);
    const auto log_survival = [&](double t) { return -std::pow(t / scale, shape); };
    const auto log_density = [&](double t) {
      const double log_ratio = std::log(t / scale);
      return constant + (shape - 1.0) * log_ratio - std::exp(shape * log_ratio);
    };
    return sum_of(observations, log_density, log_survival);
  };
  return {.parameters = {{"shape"}, {"scale"}},
          .log_likelihood = log_likelihood,
          .starts = {{1.0, mean}},
          .options = [](const Values& p) {
            return std::map<std::string, OptionValue>{{"shape", p[0]}, {"scale", p[1]}};
          }};
}

Family early_death(const Observations& observations) {
  const Totals totals = totals_of(observations);
  const double mean = totals.time / totals.deaths;
  const auto log_likelihood = [observations](const Values& p) {
    const double share = p[0], early = p[1], late = p[2];
    // The other order is the same model with its parts exchanged.
    if (early >= late) return -infinity;
    const double early_density = share / early, late_density = (1.0 - share) / late;
    const double difference = 1.0 / early - 1.0 / late;
    // Without the factor e^(-t/late), which can vanish at high ages.
    const auto log_survival = [&](double t) {
      return std::log(share * std::exp(-t * difference) + (1.0 - share)) - t / late;
    };
    const auto log_density = [&](double t) {
      return std::log(early_density * std::exp(-t * difference) + late_density) - t / late;
    };
    return sum_of(observations, log_density, log_survival);
  };
  std::vector<Values> starts;
  for (const double share : {0.1, 0.5})
    for (const double part : {0.02, 0.2}) starts.push_back({share, part * mean, mean * (1.0 + share)});
  return {.parameters = {{"share", true}, {"early_mean"}, {"mean"}},
          .log_likelihood = log_likelihood,
          .starts = starts,
          .options = [](const Values& p) {
            return std::map<std::string, OptionValue>{{"share", p[0]}, {"early_mean", p[1]}, {"mean", p[2]}};
          }};
}

/// Every machine is alive at age 0. The formula of `bathtub` has S(0) = 1 - a e^(-b/tau2), which a wide rise
/// of the hazard brings far below 1; such parameters are excluded.
constexpr double most_dead_at_birth = 1e-3;

Family bathtub(const Observations& observations) {
  const double longest = totals_of(observations).longest;
  const auto log_likelihood = [observations](const Values& p) {
    const double a = p[0], tau1 = p[1], tau2 = p[2], b = p[3];
    if (a * std::exp(-b / tau2) > most_dead_at_birth) return -infinity;
    const auto survival = [&](double t) {
      return 1.0 - a * (1.0 - std::exp(-t / tau1) + std::exp((t - b) / tau2));
    };
    const auto log_survival = [&](double t) {
      const double alive = survival(t);
      return alive > 0.0 ? std::log(alive) : -infinity;
    };
    const auto log_density = [&](double t) {
      // From the time on at which F is 1, no machine can die.
      if (survival(t) < 0.0) return -infinity;
      return std::log(a * (std::exp(-t / tau1) / tau1 + std::exp((t - b) / tau2) / tau2));
    };
    return sum_of(observations, log_density, log_survival);
  };
  std::vector<Values> starts;
  for (const double a : {0.2, 0.45})
    for (const double early : {0.03, 0.2})
      for (const double late : {0.03, 0.1, 0.15})
        starts.push_back({a, early * longest, late * longest, longest * (1.0 + late / 2.0)});
  return {
      .parameters = {{"a", true}, {"tau1"}, {"tau2"}, {"b"}},
      .log_likelihood = log_likelihood,
      .starts = starts,
      .options = [](const Values& p) {
        return std::map<std::string, OptionValue>{{"a", p[0]}, {"tau1", p[1]}, {"tau2", p[2]}, {"b", p[3]}};
      }};
}

/// Ages at which the intervals of `piecewise` end: quantiles of the ages at death, so that every interval has
/// deaths. At most four intervals.
Values ends_of(const Observations& observations) {
  Values deaths;
  for (const auto& one : observations)
    if (one.died) deaths.push_back(one.duration);
  std::ranges::sort(deaths);
  const std::size_t pieces = std::clamp<std::size_t>(deaths.size() / 2, 1, 4);
  Values ends;
  for (std::size_t piece = 1; piece < pieces; ++piece) {
    const double end = deaths[deaths.size() * piece / pieces - 1];
    if ((ends.empty() || end > ends.back()) && end < deaths.back()) ends.push_back(end);
  }
  return ends;
}

Family piecewise(const Observations& observations, const Values& ends) {
  const ConstantHazards hazards(observations, ends);
  Family family;
  for (std::size_t i = 1; i <= hazards.size(); ++i) family.parameters.push_back({"rate" + std::to_string(i)});
  family.log_likelihood = [hazards](const Values& p) { return hazards.log_likelihood(p); };
  family.starts = {hazards.start()};
  family.ends = ends;
  family.options = [ends](const Values& p) {
    return std::map<std::string, OptionValue>{{"ends", joined(ends)}, {"rates", joined(p)}};
  };
  return family;
}

}  // namespace

std::string joined(const Values& values) {
  std::string text;
  for (const double value : values) text += (text.empty() ? "" : ",") + to_text(OptionValue(value));
  return text;
}

const std::vector<std::string>& fitted_names() {
  static const std::vector<std::string> names = {"exponential", "weibull", "early-death", "bathtub",
                                                 "piecewise"};
  return names;
}

Family family_of(const std::string& name, const std::vector<Observation>& observations,
                 const std::optional<Values>& ends) {
  for (const auto& one : observations)
    if (one.alive_at)
      TANDEM_CHECK(one.died && one.entry <= *one.alive_at && *one.alive_at < one.duration, one.entry,
                   *one.alive_at, one.duration);
  const Observations usable = above_zero(observations);
  TANDEM_CHECK(totals_of(usable).deaths > 0.0, "observations", observations.size());
  if (name == "exponential") return exponential(usable);
  if (name == "weibull") return weibull(usable);
  if (name == "early-death") return early_death(usable);
  if (name == "bathtub") return bathtub(usable);
  TANDEM_CHECK(name == "piecewise", name);
  return piecewise(usable, ends ? *ends : ends_of(usable));
}

}  // namespace tandem::lifetimes
