#include "workloads/priced/priced_results.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <utility>

#include "workloads/files/whole_file.hpp"
#include "workloads/job/plan/worker_scaling.hpp"
#include "workloads/records/costs.hpp"
#include "workloads/records/csv_columns.hpp"

namespace tandem::priced {
namespace {

using nlohmann::json;

WorkOfRound work_of(const Job& job, const Prediction& found, const WorkerTimes& of) {
  WorkOfRound work;
  const auto set = [&](Phase phase, Seconds time) { work.phases[static_cast<std::size_t>(phase)] = time; };
  const double steps = of.steps;
  set(Phase::load, of.load * steps);
  set(Phase::forward, of.forward * steps);
  set(Phase::backward, std::accumulate(of.backward.begin(), of.backward.end(), Seconds(0.0)) * steps);
  set(Phase::update, of.updates + of.update_after);
  work.samples = batch_of(job, of.workers.front()) * of.steps;
  work.bytes_sent = found.bytes_sent / found.workers;
  work.bytes_received = found.bytes_received / found.workers;
  return work;
}

TimeStatistics always(Seconds step, std::int64_t steps) {
  return {.steps = static_cast<std::size_t>(steps),
          .mean = step.count(),
          .median = step.count(),
          .p95 = step.count()};
}

/// What the records of runs, each in the place of many steps, do not tell.
void count_steps(Summary& summary, const Prediction& found, const std::map<Rank, double>& rounds) {
  const Seconds step = found.round * (1.0 / found.steps_per_round);
  summary.steps = 0;
  for (RankSummary& rank : summary.ranks) {
    const auto known = rounds.find(rank.rank);
    const double own = known == rounds.end() ? 0.0 : known->second;
    rank.steps = std::llround(own * found.steps_per_round);
    rank.step_time = always(step, rank.steps);
    summary.steps += rank.steps;
  }
  summary.step_time = always(step, summary.steps);
  for (auto& [name, phase] : summary.phases) phase.mean_s = phase.share * step.count();
  summary.warmup = {0, "every step takes the same time"};
}

}  // namespace

std::vector<WorkOfRound> work_of_rounds(const Job& job, const Prediction& found) {
  std::vector<WorkOfRound> work(job.roster().workers().size(), work_of(job, found, found.classes.front()));
  for (const WorkerTimes& of : found.classes)
    for (const int worker : of.workers) work[static_cast<std::size_t>(worker)] = work_of(job, found, of);
  return work;
}

json describe_closed_form(const Prediction& found, const JobLife& lives) {
  json described = {{"fidelity", "priced"},
                    {"closed_form",
                     {{"round", to_text(found.certainty)},
                      {"because", found.origin},
                      {"round_s", found.round.count()},
                      {"round_range_s", {found.fastest.count(), found.slowest.count()}}}}};
  if (!lives.commit().without_disk.empty()) described["commits_without_disk"] = lives.commit().without_disk;
  return described;
}

Summary summary_of(const RunInfo& info, const Prediction& found, const JobLife& lives, const Life& life) {
  Summary summary = summarise(info, life.journal, life.makespan);
  std::map<Rank, double> rounds;
  const double samples_of_round = static_cast<double>(found.samples_per_s * found.round.count());
  const double of_worker = samples_of_round / found.workers;
  for (const StepRecord& run : life.journal.steps) rounds[run.rank] += run.samples / of_worker;
  count_steps(summary, found, rounds);
  summary.rounds = life.journal.counted_rounds;
  // Every sample becomes part of an update at once, where rounds have a closed form.
  summary.applied_samples = summary.samples;
  summary.applied_throughput = summary.throughput;
  summary.pending_samples = 0;
  summary.exchange_shares.reset();
  summary.staleness.reset();
  summary.phase_order.reset();
  for (RankSummary& rank : summary.ranks) {
    rank.exchange_shares.reset();
    rank.staleness.reset();
    rank.local_steps.reset();
  }
  const std::int64_t steps = found.steps_per_round;
  summary.local_steps = DistributionSummary{.count = life.journal.counted_rounds * found.workers,
                                            .min = steps,
                                            .mean = static_cast<double>(steps),
                                            .max = steps};
  // The part of a round that is lost with a machine is left out.
  if (summary.membership && life.generations.empty()) summary.membership->lost_samples.reset();
  if (summary.commits)
    summary.commits = CommitsSummary{.count = static_cast<std::size_t>(life.commits),
                                     .blocked = lives.commit().write * static_cast<double>(life.commits),
                                     .bytes = lives.commit().size.count() * life.commits};
  return summary;
}

void write_priced_results(const std::string& path, const RunInfo& info, const Summary& summary,
                          const Life& life) {
  Journal written;
  written.membership = life.journal.membership;
  json run = to_json(info);
  json& lines = run["lines"] = json::object();
  const auto write = [&](const std::string& file, const std::string& text) {
    lines[file] = std::ranges::count(text, '\n');
    write_whole_file(path + '/' + file, text);
  };
  visit_lists(written, [&](const char* file, bool is_optional, const auto& records) {
    if (!is_optional || !records.empty()) write(file, to_csv(records));
  });
  if (!info.prices.empty()) write("cost.csv", cost_csv(ledger_of(info, life.journal, life.makespan)));
  write_whole_file(path + "/run.json", run.dump(2) + '\n');
  write_whole_file(path + "/summary.json", to_json(summary).dump(2) + '\n');
  mark_complete(path);
}

}  // namespace tandem::priced
