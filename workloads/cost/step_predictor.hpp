// Predictors of the times of steps and of checkpoints, which `tandem fit speed` and `tandem fit checkpoint`
// write: what a file knows, and how long a step of a model, or a write of it, takes by it.
#pragma once

#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "policies/estimates/group_folds.hpp"
#include "policies/vocabulary/choices.hpp"
#include "policies/vocabulary/units.hpp"
#include "workloads/experiment/field_kinds.hpp"
#include "workloads/model/features.hpp"

namespace tandem {

struct PredictorOfDevice {
  std::string device;                              ///< empty: not known
  std::string precision;                           ///< empty: not known
  std::optional<std::pair<double, double>> batch;  ///< least and most; none: not known
  estimates::Predictor predictor;
};

struct StepPredictor {
  std::string file;
  std::string key;                    ///< of experiments, that names the file
  std::vector<std::string> features;  ///< as `tandem show MODEL --json` names them, or "batch"
  bool counts_batch = false;          ///< features are those of a whole batch, not of one sample
  std::vector<PredictorOfDevice> devices;
};

/// A step of the whole batch: both passes and the optimiser. Or a checkpoint of the model.
struct FittedStep {
  Seconds value, lower, upper;  ///< the interval is that of estimates::Predictor::predict
  double confidence;            ///< of the interval: at most n / (n + 1) with n groups
};

/// Errors: ConfigError with file and key for a file that `tandem fit speed` did not write.
StepPredictor load_step_predictor(const std::string& file);
/// The same of `tandem fit checkpoint`.
StepPredictor load_commit_predictor(const std::string& file);

/// Errors: KeyError of physics.predictor for a device, a precision, a batch or features that were not
/// measured.
FittedStep predict_step(const StepPredictor& predictor, const std::string& device, Precision precision,
                        int batch, const ModelFeatures& model);

/// Of a predictor without devices, for all devices. Errors: KeyError of physics.commit_predictor for a device
/// or features that were not measured.
FittedStep predict_checkpoint(const StepPredictor& predictor, const std::string& device,
                              const ModelFeatures& model);

/// "launches is 12, but was 20 to 300 where it was measured"; empty: all features are inside.
std::string outside_text(const std::vector<std::string>& features, const estimates::Predictor& predictor,
                         const std::vector<double>& values);

template <>
struct Fields<estimates::FormTerm> {
  static void visit(auto& term, auto&& field) {
    field("powers", term.powers);
    field("coefficient", term.coefficient);
  }
};

template <>
struct Fields<estimates::FormCentre> {
  static void visit(auto& centre, auto&& field) {
    field("at", centre.at);
    field("coefficient", centre.coefficient);
  }
};

template <>
struct Fields<estimates::LayerTimes> {
  static void visit(auto& times, auto&& field) {
    field("flop_s", times.flop_s);
    field("byte_s", times.byte_s);
    field("launch_s", times.launch_s);
  }
};

template <>
struct Fields<estimates::FittedForm> {
  static void visit(auto& form, auto&& field) {
    field("name", form.name);
    field("logarithmic", form.is_logarithmic);
    field("least", form.least);
    field("span", form.span);
    field("terms", form.terms);
    field("centres", form.centres, Key::optional);
    field("gamma", form.gamma, Key::optional);
    field("layers", form.layer_times, Key::optional);
    field("floor_s", form.floor);
    field("condition", form.condition);
  }
};

template <>
struct Fields<estimates::FoldOfGroup> {
  static void visit(auto& fold, auto&& field) {
    field("group", fold.group);
    field("log_ratios", fold.log_ratios);
    field("form", fold.form);
  }
};

}  // namespace tandem
