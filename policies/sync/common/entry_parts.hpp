// Parts of catalogue entries that several algorithms share.
#pragma once

#include <memory>
#include <string>
#include <type_traits>
#include <utility>

#include "policies/sync/common/gradient_worker.hpp"
#include "policies/sync/policy.hpp"

namespace tandem::sync {

/// Makes a server policy, which is constructed from the setting.
template <class Server>
std::unique_ptr<ServerPolicy> make_server(const Setting& setting) {
  return std::make_unique<Server>(setting);
}

/// Makes a worker policy, which is constructed from the setting, and from the worker's index if it uses it.
template <class Worker>
std::unique_ptr<WorkerPolicy> make_worker(const Setting& setting, int worker) {
  if constexpr (std::is_constructible_v<Worker, const Setting&, int>)
    return std::make_unique<Worker>(setting, worker);
  else
    return std::make_unique<Worker>(setting);
}

/// Local steps of a round.
inline int one_step(const Options&) { return 1; }
inline int varying_steps(const Options&) { return 0; }
/// The value of option "h".
inline int h_steps(const Options& options) { return static_cast<int>(options.integer("h")); }

/// Membership of algorithms with rounds and a barrier.
inline Membership by_rounds() {
  return {Membership::Bears::departures_and_arrivals,
          "a round ends without a worker that left, and waits for a newcomer from the next round on", true};
}
inline Membership without_notice() {
  return {Membership::Bears::departures_and_arrivals, "the others do not notice"};
}
inline Membership by_clocks() {
  return {Membership::Bears::departures_and_arrivals,
          "the bound counts from the slowest worker present; a newcomer starts at its clock"};
}

/// Workers push the gradient of every step through the server, which decides in the order of arrival.
template <class Server>
Factory gradients_by_arrival(Membership membership) {
  return {.payload = Payload::gradient,
          .routes = {Route::server},
          .timing_driven = true,
          .steps_per_round = one_step,
          .make_worker = make_worker<GradientWorker>,
          .make_server = make_server<Server>,
          .membership = std::move(membership)};
}

/// The same, if each push is applied at once, and all alike.
template <class Server>
Factory gradients_applied_at_once(Membership membership) {
  Factory make = gradients_by_arrival<Server>(std::move(membership));
  make.decides_by_part = true;
  return make;
}

/// The same, and every push is answered at once.
template <class Server>
Factory gradients_answered_at_once() {
  Factory make = gradients_by_arrival<Server>(without_notice());
  make.is_free_running = true;
  return make;
}

/// Stops steps whose gradients would be dropped.
inline OptionSpec cancel_option() {
  return {.name = "cancel",
          .summary = "stop the steps whose gradients would be dropped, instead of finishing them",
          .default_value = false};
}
/// The same factory for an algorithm that has a cancel_option.
inline Factory with_cancel(Factory make) {
  make.cancels = [](const Options& options) { return options.boolean("cancel"); };
  return make;
}

/// A number of gradients or updates whose default is the number of workers.
inline OptionSpec count_option(const std::string& name, const std::string& summary) {
  return {.name = name,
          .summary = summary + "; 0: the number of workers",
          .default_value = std::int64_t{0},
          .minimum = 0};
}
/// The value of a count_option.
inline std::int64_t count_of(const Setting& setting, const std::string& option) {
  const std::int64_t value = setting.options.integer(option);
  return value == 0 ? setting.workers : value;
}

}  // namespace tandem::sync
