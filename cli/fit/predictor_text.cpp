#include "cli/fit/predictor_text.hpp"

#include <fmt/format.h>

#include <cmath>
#include <nlohmann/json.hpp>
#include <optional>
#include <set>

#include "workloads/cost/step_predictor.hpp"
#include "workloads/experiment/json_fields.hpp"
#include "workloads/records/format.hpp"

namespace tandem::cli {
namespace {

using estimates::Evaluation;
using estimates::FittedForm;
using estimates::FormScore;
using estimates::GroupErrors;
using nlohmann::json;

std::string percent_or_dash(const std::optional<double>& value) { return value ? percent(*value) : "-"; }

std::string errors_text(const std::string& name, const GroupErrors& errors, const std::string& by_rows) {
  return fmt::format("  {:<24} {:>8} {:>8} {:>8} {:>9} {:>8}   {}\n", name, percent(errors.mean),
                     percent(errors.median), percent(errors.worst), signed_percent(std::expm1(errors.bias)),
                     by_rows, errors.worst_group);
}

std::string score_text(const FormScore& score) {
  if (!score.errors) return fmt::format("  {:<24} not fitted: {}\n", score.name, score.reason);
  return errors_text(score.name, *score.errors, percent_or_dash(score.by_rows));
}

std::size_t groups_of(const DeviceReadings& rows) {
  std::set<std::string> groups;
  for (const auto& reading : rows.readings) groups.insert(reading.point.group);
  return groups.size();
}

std::string known_text(const DeviceReadings& rows) {
  const std::string precision = rows.precision.empty() ? "precision not known" : rows.precision;
  if (rows.least_batch == 0.0) return precision + ", batch not known";
  if (rows.least_batch == rows.most_batch) return fmt::format("{}, batch {:g}", precision, rows.least_batch);
  return fmt::format("{}, batch {:g} to {:g}", precision, rows.least_batch, rows.most_batch);
}

double condition_of(const Evaluation& found) {
  for (const FormScore& score : found.scores)
    if (score.name == found.predictor.form.name) return score.condition;
  return 1.0;
}

json errors_document(const GroupErrors& errors) {
  return {{"mean", errors.mean},
          {"median", errors.median},
          {"worst", errors.worst},
          {"worst_group", errors.worst_group},
          {"bias", errors.bias}};
}

json number_or_null(const std::optional<double>& value) { return value ? json(*value) : json(nullptr); }

/// Without terms that count for nothing.
FittedForm counting_terms(FittedForm form) {
  std::erase_if(form.terms, [](const auto& term) { return term.coefficient == 0.0; });
  return form;
}

json score_document(const FormScore& score) {
  json document = {{"name", score.name}, {"by_rows", number_or_null(score.by_rows)}};
  if (score.errors)
    document["errors"] = errors_document(*score.errors);
  else
    document["reason"] = score.reason;
  return document;
}

}  // namespace

std::string evaluation_text(const DeviceReadings& rows, const Evaluation& found, double confidence) {
  std::string text =
      fmt::format("{} rows of {} groups; {}\n", rows.readings.size(), groups_of(rows), known_text(rows));
  text += fmt::format("  {:<24} {:>8} {:>8} {:>8} {:>9} {:>8}   {}\n", "each group without it", "mean",
                      "median", "worst", "bias", "by rows", "worst group");
  for (const FormScore& score : found.scores) text += score_text(score);
  text += errors_text("chosen without the group", found.chosen_inside, "");
  text += fmt::format("  {:<24} {:>8} {:>36}\n", "nearest row (look-up)", percent(found.look_up),
                      percent_or_dash(found.look_up_by_rows));
  text += fmt::format("  chosen: {} (condition {}); readings of a run differ by {}, runs by {}\n",
                      found.predictor.form.name, three_digits(condition_of(found)),
                      percent_or_dash(found.within_runs), percent_or_dash(found.between_runs));
  const double reached = std::min(confidence, found.predictor.most_confidence());
  return text +
         fmt::format(
             "  intervals of {} (hierarchical jackknife+ of {} groups; at least {} of new groups drawn like "
             "them)\n",
             percent(reached), found.predictor.folds.size(), percent(std::max(0.0, 2.0 * reached - 1.0)));
}

std::vector<std::string> evaluation_warnings(const Evaluation& found, double confidence) {
  std::vector<std::string> warnings;
  if (found.is_leaking())
    warnings.push_back(
        "errors with folds over rows are those of looking up another reading of the same group: rows of a "
        "group are "
        "not independent, so only the errors of groups that were left out tell how new ones are predicted");
  if (!found.between_runs)
    warnings.push_back(
        "how much runs on fresh machines differ is not known (a column run, with several runs of a group), "
        "so no "
        "form is known to be better than another one by less than that");
  const auto& mean = found.scores.front().errors;
  if (mean && found.chosen_inside.mean >= mean->mean)
    warnings.push_back("the features predict no better than the mean of the other groups");
  if (confidence > found.predictor.most_confidence())
    warnings.push_back(fmt::format("so few groups allow intervals of at most {}",
                                   percent(found.predictor.most_confidence())));
  return warnings;
}

json predictor_document(const std::vector<std::string>& features, const DeviceReadings& rows,
                        const Evaluation& found) {
  json document = {{"rows", rows.readings.size()},
                   {"groups", groups_of(rows)},
                   {"precision", rows.precision.empty() ? json(nullptr) : json(rows.precision)},
                   {"batch", nullptr},
                   {"seen", json::array()},
                   {"forms", json::array()},
                   {"errors", errors_document(found.chosen_inside)},
                   {"look_up", found.look_up},
                   {"look_up_by_rows", number_or_null(found.look_up_by_rows)},
                   {"is_leaking", found.is_leaking()},
                   {"within_runs", number_or_null(found.within_runs)},
                   {"between_runs", number_or_null(found.between_runs)},
                   {"most_confidence", found.predictor.most_confidence()},
                   {"form", write_fields(counting_terms(found.predictor.form))},
                   {"folds", json::array()}};
  if (rows.least_batch > 0.0) document["batch"] = {rows.least_batch, rows.most_batch};
  for (std::size_t i = 0; i < features.size(); ++i)
    document["seen"].push_back(
        {{"feature", features[i]}, {"least", found.predictor.least[i]}, {"most", found.predictor.most[i]}});
  for (const FormScore& score : found.scores) document["forms"].push_back(score_document(score));
  for (const auto& fold : found.predictor.folds)
    document["folds"].push_back(
        write_fields(estimates::FoldOfGroup{fold.group, counting_terms(fold.form), fold.log_ratios}));
  return document;
}

void add_device(validation::PredictorPage& page, const std::string& device, const DeviceReadings& rows,
                const Evaluation& found) {
  std::size_t within = 0;
  const auto points = estimates::held_out(rows.readings, found, page.confidence);
  for (const auto& [group, measured, predicted] : points) {
    page.points.push_back({device, group, measured, predicted.value, predicted.lower, predicted.upper});
    within += measured >= predicted.lower && measured <= predicted.upper ? 1 : 0;
  }
  const GroupErrors& errors = found.chosen_inside;
  const std::string name = device.empty() ? "all rows" : device,
                    of_all = fmt::format("{} of {}", within, points.size());
  page.answer += fmt::format("{}{}: mean error {}, worst {} ({}); {} measured times within the interval",
                             page.answer.empty() ? "" : "; ", name, percent(errors.mean),
                             percent(errors.worst), errors.worst_group, of_all);
  page.devices.push_back({name, found.predictor.form.name, std::to_string(groups_of(rows)),
                          percent(errors.mean), percent(errors.median), percent(errors.worst),
                          errors.worst_group, signed_percent(std::expm1(errors.bias)), of_all,
                          percent_or_dash(found.between_runs)});
  for (const FormScore& score : found.scores) {
    if (!score.errors) {
      page.forms.push_back({name, score.name, "-", "-", "-", "-", "-", "not fitted: " + score.reason});
      continue;
    }
    page.forms.push_back({name, score.name, percent(score.errors->mean), percent(score.errors->median),
                          percent(score.errors->worst), signed_percent(std::expm1(score.errors->bias)),
                          percent_or_dash(score.by_rows), score.errors->worst_group});
  }
}

}  // namespace tandem::cli
