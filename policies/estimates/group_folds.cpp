#include "policies/estimates/group_folds.hpp"

#include <algorithm>
#include <cmath>
#include <functional>
#include <limits>
#include <map>
#include <set>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantile.hpp"

namespace tandem::estimates {
namespace {

using Vector = std::vector<double>;

constexpr std::size_t row_folds = 10;
constexpr double equal_errors = 1e-6;  ///< of exact tables

/// Readings of a group with equal features.
struct Sample {
  FormPoint point;
  std::optional<double> within, between;  ///< mean |ratio - 1| to the median
};

double mean(const Vector& values) {
  double sum = 0.0;
  for (const double value : values) sum += value;
  return sum / static_cast<double>(values.size());
}

std::optional<double> mean_or_none(const Vector& values) {
  return values.empty() ? std::nullopt : std::optional(mean(values));
}

double spread(const Vector& values) {
  const double middle = quantile(values, 0.5);
  Vector ratios;
  for (const double value : values) ratios.push_back(std::abs(value / middle - 1.0));
  return mean(ratios);
}

std::vector<Sample> samples_of(const std::vector<Reading>& readings) {
  struct Runs {
    FormInput input;
    std::map<std::string, Vector> values;
  };
  std::map<std::pair<std::string, Vector>, Runs> all;
  for (const Reading& reading : readings) {
    const FormPoint& point = reading.point;
    Runs& runs = all[{point.group, point.input.features}];
    runs.input = point.input;
    runs.values[reading.run].push_back(point.value);
  }
  std::vector<Sample> samples;
  for (const auto& [key, runs] : all) {
    Vector values, medians, within;
    for (const auto& [run, of_run] : runs.values) {
      values.insert(values.end(), of_run.begin(), of_run.end());
      medians.push_back(quantile(of_run, 0.5));
      if (of_run.size() > 1) within.push_back(spread(of_run));
    }
    samples.push_back({{runs.input, quantile(values, 0.5), key.first}, mean_or_none(within), std::nullopt});
    if (medians.size() > 1) samples.back().between = spread(medians);
  }
  return samples;
}

std::optional<double> mean_of(const std::vector<Sample>& samples, std::optional<double> Sample::*part) {
  Vector known;
  for (const Sample& sample : samples)
    if (sample.*part) known.push_back(*(sample.*part));
  return mean_or_none(known);
}

std::set<std::string> groups_of(const std::vector<Sample>& samples) {
  std::set<std::string> groups;
  for (const Sample& sample : samples) groups.insert(sample.point.group);
  return groups;
}

/// The samples of the group, and the others.
std::pair<std::vector<Sample>, std::vector<Sample>> split(const std::vector<Sample>& samples,
                                                          const std::string& group) {
  std::pair<std::vector<Sample>, std::vector<Sample>> parts;
  for (const Sample& sample : samples)
    (sample.point.group == group ? parts.first : parts.second).push_back(sample);
  return parts;
}

std::vector<FormPoint> points_of(const std::vector<Sample>& samples) {
  std::vector<FormPoint> points;
  for (const Sample& sample : samples) points.push_back(sample.point);
  return points;
}

Vector log_ratios(const FittedForm& form, const std::vector<Sample>& samples) {
  Vector ratios;
  for (const Sample& sample : samples)
    ratios.push_back(std::log(sample.point.value / form.predict(sample.point.input)));
  return ratios;
}

/// Collects the errors of groups.
class Errors {
 public:
  void add(const std::string& group, const Vector& of_measured) {
    Vector errors;
    for (const double ratio : of_measured) {
      errors.push_back(std::abs(std::exp(-ratio) - 1.0));
      logs_.push_back(-ratio);
    }
    by_group_.emplace_back(mean(errors), group);
  }
  GroupErrors all() const {
    Vector errors;
    for (const auto& [error, group] : by_group_) errors.push_back(error);
    const auto& worst = *std::ranges::max_element(by_group_);
    return {mean(errors), quantile(errors, 0.5), worst.first, worst.second, mean(logs_)};
  }

 private:
  std::vector<std::pair<double, std::string>> by_group_;
  Vector logs_;
};

/// Each group predicted without it; `reason` if a fold lacks what the form needs.
FormScore score_of(const Catalog<FormFit>::Entry& form, const std::vector<Sample>& samples) {
  FormScore score{form.name, std::nullopt, std::nullopt, 1.0, ""};
  Errors errors;
  for (const std::string& group : groups_of(samples)) {
    const auto [own, others] = split(samples, group);
    const FormResult result = form.make(points_of(others));
    if (!result.fitted) {
      score.reason = result.reason;
      return score;
    }
    errors.add(group, log_ratios(*result.fitted, own));
  }
  score.errors = errors.all();
  return score;
}

/// `all`: each form fitted to all samples. What the whole table refuses, e.g. powers of a feature that is 0
/// in one group alone, or more points than a form takes, predicts no group.
std::vector<FormScore> scores_of(const std::vector<Sample>& samples, const std::vector<FormResult>& all) {
  std::vector<FormScore> scores;
  for (std::size_t i = 0; i < all.size(); ++i) {
    const auto& form = forms().entries()[i];
    if (all[i].fitted)
      scores.push_back(score_of(form, samples));
    else
      scores.push_back({form.name, std::nullopt, std::nullopt, 1.0, all[i].reason});
  }
  return scores;
}

/// Fitted to all samples. The mean is chosen where no other form can be fitted.
FittedForm chosen_form(const std::vector<Sample>& samples, const std::vector<FormScore>& scores) {
  double least = std::numeric_limits<double>::infinity();
  for (std::size_t i = 1; i < scores.size(); ++i)
    if (scores[i].errors) least = std::min(least, scores[i].errors->mean);
  const double tolerated = std::max(equal_errors, mean_of(samples, &Sample::between).value_or(0.0));
  const auto points = points_of(samples);
  for (std::size_t i = 1; i < scores.size(); ++i) {
    if (!scores[i].errors || scores[i].errors->mean > least + tolerated) continue;
    if (FormResult result = forms().entries()[i].make(points); result.fitted) return *result.fitted;
  }
  return *forms().entries().front().make(points).fitted;
}

FoldOfGroup fold_without(const std::string& group, const std::vector<Sample>& samples,
                         const std::vector<FormResult>& all) {
  const auto [own, others] = split(samples, group);
  FittedForm form = chosen_form(others, scores_of(others, all));
  Vector ratios = log_ratios(form, own);
  return {group, std::move(form), std::move(ratios)};
}

/// The median of the readings with the nearest features, each from 0 to 1 over the others.
double nearest(const std::vector<const Reading*>& others, const Reading& reading) {
  const std::size_t count = reading.point.input.features.size();
  Vector span(count, 0.0);
  for (std::size_t i = 0; i < count; ++i) {
    const auto value = [&](const Reading* other) { return other->point.input.features[i]; };
    const auto [least, most] = std::ranges::minmax_element(others, {}, value);
    span[i] = value(*most) > value(*least) ? value(*most) - value(*least) : 1.0;
  }
  double least = std::numeric_limits<double>::infinity();
  Vector values;
  for (const Reading* other : others) {
    double distance = 0.0;
    for (std::size_t i = 0; i < count; ++i)
      distance += std::pow((other->point.input.features[i] - reading.point.input.features[i]) / span[i], 2);
    if (distance < least) values.clear();
    if (distance <= least) values.push_back(other->point.value);
    least = std::min(least, distance);
  }
  return quantile(values, 0.5);
}

/// Mean error of each reading by the nearest one in another fold.
double look_up_error(const std::vector<Reading>& readings, bool by_group) {
  Vector errors;
  std::vector<const Reading*> others;
  for (std::size_t i = 0; i < readings.size(); ++i) {
    others.clear();
    for (std::size_t j = 0; j < readings.size(); ++j)
      if (by_group ? readings[j].point.group != readings[i].point.group : j % row_folds != i % row_folds)
        others.push_back(&readings[j]);
    errors.push_back(std::abs(nearest(others, readings[i]) / readings[i].point.value - 1.0));
  }
  return mean(errors);
}

/// As published tables were judged: a fit of nine tenths of the rows, for the others. None: cannot be fitted.
std::optional<double> error_by_rows(const Catalog<FormFit>::Entry& form,
                                    const std::vector<Reading>& readings) {
  Vector errors;
  for (std::size_t fold = 0; fold < row_folds; ++fold) {
    std::vector<FormPoint> points;
    for (std::size_t i = 0; i < readings.size(); ++i)
      if (i % row_folds != fold) points.push_back(readings[i].point);
    const FormResult result = form.make(points);
    if (!result.fitted) return std::nullopt;
    for (std::size_t i = fold; i < readings.size(); i += row_folds)
      errors.push_back(
          std::abs(result.fitted->predict(readings[i].point.input) / readings[i].point.value - 1.0));
  }
  return mean(errors);
}

/// The end of an interval by a fold, and how much it counts.
struct End {
  double value, weight;
};

/// The innermost end that no more than the mass `outside` lies beyond. `ends` from the outside inwards;
/// `unseen`: the mass of the new group, which lies beyond all of them.
double end_of(const std::vector<End>& ends, double unseen, double outside) {
  constexpr double rounding = 1e-12;
  double found = ends.front().value, beyond = unseen;
  for (const End& end : ends) {
    if (beyond > outside + rounding) break;
    found = end.value;
    beyond += end.weight;
  }
  return found;
}

}  // namespace

std::optional<std::size_t> Predictor::outside(const std::vector<double>& features) const {
  TANDEM_CHECK(features.size() == least.size(), features.size(), least.size());
  for (std::size_t i = 0; i < features.size(); ++i)
    if (!(features[i] >= least[i] && features[i] <= most[i])) return i;
  return std::nullopt;
}

Predictor::Time Predictor::predict(const FormInput& input, double confidence) const {
  TANDEM_CHECK(confidence > 0.0 && confidence < 1.0, confidence);
  const double of_group = 1.0 - most_confidence();
  std::vector<End> lower, upper;
  for (const FoldOfGroup& fold : folds) {
    const double value = fold.form.predict(input);
    const double weight = of_group / static_cast<double>(fold.log_ratios.size());
    for (const double ratio : fold.log_ratios) {
      lower.push_back({value * std::exp(-std::abs(ratio)), weight});
      upper.push_back({value * std::exp(std::abs(ratio)), weight});
    }
  }
  std::ranges::sort(lower, std::less(), &End::value);
  std::ranges::sort(upper, std::greater(), &End::value);
  const double outside = 1.0 - confidence;
  return {form.predict(input), end_of(lower, of_group, outside), end_of(upper, of_group, outside)};
}

double Predictor::most_confidence() const {
  return static_cast<double>(folds.size()) / static_cast<double>(folds.size() + 1);
}

bool Evaluation::is_leaking() const {
  if (!look_up_by_rows) return false;
  constexpr double far_below = 0.5, near = 1.5;
  double best = std::numeric_limits<double>::infinity();
  for (const FormScore& score : scores) best = std::min(best, score.by_rows.value_or(best));
  return best < far_below * chosen_inside.mean && *look_up_by_rows < near * best;
}

Evaluation evaluate_forms(const std::vector<Reading>& readings) {
  const std::vector<Sample> samples = samples_of(readings);
  const auto groups = groups_of(samples);
  TANDEM_CHECK(groups.size() >= 3, groups.size());
  Evaluation found;
  found.within_runs = mean_of(samples, &Sample::within);
  found.between_runs = mean_of(samples, &Sample::between);
  std::vector<FormResult> all;
  for (const auto& form : forms().entries()) all.push_back(form.make(points_of(samples)));
  found.scores = scores_of(samples, all);
  found.predictor.form = chosen_form(samples, found.scores);
  Errors inside;
  for (const std::string& group : groups) {
    found.predictor.folds.push_back(fold_without(group, samples, all));
    inside.add(group, found.predictor.folds.back().log_ratios);
  }
  found.chosen_inside = inside.all();
  found.predictor.least = found.predictor.most = samples.front().point.input.features;
  for (const Sample& sample : samples)
    for (std::size_t i = 0; i < sample.point.input.features.size(); ++i) {
      found.predictor.least[i] = std::min(found.predictor.least[i], sample.point.input.features[i]);
      found.predictor.most[i] = std::max(found.predictor.most[i], sample.point.input.features[i]);
    }
  found.look_up = look_up_error(readings, true);
  const bool has_repetitions = readings.size() > samples.size();
  if (has_repetitions) found.look_up_by_rows = look_up_error(readings, false);
  for (std::size_t i = 0; i < found.scores.size(); ++i) {
    if (all[i].fitted) found.scores[i].condition = all[i].fitted->condition;
    if (has_repetitions) found.scores[i].by_rows = error_by_rows(forms().entries()[i], readings);
  }
  return found;
}

std::vector<HeldOut> held_out(const std::vector<Reading>& readings, const Evaluation& found,
                              double confidence) {
  const std::vector<FoldOfGroup>& folds = found.predictor.folds;
  const double of_group = 1.0 / static_cast<double>(folds.size());
  std::map<std::string, std::pair<const FittedForm*, double>> known;  // forms, and errors of the others
  for (const FoldOfGroup& fold : folds) {
    std::vector<End> errors;
    for (const FoldOfGroup& other : folds)
      for (const double ratio : other.log_ratios)
        if (other.group != fold.group)
          errors.push_back({std::abs(ratio), of_group / static_cast<double>(other.log_ratios.size())});
    std::ranges::sort(errors, std::greater(), &End::value);
    known[fold.group] = {&fold.form, end_of(errors, of_group, 1.0 - confidence)};
  }
  std::vector<HeldOut> points;
  for (const Sample& sample : samples_of(readings)) {
    const auto [form, error] = known.at(sample.point.group);
    const double value = form->predict(sample.point.input);
    points.push_back(
        {sample.point.group, sample.point.value, {value, value * std::exp(-error), value * std::exp(error)}});
  }
  return points;
}

}  // namespace tandem::estimates
