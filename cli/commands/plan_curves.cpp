#include "cli/commands/plan_curves.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <nlohmann/json.hpp>

#include "policies/vocabulary/check.hpp"
#include "validation/report/results_page.hpp"
#include "workloads/records/format.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem::cli {
namespace {

using nlohmann::json;
using planning::AccuracyCurve;

/// Keys that decide how accurate a model is after so many samples of so many workers.
constexpr std::array keys = {"workload/model",
                             "workload/dataset",
                             "workload/dataset_options",
                             "workload/train_samples",
                             "workload/test_samples",
                             "workload/image_size",
                             "workload/batch",
                             "workload/initial",
                             "workload/precision",
                             "sync/algorithm",
                             "sync/options",
                             "sync/compression",
                             "sync/compression_options",
                             "data/split",
                             "data/split_options",
                             "data/sampling",
                             "data/sampling_options",
                             "data/augment",
                             "optimizer"};

/// "workload.batch 32, not 64": the first key in which a trained job is another one; empty: none.
std::string difference(const json& trained, const json& planned) {
  for (const char* key : keys) {
    const json::json_pointer at(std::string("/") + key);
    if (trained.at(at) == planned.at(at)) continue;
    std::string name = key;
    std::ranges::replace(name, '/', '.');
    const bool is_short = !trained.at(at).is_structured();
    return is_short ? fmt::format("{} {}, not {}", name, trained.at(at).dump(), planned.at(at).dump()) : name;
  }
  return "";
}

std::vector<AccuracyCurve::Point> points_of(const std::vector<EvaluationRecord>& evaluations) {
  std::vector<AccuracyCurve::Point> points;
  for (const EvaluationRecord& one : evaluations)
    if (std::isfinite(one.accuracy) && one.samples > 0) points.push_back({one.samples, one.accuracy});
  std::ranges::sort(points, {}, &AccuracyCurve::Point::samples);
  return points;
}

}  // namespace

std::size_t PlanCurves::count() const {
  std::size_t sum = 0;
  for (const auto& curves : of_ways) sum += curves.size();
  return sum;
}

std::string PlanCurves::best() const {
  const AccuracyCurve* most = nullptr;
  for (const auto& curves : of_ways)
    for (const AccuracyCurve& curve : curves)
      if (most == nullptr || best_of(curve).accuracy > best_of(*most).accuracy) most = &curve;
  const AccuracyCurve::Point point = best_of(*most);
  return fmt::format("{} after {} samples ({}, {} worker{})", three_digits(point.accuracy),
                     with_separators(point.samples), most->source, most->workers,
                     most->workers == 1 ? "" : "s");
}

bool PlanCurves::reach(double target) const {
  return std::ranges::any_of(of_ways, [&](const auto& curves) {
    return std::ranges::any_of(
        curves, [&](const AccuracyCurve& curve) { return reached(curve, target).has_value(); });
  });
}

PlanCurves read_curves(const std::string& folder, const std::vector<planning::Way>& ways) {
  for (const planning::Way& way : ways)
    if (const auto& optimizer = way.loaded.experiment.optimizer;
        optimizer.schedule == RateDecay::cosine && optimizer.cosine_rounds == 0)
      throw ConfigError(
          "optimizer.cosine_rounds: expected a number with --curves, because the rates of a job of other "
          "length "
          "are others, found '0'");
  PlanCurves found{.of_ways = std::vector<std::vector<AccuracyCurve>>(ways.size()), .unlike = {}};
  for (const auto& row : validation::list_results(folder).results) {
    const std::string path = folder + '/' + row.path;
    AccuracyCurve curve{.source = path, .points = points_of(read_summary(path).evaluations)};
    if (curve.points.empty()) continue;
    const Experiment trained = read_run_info(path).experiment;
    const Experiment::Placement& placement = trained.placement;
    curve.workers =
        placement.worker_count > 0 ? placement.worker_count : static_cast<int>(placement.workers.size());
    const json document = to_json(trained);
    bool is_used = false;
    std::string why;
    for (std::size_t way = 0; way < ways.size(); ++way) {
      const std::string other = difference(document, to_json(ways[way].loaded.experiment));
      if (why.empty()) why = other;
      if (!other.empty()) continue;
      found.of_ways[way].push_back(curve);
      is_used = true;
    }
    if (!is_used && found.unlike.empty()) found.unlike = path + " has " + why;
  }
  if (found.count() == 0)
    throw ConfigError("--curves " + folder +
                      ": expected results of this job with accuracies (workload.math: real), found " +
                      (found.unlike.empty() ? "none with accuracies" : "others: " + found.unlike));
  return found;
}

}  // namespace tandem::cli
