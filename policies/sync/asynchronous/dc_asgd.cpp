// DC-ASGD, delay-compensated asynchronous SGD (Zheng et al., ICML 2017). Decides like ASP, but corrects each
// gradient, to first order, for how far the model has moved since the gradient was computed.
#include <string>
#include <utility>

#include "policies/sync/asynchronous/algorithms.hpp"
#include "policies/sync/common/arrival_server.hpp"
#include "policies/sync/common/entry_parts.hpp"

namespace tandem::sync {
namespace {

OptionSpec lambda_option(double default_value, const std::string& unit) {
  return {.name = "lambda",
          .summary = "strength of the correction, " + unit + "; 0 is asp",
          .default_value = default_value,
          .minimum = 0.0};
}

Factory compensated(UpdateRule (*update_rule)(const Setting&)) {
  Factory make = gradients_answered_at_once<ArrivalServer>();
  make.update_rule = update_rule;
  return make;
}

UpdateRule fixed(const Setting& setting) {
  return DelayCompensation{.lambda = setting.options.real("lambda")};
}

UpdateRule adaptive(const Setting& setting) {
  return DelayCompensation{
      .lambda = setting.options.real("lambda"), .adaptive = true, .memory = setting.options.real("memory")};
}

/// For the sum s of B gradients with the mean g, s + lambda s s d is B (g + lambda B g g d).
UpdateRule since_last_update(const Setting& setting) {
  const int factor = setting.sums_gradients ? 1 : setting.batch;
  return DelayCompensation{.since = DelayCompensation::Since::last_update,
                           .lambda = setting.options.real("lambda") * factor};
}

}  // namespace

Algorithm dc_asgd() {
  return {.name = "dc-asgd",
          .summary = "like asp, but each gradient is corrected for the model's change since it was computed",
          .paper = "Zheng et al., ICML 2017",
          .options = {lambda_option(0.04, "for gradients that are means over a batch")},
          .make = compensated(fixed)};
}

Algorithm dc_asgd_adaptive() {
  return {.name = "dc-asgd-adaptive",
          .summary = "like dc-asgd, with a correction that is weaker where gradients are large",
          .paper = "Zheng et al., ICML 2017",
          .options = {lambda_option(2.0, "the same for means and for sums over a batch"),
                      {.name = "memory",
                       .summary = "weight of the past in the running mean of squared gradients",
                       .default_value = 0.95,
                       .minimum = 0.0,
                       .maximum = 0.9999}},
          .make = compensated(adaptive)};
}

/// As in MXNet: the correction is for the last update, not for all updates since this worker's pull.
Algorithm dc_asgd_mxnet() {
  return {
      .name = "dc-asgd-mxnet",
      .summary = "dc-asgd as in MXNet: corrects for the last update only, by any worker",
      .paper = "MXNet's optimizer DCASGD; Zheng et al., ICML 2017",
      .options = {lambda_option(
          0.04,
          "for gradients that are sums over a batch, as in MXNet: mean gradients get batch times as much")},
      .make = compensated(since_last_update)};
}

}  // namespace tandem::sync
