#include "policies/sync/asynchronous/dc_asgd.hpp"

namespace tandem::sync {
namespace {

OptionSpec lambda_option(double default_value) {
  return {.name = "lambda",
          .summary = "how much of the drift is corrected; 0 is asp",
          .default_value = default_value,
          .minimum = 0.0};
}

}  // namespace

UpdateRule dc_asgd_update(const Setting& setting) {
  return DelayCompensation{.lambda = setting.options.real("lambda")};
}

UpdateRule dc_asgd_adaptive_update(const Setting& setting) {
  return DelayCompensation{
      .lambda = setting.options.real("lambda"), .adaptive = true, .memory = setting.options.real("memory")};
}

UpdateRule dc_asgd_mxnet_update(const Setting& setting) {
  return DelayCompensation{.since = DelayCompensation::Since::last_update,
                           .lambda = setting.options.real("lambda")};
}

std::vector<OptionSpec> dc_asgd_options() { return {lambda_option(0.04)}; }

std::vector<OptionSpec> dc_asgd_adaptive_options() {
  return {lambda_option(2.0),
          {.name = "memory",
           .summary = "share of the past in the running mean of squared gradients",
           .default_value = 0.95,
           .minimum = 0.0,
           .maximum = 0.9999}};
}

}  // namespace tandem::sync
