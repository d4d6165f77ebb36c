#include "workloads/planning/planned_job.hpp"

#include <limits>
#include <utility>

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

}  // namespace

PlannedJob::PlannedJob(LoadedJob loaded, const platforms::Network& of_workers, priced::RoundTimes& rounds,
                       std::int64_t round_count)
    : job_(make_job(std::move(loaded), "", of_workers)),
      lives_(job_, life_setting(job_, rounds, round_count)) {
  const RunInfo all = describe_run(job_, "simulated");
  info_.world = all.world;
  info_.experiment = all.experiment;
  info_.roles = all.roles;
  info_.hosts = all.hosts;
  info_.prices = all.prices;
}

PlannedJob::Paid PlannedJob::live(std::uint64_t seed, const priced::Change& change) {
  priced::Life life = lives_.live(seed, change);
  info_.generations = life.generations;
  money::Ledger ledger = ledger_of(info_, life.journal, life.makespan);
  return {std::move(life), std::move(ledger)};
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
