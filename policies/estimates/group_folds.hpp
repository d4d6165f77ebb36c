// Judges forms by the groups (networks, devices) that a fit has not seen, chooses one, and predicts with
// intervals. Readings of one run are no independent rows: folds over rows measure how well a table can be
// looked up. Pure.
// Sources: Barber, Candes, Ramdas, Tibshirani: Predictive inference with the jackknife+. Annals of Statistics
// 49(1), 2021; Lee, Barber, Willett: Distribution-free inference with hierarchical data. arXiv:2306.06342,
// 2023 (jackknife+ whose points come in groups: each group counts once, however many points it has); Varma,
// Simon: Bias in error estimation when using cross-validation for model selection. BMC Bioinformatics 7, 2006
// (the choice belongs into the fold).
#pragma once

#include <cstddef>
#include <optional>
#include <string>
#include <vector>

#include "policies/estimates/forms.hpp"

namespace tandem::estimates {

/// A row of a table.
struct Reading {
  FormPoint point;
  std::string run;  ///< readings of one run share its machine and hour
};

/// Of predicted over measured times, by group: |ratio - 1|.
struct GroupErrors {
  double mean = 0.0, median = 0.0, worst = 0.0;
  std::string worst_group;
  double bias = 0.0;  ///< mean logarithm of the ratio
};

struct FormScore {
  std::string name;
  std::optional<GroupErrors> errors;  ///< each group predicted without it; none: see `reason`
  std::optional<double> by_rows;      ///< mean error with folds over rows; none: no group has two rows
  double condition = 1.0;             ///< of all points
  std::string reason;                 ///< why it cannot be fitted
};

/// A form that was chosen and fitted without a group, and what it says of that group's points.
struct FoldOfGroup {
  std::string group;
  FittedForm form;
  std::vector<double> log_ratios;  ///< of measured over predicted times
};

struct Predictor {
  FittedForm form;                  ///< of all points
  std::vector<FoldOfGroup> folds;   ///< for intervals
  std::vector<double> least, most;  ///< by feature: what was seen

  struct Time {
    double value, lower, upper;
  };
  /// The first feature that lies outside what was seen; none: all inside.
  std::optional<std::size_t> outside(const std::vector<double>& features) const;
  /// By hierarchical jackknife+ (see above), for a point of a new group: about `confidence` of them, and at
  /// least 2 confidence - 1, whatever the distribution of the errors, if the new group and those that were
  /// seen are drawn alike. Above most_confidence() that. Pre: 0 < confidence < 1; features not outside;
  /// layers, if a form of layers could be fitted.
  Time predict(const FormInput& input, double confidence) const;
  /// With n groups n / (n + 1), however many points they have.
  double most_confidence() const;
};

struct Evaluation {
  std::vector<FormScore> scores;  ///< in the order of forms()
  GroupErrors chosen_inside;      ///< with a form chosen again without each group: the honest error
  double look_up = 0.0;           ///< mean error of the nearest row of another group
  std::optional<double> look_up_by_rows;
  std::optional<double> within_runs;   ///< mean |reading / median - 1|; none: each run has one reading
  std::optional<double> between_runs;  ///< the same of medians of runs; none: no point has two runs
  Predictor predictor;

  /// Folds over rows are far better than folds by group and no better than looking rows up.
  bool is_leaking() const;
};

/// What the points of a group took, and what a fit without the group says of them.
struct HeldOut {
  std::string group;
  double measured = 0.0;  ///< median of the readings
  Predictor::Time predicted = {};
};
/// Every point of every group. The interval is the prediction times and over the quantile of the errors of
/// the other groups' points (see Predictor::predict), so that its own error has no part in it. Pre: `found`
/// is the evaluation of these readings.
std::vector<HeldOut> held_out(const std::vector<Reading>& readings, const Evaluation& found,
                              double confidence);

/// The form with the least mean error; a simpler one that is worse by no more than the spread between runs is
/// preferred. Points are medians of the readings of a group with equal features. Pre: readings of at least
/// three groups, all with equally many features.
Evaluation evaluate_forms(const std::vector<Reading>& readings);

}  // namespace tandem::estimates
