#include "workloads/cost/step_predictor.hpp"

#include <fmt/format.h>
#include <fmt/ranges.h>

#include <algorithm>
#include <cmath>

#include "workloads/experiment/json_fields.hpp"
#include "workloads/experiment/json_file.hpp"
#include "workloads/experiment/key_error.hpp"

namespace tandem {
namespace {

constexpr double confidence_of_steps = 0.9;

/// As the file has it.
struct SeenFeature {
  std::string feature;
  double least = 0.0, most = 0.0;
};
struct DeviceDocument {
  std::optional<std::string> device, precision;
  std::optional<std::pair<double, double>> batch;
  std::vector<SeenFeature> seen;
  estimates::FittedForm form;
  std::vector<estimates::FoldOfGroup> folds;
};
struct PredictorDocument {
  std::string predictor;
  bool counts_batch = false;
  std::vector<std::string> features;
  std::vector<DeviceDocument> devices;
};

}  // namespace

template <>
struct Fields<SeenFeature> {
  static void visit(auto& seen, auto&& field) {
    field("feature", seen.feature);
    field("least", seen.least);
    field("most", seen.most);
  }
};

template <>
struct Fields<DeviceDocument> {
  static void visit(auto& of, auto&& field) {
    field("device", of.device);
    field("precision", of.precision);
    field("batch", of.batch);
    field("seen", of.seen);
    field("form", of.form);
    field("folds", of.folds);
  }
};

template <>
struct Fields<PredictorDocument> {
  static void visit(auto& document, auto&& field) {
    field("predictor", document.predictor);
    field("counts_batch", document.counts_batch);
    field("features", document.features);
    field("devices", document.devices);
  }
};

namespace {

bool are_finite(const std::vector<double>& values) {
  return std::ranges::all_of(values, [](double value) { return std::isfinite(value); });
}

bool are_times(const std::optional<estimates::LayerTimes>& times) {
  return !times || are_finite({times->flop_s, times->byte_s, times->launch_s});
}

bool is_form_of(std::size_t features, const estimates::FittedForm& form) {
  const auto is_centre = [&](const estimates::FormCentre& centre) {
    return centre.at.size() == features && are_finite(centre.at) && std::isfinite(centre.coefficient);
  };
  return std::ranges::all_of(form.centres, is_centre) && std::isfinite(form.gamma) &&
         are_times(form.layer_times) && form.least.size() == features && form.span.size() == features &&
         are_finite(form.least) && are_finite(form.span) && std::isfinite(form.floor) &&
         std::ranges::all_of(form.terms, [&](const estimates::FormTerm& term) {
           return term.powers.size() == features && std::isfinite(term.coefficient);
         });
}

bool is_predictor_of(const std::vector<std::string>& features, const DeviceDocument& of) {
  const auto is_fold = [&](const estimates::FoldOfGroup& fold) {
    return !fold.log_ratios.empty() && are_finite(fold.log_ratios) && is_form_of(features.size(), fold.form);
  };
  return is_form_of(features.size(), of.form) && !of.folds.empty() &&
         std::ranges::all_of(of.folds, is_fold) &&
         std::ranges::equal(of.seen, features, {}, &SeenFeature::feature);
}

[[noreturn]] void refuse_unknown(const StepPredictor& predictor, const std::string& needed,
                                 const std::string& remedy) {
  throw KeyError(predictor.key,
                 fmt::format("a predictor that knows {}: {}, or use no predictor", needed, remedy),
                 "'" + predictor.file + "'");
}

const PredictorOfDevice& find_predictor(const StepPredictor& predictor, const std::string& device) {
  const auto found = std::ranges::find(predictor.devices, device, &PredictorOfDevice::device);
  if (found != predictor.devices.end()) return *found;
  std::vector<std::string> known;
  for (const PredictorOfDevice& of : predictor.devices)
    known.push_back(of.device.empty() ? "one without a name" : of.device);
  refuse_unknown(predictor, fmt::format("device {} (it knows {})", device, fmt::join(known, ", ")),
                 "measure times on that device, and name the column of devices in `tandem fit --device`");
}

/// Of the model and batch, in the order of the predictor's features.
std::vector<double> values_of(const StepPredictor& predictor, int batch, const ModelFeatures& model) {
  std::vector<double> values;
  for (const std::string& feature : predictor.features) {
    const auto value = feature == "batch"
                           ? std::optional<double>(batch)
                           : feature_named(feature, model, predictor.counts_batch ? batch : 1.0);
    if (!value)
      refuse_unknown(predictor,
                     fmt::format("the job's model by features of models, not by a column '{}'", feature),
                     "fit columns that `tandem show MODEL --json` names");
    values.push_back(*value);
  }
  return values;
}

/// `subject`: of `tandem fit`.
StepPredictor load_predictor(const std::string& file, const std::string& subject, const std::string& of,
                             const std::string& key) {
  auto document = read_fields<PredictorDocument>(
      read_json_file(file, "a predictor that `tandem fit " + subject + "` wrote"), file);
  if (document.predictor != subject)
    throw ConfigError(fmt::format("{}: /predictor: expected '{}', a predictor of {} for {}, found '{}'", file,
                                  subject, of, key, document.predictor));
  StepPredictor found{.file = file,
                      .key = key,
                      .features = std::move(document.features),
                      .counts_batch = document.counts_batch,
                      .devices = {}};
  for (DeviceDocument& of : document.devices) {
    if (!is_predictor_of(found.features, of))
      throw ConfigError(
          fmt::format("{}: /devices/{}: expected forms and ranges of the features {}, found "
                      "others; run `tandem fit {}` again",
                      file, found.devices.size(), fmt::join(found.features, ", "), subject));
    PredictorOfDevice& own = found.devices.emplace_back();
    own.device = of.device.value_or("");
    own.precision = of.precision.value_or("");
    own.batch = of.batch;
    own.predictor.form = std::move(of.form);
    own.predictor.folds = std::move(of.folds);
    for (const SeenFeature& seen : of.seen) {
      own.predictor.least.push_back(seen.least);
      own.predictor.most.push_back(seen.most);
    }
  }
  return found;
}

FittedStep predict_inside(const StepPredictor& predictor, const PredictorOfDevice& of,
                          const std::string& device, int batch, const ModelFeatures& model) {
  const auto values = values_of(predictor, batch, model);
  if (const std::string outside = outside_text(predictor.features, of.predictor, values); !outside.empty())
    refuse_unknown(predictor, fmt::format("such a model on device {} ({})", device, outside),
                   "measure larger and smaller models");
  const double samples = predictor.counts_batch ? batch : 1.0;
  const auto time = of.predictor.predict({values, layers_of(model, samples)}, confidence_of_steps);
  if (!(time.value > 0.0) || !std::isfinite(time.value))
    throw ConfigError(fmt::format("{}: expected a time above 0 on device {}, found {:g} s", predictor.file,
                                  device, time.value));
  return {Seconds(time.value), Seconds(time.lower), Seconds(time.upper),
          std::min(confidence_of_steps, of.predictor.most_confidence())};
}

}  // namespace

StepPredictor load_step_predictor(const std::string& file) {
  return load_predictor(file, "speed", "step times", "physics.predictor");
}

StepPredictor load_commit_predictor(const std::string& file) {
  return load_predictor(file, "checkpoint", "times of checkpoints", "physics.commit_predictor");
}

FittedStep predict_checkpoint(const StepPredictor& predictor, const std::string& device,
                              const ModelFeatures& model) {
  const bool is_of_all = predictor.devices.size() == 1 && predictor.devices.front().device.empty();
  return predict_inside(predictor, is_of_all ? predictor.devices.front() : find_predictor(predictor, device),
                        device, 1, model);
}

FittedStep predict_step(const StepPredictor& predictor, const std::string& device, Precision precision,
                        int batch, const ModelFeatures& model) {
  const PredictorOfDevice& of = find_predictor(predictor, device);
  if (of.precision != to_text(precision))
    refuse_unknown(predictor,
                   fmt::format("{} on device {} (it knows {})", to_text(precision), device,
                               of.precision.empty() ? "no precision" : of.precision),
                   "measure steps in that precision, and state it in the table's column precision");
  if (!of.batch || batch < of.batch->first || batch > of.batch->second)
    refuse_unknown(predictor,
                   fmt::format("batch {} on device {} (it knows {})", batch, device,
                               of.batch ? fmt::format("{:g} to {:g}", of.batch->first, of.batch->second)
                                        : std::string("no batch")),
                   "measure steps of that batch, and state it in the table's column batch");
  return predict_inside(predictor, of, device, batch, model);
}

std::string outside_text(const std::vector<std::string>& features, const estimates::Predictor& predictor,
                         const std::vector<double>& values) {
  const auto outside = predictor.outside(values);
  if (!outside) return "";
  return fmt::format("{} is {:g}, but was {:g} to {:g} where it was measured", features[*outside],
                     values[*outside], predictor.least[*outside], predictor.most[*outside]);
}

}  // namespace tandem
