// Local SGD with an outer optimiser: the mean change of a round is the gradient of an optimiser with
// momentum. FedAvg, SlowMo and DiLoCo are this algorithm with different defaults.
#pragma once

#include <string>
#include <variant>

#include "policies/sync/common/averaging_server.hpp"
#include "policies/sync/common/entry_parts.hpp"
#include "policies/sync/common/local_steps_worker.hpp"
#include "policies/sync/policy.hpp"

namespace tandem::sync {

/// Exchanges after as many local steps as option "h" says.
class FixedStepsWorker final : public LocalStepsWorker {
 public:
  explicit FixedStepsWorker(const Setting& setting)
      : LocalStepsWorker(h_steps(setting.options), setting.options.text("weights")) {}
};

/// Workers exchange their changes every "h" local steps, and all wait for the mean.
inline Factory changes_every_h_steps(UpdateRule (*update_rule)(const Setting&)) {
  return {.payload = Payload::change,
          .routes = {Route::server, Route::all_reduce},
          .timing_driven = false,
          .steps_per_round = h_steps,
          .make_worker = make_worker<FixedStepsWorker>,
          .make_server = make_server<WeightedAverageServer>,
          .update_rule = update_rule,
          .membership = by_rounds()};
}

/// Defaults of the options; every algorithm of this kind has all of them.
struct OuterDefaults {
  std::int64_t h = 1;
  double rate = 1.0;
  double momentum = 0.0;
  bool nesterov = false;
  std::string weights = "uniform";
};

/// The options of the outer step alone.
inline std::vector<OptionSpec> outer_step_options(const OuterDefaults& defaults) {
  return {{.name = "outer_rate",
           .summary = "factor on the outer step; alpha in SlowMo",
           .default_value = defaults.rate,
           .minimum = 0.0},
          {.name = "outer_momentum",
           .summary = "momentum of the outer step; beta in SlowMo",
           .default_value = defaults.momentum,
           .minimum = 0.0,
           .maximum = 0.9999},
          {.name = "nesterov",
           .summary = "use Nesterov momentum in the outer step",
           .default_value = defaults.nesterov}};
}

inline std::vector<OptionSpec> outer_options(const OuterDefaults& defaults) {
  std::vector<OptionSpec> options = outer_step_options(defaults);
  options.insert(options.begin(), OptionSpec{.name = "h",
                                             .summary = "local steps of a round",
                                             .default_value = defaults.h,
                                             .minimum = 1});
  options.push_back(weights_option());
  options.back().default_value = defaults.weights;
  return options;
}

inline UpdateRule outer_update(const Setting& setting) {
  return OuterMomentum{.rate = setting.options.real("outer_rate"),
                       .momentum = setting.options.real("outer_momentum"),
                       .nesterov = setting.options.boolean("nesterov")};
}

}  // namespace tandem::sync
