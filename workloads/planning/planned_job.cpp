#include "workloads/planning/planned_job.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <numbers>
#include <utility>

#include "policies/vocabulary/rng.hpp"
#include "workloads/job/check/run_description.hpp"
#include "workloads/priced/priced_results.hpp"
#include "workloads/records/costs.hpp"

namespace tandem::planning {
namespace {

priced::LifeSetting life_setting(const Job& job, priced::RoundTimes& rounds, std::int64_t count) {
  const priced::Prediction& all = rounds.with_first(job.roster().first_workers().size());
  return {.rounds = count,
          .waits_for_all = all.waits_for_all,
          .round = [&rounds](const std::vector<int>& slots) { return rounds.with(slots).round; },
          .work = priced::work_of_rounds(job, all),
          .most_times = most_times};
}

/// A standard normal variable is as near to 0 with this probability.
double deviations_of(double probability) {
  double low = 0.0, high = 10.0;
  for (int halving = 0; halving < 60; ++halving) {
    const double middle = 0.5 * (low + high);
    (std::erf(middle / std::numbers::sqrt2) < probability ? low : high) = middle;
  }
  return high;
}

/// Of the first worker, as of all rented ones; none: not fitted, or known without an error.
std::optional<FittedStep> fitted_step(const Job& job) {
  const FittedStep* step =
      job.devices().fitted_step(job.devices().host_of(job.roster().first_worker()).device.name);
  const bool has_interval = step != nullptr && step->confidence > 0.0 && step->lower > Seconds(0.0) &&
                            step->lower < step->upper && std::isfinite(step->upper.count());
  return has_interval ? std::optional(*step) : std::nullopt;
}

/// Of a round of the first worker: both passes and the update, which a predictor knows.
double computing_share(const Job& job, priced::RoundTimes& rounds) {
  const priced::Prediction& all = rounds.with_first(job.roster().first_workers().size());
  const priced::WorkOfRound work = priced::work_of_rounds(job, all).front();
  Seconds computing{0.0};
  for (const Phase phase : {Phase::forward, Phase::backward, Phase::update})
    computing += work.phases[static_cast<std::size_t>(phase)];
  return std::min(1.0, computing / all.round);
}

}  // namespace

PlannedJob::PlannedJob(LoadedJob loaded, const platforms::Network& of_workers, priced::RoundTimes& rounds,
                       std::int64_t round_count)
    : job_(make_job(std::move(loaded), "", of_workers)),
      lives_(job_, life_setting(job_, rounds, round_count)),
      step_(fitted_step(job_)) {
  if (step_) computing_ = computing_share(job_, rounds);
  const RunInfo all = describe_run(job_, "simulated");
  info_.world = all.world;
  info_.experiment = all.experiment;
  info_.roles = all.roles;
  info_.hosts = all.hosts;
  info_.prices = all.prices;
}

PlannedJob::Paid PlannedJob::live(std::uint64_t seed, const priced::Change& change) {
  priced::Change with_step = change;
  with_step.rounds *= factor_of(seed);
  priced::Life life = lives_.live(seed, with_step);
  info_.generations = life.generations;
  money::Ledger ledger = ledger_of(info_, life.journal, life.makespan);
  return {std::move(life), std::move(ledger)};
}

double PlannedJob::factor_of(std::uint64_t seed) const {
  if (!step_) return 1.0;
  const double z = Rng::stream(seed, "plan, step").normal() / deviations_of(step_->confidence);
  // The interval need not have the value inside.
  const double end =
      z < 0.0 ? std::min(1.0, step_->lower / step_->value) : std::max(1.0, step_->upper / step_->value);
  return 1.0 + computing_ * (std::pow(end, std::abs(z)) - 1.0);
}

std::int64_t PlannedJob::samples_of(const Paid& paid) {
  std::int64_t samples = 0;
  for (const StepRecord& steps : paid.life.journal.steps) samples += steps.samples;
  return samples;
}

Outcome PlannedJob::outcome_of(const Paid& paid) {
  const bool ended = paid.life.gave_up.empty();
  return {ended ? paid.life.makespan : Seconds(std::numeric_limits<double>::infinity()), paid.ledger.cost()};
}

}  // namespace tandem::planning
