#include "workloads/priced/speed_check.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>

#include "workloads/records/format.hpp"

namespace tandem::priced {
namespace {

constexpr double tolerance = 0.1;

/// Computing time per worker and step, the mean of all workers.
double computing_s(const Prediction& found) {
  double sum_s = 0.0;
  std::size_t workers = 0;
  for (const WorkerTimes& of : found.classes) {
    sum_s += (of.computing() + of.update_after).count() / of.steps * static_cast<double>(of.workers.size());
    workers += of.workers.size();
  }
  return workers == 0 ? 0.0 : sum_s / static_cast<double>(workers);
}

double computing_s(const Summary& measured) {
  double sum_s = 0.0;
  for (const char* name : {"load", "forward", "backward", "update"})
    if (const auto phase = measured.phases.find(name); phase != measured.phases.end())
      sum_s += phase->second.mean_s;
  return sum_s;
}

std::string times_text(double seconds) { return with_unit(seconds, Unit::seconds); }

std::string suspicion(const Prediction& found, const SpeedCheck& check, double measured_computing_s) {
  const double predicted_s = computing_s(found);
  const double excess_s = check.measured_s - check.predicted_s;
  if (measured_computing_s - predicted_s > excess_s / 2)
    return fmt::format("computing takes {} instead of {}: the devices are suspected",
                       times_text(measured_computing_s), times_text(predicted_s));
  const auto limit =
      std::ranges::find_if(found.limits, [](const Limit& of) { return of.of != Limit::Of::workers; });
  return fmt::format("exchange and waiting take {} instead of {}: suspected {}",
                     times_text(std::max(0.0, check.measured_s - measured_computing_s)),
                     times_text(std::max(0.0, check.predicted_s - predicted_s)),
                     limit == found.limits.end() ? "the network" : "is " + limit->name);
}

}  // namespace

SpeedCheck check_speed(const Prediction& found, const Summary& measured) {
  SpeedCheck check{.predicted_s = found.round.count() / found.steps_per_round,
                   .measured_s = measured.step_time.mean,
                   .is_slow = false,
                   .text = {}};
  check.is_slow = check.measured_s > (1 + tolerance) * check.predicted_s;
  check.text = fmt::format("{} per step after the warm-up, predicted {} in closed form ({})",
                           times_text(check.measured_s), times_text(check.predicted_s),
                           signed_percent(check.measured_s / check.predicted_s - 1));
  if (check.is_slow) check.text += "; " + suspicion(found, check, computing_s(measured));
  if (!found.limits.empty() && found.limits.front().of != Limit::Of::workers)
    check.text += fmt::format("; by the prediction, {} binds", found.limits.front().name);
  if (found.servers_needed > 0)
    check.text += fmt::format(", and would not from {} servers on", found.servers_needed);
  return check;
}

}  // namespace tandem::priced
