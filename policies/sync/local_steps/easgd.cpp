// EASGD, elastic averaging SGD (Zhang, Choromanska, LeCun, NIPS 2015). Workers keep models of their own.
// After tau local steps, a worker's model and a common centre model move towards each other: all workers
// together (the synchronous form, which decides like local SGD) or each on its own (the asynchronous form,
// like ASP).
#include "policies/sync/common/arrival_server.hpp"
#include "policies/sync/common/averaging_server.hpp"
#include "policies/sync/common/entry_parts.hpp"
#include "policies/sync/common/local_steps_worker.hpp"
#include "policies/sync/local_steps/algorithms.hpp"

namespace tandem::sync {
namespace {

int tau_steps(const Options& options) { return static_cast<int>(options.integer("tau")); }

class ElasticWorker final : public LocalStepsWorker {
 public:
  explicit ElasticWorker(const Setting& setting) : LocalStepsWorker(tau_steps(setting.options)) {}
};

UpdateRule together(const Setting& setting) {
  return ElasticTie{.pull = setting.options.real("beta") / setting.workers};
}

/// Errors: OptionError when a worker would give up its whole distance to the centre.
UpdateRule each_alone(const Setting& setting) {
  const double beta = setting.options.real("beta");
  if (beta >= setting.workers)
    throw OptionError("easgd-async", "beta",
                      "below the number of workers (" + std::to_string(setting.workers) + ")", beta);
  return ElasticTie{.pull = beta / setting.workers, .asynchronous = true};
}

std::vector<OptionSpec> elastic_options() {
  return {{.name = "tau",
           .summary = "local steps between two exchanges with the centre; default not from the paper",
           .default_value = std::int64_t{4},
           .minimum = 1,
           .maximum = 10000},
          {.name = "beta",
           .summary = "an exchange moves a worker towards the centre by beta / workers times their distance",
           .default_value = 0.9,
           .minimum = 0.0,
           .maximum = 1.0}};
}

}  // namespace

Algorithm easgd() {
  return {.name = "easgd",
          .summary = "elastic averaging: workers keep their own models, each tied to a common centre model",
          .paper = "Zhang, Choromanska, LeCun, NIPS 2015 (the synchronous form)",
          .options = elastic_options(),
          .make = {.payload = Payload::change,
                   .routes = {Route::server, Route::all_reduce},
                   .timing_driven = false,
                   .steps_per_round = tau_steps,
                   .make_worker = make_worker<ElasticWorker>,
                   .make_server = make_server<EqualAverageServer>,
                   .update_rule = together,
                   .membership = {Membership::Bears::departures_and_arrivals,
                                  by_rounds().how + "; the pull stays beta / configured workers", true}}};
}

Algorithm easgd_async() {
  return {.name = "easgd-async",
          .summary = "like easgd, but each worker exchanges with the centre without waiting for the others",
          .paper = "Zhang, Choromanska, LeCun, NIPS 2015 (the asynchronous form)",
          .options = elastic_options(),
          .make = {.payload = Payload::change,
                   .routes = {Route::server},
                   .timing_driven = true,
                   .steps_per_round = tau_steps,
                   .make_worker = make_worker<ElasticWorker>,
                   .make_server = make_server<ArrivalServer>,
                   .update_rule = each_alone,
                   .membership = {Membership::Bears::departures_and_arrivals,
                                  without_notice().how + "; the pull stays beta / configured workers"}}};
}

}  // namespace tandem::sync
