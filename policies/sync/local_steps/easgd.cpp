#include "policies/sync/local_steps/easgd.hpp"

#include "policies/sync/common/averaging_server.hpp"
#include "policies/sync/local_steps/local_sgd.hpp"

namespace tandem::sync {

std::unique_ptr<WorkerPolicy> make_easgd_worker(const Setting& setting, int) {
  return make_local_steps_worker(easgd_steps(setting.options));
}

std::unique_ptr<ServerPolicy> make_easgd_server(const Setting& setting) {
  return std::make_unique<AveragingServer>(setting.workers, "uniform");
}

UpdateRule easgd_update(const Setting& setting) {
  return ElasticTie{.pull = setting.options.real("beta") / setting.workers};
}

UpdateRule easgd_async_update(const Setting& setting) {
  const double beta = setting.options.real("beta");
  if (beta >= setting.workers)
    throw OptionError("easgd-async", "beta",
                      "below the number of workers (" + std::to_string(setting.workers) + ")", beta);
  return ElasticTie{.pull = beta / setting.workers, .asynchronous = true};
}

int easgd_steps(const Options& options) { return static_cast<int>(options.integer("tau")); }

std::vector<OptionSpec> easgd_options() {
  return {
      {.name = "tau",
       .summary = "local steps between elastic steps; this project's default",
       .default_value = std::int64_t{4},
       .minimum = 1,
       .maximum = 10000},
      {.name = "beta",
       .summary = "strength of the tie: a worker gives up this over the number of workers of its distance "
                  "to the centre",
       .default_value = 0.9,
       .minimum = 0.0,
       .maximum = 1.0}};
}

}  // namespace tandem::sync
