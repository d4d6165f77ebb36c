#include "workloads/priced/priced_results.hpp"

#include <algorithm>
#include <cmath>
#include <map>
#include <nlohmann/json.hpp>
#include <numeric>
#include <set>
#include <utility>

#include "workloads/files/whole_file.hpp"
#include "workloads/job/plan/worker_scaling.hpp"
#include "workloads/records/costs.hpp"
#include "workloads/records/csv_columns.hpp"

namespace tandem::priced {
namespace {

using nlohmann::json;

WorkOfRound work_of(const Prediction& found, const WorkerTimes& of, int samples_per_step) {
  WorkOfRound work;
  const double steps = found.steps_of(of), share = steps / of.steps;
  const auto set = [&](Phase phase, Seconds time) { work.phases[static_cast<std::size_t>(phase)] = time; };
  set(Phase::load, of.load * steps);
  set(Phase::forward, of.forward * steps);
  set(Phase::backward, std::accumulate(of.backward.begin(), of.backward.end(), Seconds(0.0)) * steps);
  set(Phase::update, of.step_update * steps + (of.change + of.update_after) * share);
  // A step that stops ends with its round.
  const Seconds working = std::accumulate(work.phases.begin(), work.phases.end(), Seconds(0.0));
  if (found.stops_late && of.is_late && working > found.round)
    for (Seconds& phase : work.phases) phase = phase * (found.round / working);
  work.samples = samples_per_step * steps;
  work.bytes_sent = static_cast<double>(found.bytes_sent) / found.workers * share;
  work.bytes_received = static_cast<double>(found.bytes_received) / found.workers * share;
  return work;
}

TimeStatistics always(Seconds step, std::int64_t steps) {
  return {.steps = static_cast<std::size_t>(steps),
          .mean = step.count(),
          .median = step.count(),
          .p95 = step.count()};
}

/// Of more workers, summary.json has one row for each class of equal ones: their rows are equal, too, unless
/// some of them departed.
constexpr int most_rows = 2048;

void keep_first_of_classes(const Job& job, const Prediction& found, std::vector<RankSummary>& rows) {
  std::set<Rank> kept;
  for (const WorkerTimes& of : found.classes)
    kept.insert(job.roster().workers()[static_cast<std::size_t>(of.workers.front())]);
  std::erase_if(rows, [&](const RankSummary& row) { return !kept.contains(row.rank); });
}

/// What the records of runs, each in the place of many steps, do not tell.
void count_steps(Summary& summary, const Job& job, const Prediction& found) {
  const auto spare_steps = found.steps_of(found.classes.front());
  std::map<Rank, double> steps;
  for (const WorkerTimes& of : found.classes)
    for (const int worker : of.workers)
      steps[job.roster().workers()[static_cast<std::size_t>(worker)]] = found.steps_of(of);
  summary.steps = 0;
  for (RankSummary& rank : summary.ranks) {
    const auto known = steps.find(rank.rank);
    const double of_round = known == steps.end() ? spare_steps : known->second;
    rank.steps =
        std::llround(static_cast<double>(rank.samples) / static_cast<double>(found.samples_per_step));
    rank.step_time = always(found.round * (1.0 / of_round), rank.steps);
    summary.steps += rank.steps;
  }
  summary.step_time = always(found.round * (1.0 / found.steps_per_round), summary.steps);
  for (auto& [name, phase] : summary.phases) phase.mean_s = phase.share * summary.step_time.mean;
  summary.warmup = {0, "every step takes the same time"};
}

}  // namespace

std::vector<WorkOfRound> work_of_rounds(const Job& job, const Prediction& found) {
  const auto work = [&](const WorkerTimes& of) {
    return work_of(found, of, batch_of(job, of.workers.front()));
  };
  std::vector<WorkOfRound> all(job.roster().workers().size(), work(found.classes.front()));
  for (const WorkerTimes& of : found.classes)
    for (const int worker : of.workers) all[static_cast<std::size_t>(worker)] = work(of);
  return all;
}

json describe_closed_form(const Prediction& found, const JobLife& lives) {
  json described = {{"fidelity", "priced"},
                    {"closed_form",
                     {{"round", to_text(found.certainty)},
                      {"because", found.origin},
                      {"round_s", found.round.count()},
                      {"round_range_s", {found.fastest.count(), found.slowest.count()}}}}};
  if (found.workers > most_rows)
    for (const WorkerTimes& of : found.classes)
      described["closed_form"]["classes"].push_back({{"first", of.host}, {"workers", of.workers.size()}});
  if (!lives.commit().without_disk.empty()) described["commits_without_disk"] = lives.commit().without_disk;
  return described;
}

Summary summary_of(const Job& job, const RunInfo& info, const Prediction& found, const JobLife& lives,
                   const Life& life) {
  Summary summary = summarise(info, life.journal, life.makespan);
  count_steps(summary, job, found);
  summary.rounds = life.journal.counted_rounds;
  // Where rounds have a closed form, the gradients that end one become part of an update at once.
  summary.applied_samples = summary.samples;
  summary.applied_throughput = summary.throughput;
  if (!found.waits_for_all && found.in_rounds) {
    const double updates = static_cast<double>(life.journal.counted_rounds) * found.updates_per_round;
    summary.applied_samples = std::llround(updates * found.awaited) * found.samples_per_step;
    summary.applied_throughput = static_cast<double>(*summary.applied_samples) / life.makespan.count();
  } else if (!found.in_rounds && job.exchange().algorithm().make.quorum != nullptr) {
    // How many gradients are dropped depends on the order of arrival.
    summary.applied_samples.reset();
    summary.applied_throughput.reset();
  }
  summary.pending_samples.reset();
  if (summary.applied_samples) {
    summary.pending_samples = 0;
    summary.dropped_samples = std::max<std::int64_t>(0, summary.samples - *summary.applied_samples);
  }
  summary.exchange_shares.reset();
  summary.staleness.reset();
  summary.phase_order.reset();
  for (RankSummary& rank : summary.ranks) {
    rank.exchange_shares.reset();
    rank.staleness.reset();
    rank.local_steps.reset();
  }
  if (found.workers > most_rows && life.journal.membership.empty())
    keep_first_of_classes(job, found, summary.ranks);
  const auto [least, most] = std::ranges::minmax(found.classes, {}, &WorkerTimes::steps);
  double all = 0.0;
  for (const WorkerTimes& of : found.classes) all += of.steps * static_cast<double>(of.workers.size());
  summary.local_steps = DistributionSummary{.count = life.journal.counted_rounds * found.workers,
                                            .min = least.steps,
                                            .mean = all / found.workers,
                                            .max = most.steps};
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
