#include "policies/estimates/support_vectors.hpp"

#include <libsvm/svm.h>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <limits>
#include <map>
#include <memory>
#include <string>
#include <utility>

#include "policies/estimates/form_parts.hpp"
#include "policies/vocabulary/check.hpp"
#include "policies/vocabulary/quantile.hpp"

namespace tandem::estimates {
namespace {

using Points = std::vector<FormPoint>;
using Vector = std::vector<double>;

constexpr std::size_t inner_folds = 4;
/// Each fold of a fold searches the grid, and the time of one search grows faster than the square of its
/// points.
constexpr std::size_t most_support_points = 40;

/// Names of libsvm: C, gamma, p.
struct SvrSetting {
  double cost, gamma, tolerance;
};

/// Of features from 0 to 1 and logarithms of times: tolerances are relative errors.
std::vector<SvrSetting> svr_grid() {
  std::vector<SvrSetting> grid;
  for (const double gamma : {0.03, 0.3})
    for (const double cost : {10.0, 100.0})
      for (const double tolerance : {0.03, 0.01}) grid.push_back({cost, gamma, tolerance});
  return grid;
}

struct FreeSvm {
  void operator()(svm_model* model) const { svm_free_and_destroy_model(&model); }
};

/// Features in libsvm's form: an entry for each, from index 1 on, and an end with index -1.
std::vector<svm_node> nodes_of(const Vector& features) {
  std::vector<svm_node> nodes;
  for (std::size_t i = 0; i < features.size(); ++i)
    nodes.push_back({.index = static_cast<int>(i) + 1, .value = features[i]});
  nodes.push_back({.index = -1, .value = 0.0});
  return nodes;
}

/// Points of libsvm, and a fit of them.
class SupportVectors {
 public:
  void add(const Vector& features, double value) {
    nodes_.push_back(nodes_of(features));
    values_.push_back(value);
  }

  void fit(const SvrSetting& setting) {
    // Of libsvm's search, in logarithms of times. A fifth of it takes longer and predicts no better.
    constexpr double stop = 5e-3;
    constexpr double cache_mb = 1.0;
    rows_.clear();
    for (std::vector<svm_node>& nodes : nodes_) rows_.push_back(nodes.data());
    const svm_problem problem{static_cast<int>(values_.size()), values_.data(), rows_.data()};
    svm_parameter parameter{};
    parameter.svm_type = EPSILON_SVR;
    parameter.kernel_type = RBF;
    parameter.gamma = setting.gamma;
    parameter.cache_size = cache_mb;
    parameter.eps = stop;
    parameter.C = setting.cost;
    parameter.p = setting.tolerance;
    parameter.shrinking = 1;
    const char* wrong = svm_check_parameter(&problem, &parameter);
    TANDEM_CHECK(wrong == nullptr, std::string(wrong == nullptr ? "" : wrong));
    svm_set_print_string_function([](const char*) {});
    model_.reset(svm_train(&problem, &parameter));
  }

  /// Pre: fitted.
  double predict(const Vector& features) const {
    return svm_predict(model_.get(), nodes_of(features).data());
  }

  /// Pre: fitted.
  std::vector<FormCentre> centres() const {
    std::vector<FormCentre> found;
    for (int i = 0; i < model_->l; ++i) {
      FormCentre& centre = found.emplace_back();
      for (const svm_node* node = model_->SV[i]; node->index != -1; ++node) centre.at.push_back(node->value);
      centre.coefficient = model_->sv_coef[0][i];
    }
    return found;
  }
  double constant() const { return -model_->rho[0]; }

 private:
  std::vector<std::vector<svm_node>> nodes_;
  std::vector<svm_node*> rows_;
  Vector values_;
  std::unique_ptr<svm_model, FreeSvm> model_;  ///< refers to the nodes
};

/// Readings of one network.
Points medians_of(const Points& points) {
  std::map<std::pair<std::string, Vector>, Vector> values;
  for (const FormPoint& point : points) values[{point.group, point.input.features}].push_back(point.value);
  Points medians;
  for (const auto& [key, measured] : values)
    medians.push_back({.input = {key.second}, .value = quantile(measured, 0.5), .group = key.first});
  return medians;
}

/// By point; groups stay together.
std::vector<std::size_t> inner_folds_of(const Points& points) {
  std::map<std::string, std::size_t> fold_of_group;
  std::vector<std::size_t> folds;
  for (const FormPoint& point : points)
    folds.push_back(fold_of_group.emplace(point.group, fold_of_group.size() % inner_folds).first->second);
  return folds;
}

/// Mean relative error of points that a fit has not seen.
double svr_error(const SvrSetting& setting, const Points& points, const std::vector<Vector>& features,
                 const std::vector<std::size_t>& folds) {
  double sum = 0.0;
  for (std::size_t fold = 0; fold < inner_folds; ++fold) {
    SupportVectors vectors;
    for (std::size_t i = 0; i < points.size(); ++i)
      if (folds[i] != fold) vectors.add(features[i], std::log(points[i].value));
    vectors.fit(setting);
    for (std::size_t i = 0; i < points.size(); ++i)
      if (folds[i] == fold) sum += std::abs(std::exp(vectors.predict(features[i])) / points[i].value - 1.0);
  }
  return sum / static_cast<double>(points.size());
}

}  // namespace

FormResult fit_support_vectors(const Points& points) {
  if (!are_above_zero(points)) return {std::nullopt, not_above_zero};
  if (count_groups(points) < least_groups) return {std::nullopt, too_few_groups};
  const Points medians = medians_of(points);
  if (medians.size() > most_support_points)
    return {std::nullopt, "more than " + std::to_string(most_support_points) + " points"};
  FittedForm form = empty_form("svr", medians);
  form.is_logarithmic = true;
  scale_to(form, medians);
  std::vector<Vector> features;
  for (const FormPoint& point : medians) features.push_back(scaled(form, point.input.features));
  const std::vector<std::size_t> folds = inner_folds_of(medians);
  SvrSetting best{};
  double least = std::numeric_limits<double>::infinity();
  for (const SvrSetting& setting : svr_grid()) {
    const double error = svr_error(setting, medians, features, folds);
    if (!(error < least)) continue;
    least = error;
    best = setting;
  }
  SupportVectors vectors;
  for (std::size_t i = 0; i < medians.size(); ++i) vectors.add(features[i], std::log(medians[i].value));
  vectors.fit(best);
  form.centres = vectors.centres();
  form.gamma = best.gamma;
  form.terms = {{std::vector<int>(form.least.size(), 0), vectors.constant()}};
  return {std::move(form), ""};
}

}  // namespace tandem::estimates
