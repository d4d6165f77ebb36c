#include "workloads/records/metrics.hpp"

#include <algorithm>
#include <cmath>
#include <iterator>
#include <limits>
#include <set>
#include <utility>
#include <vector>

#include "workloads/records/intervals.hpp"
#include "workloads/records/messages.hpp"

namespace tandem {
namespace {

std::vector<Rank> servers_of(const RunInfo& info) {
  std::vector<Rank> servers;
  for (std::size_t rank = 0; rank < info.roles.size(); ++rank)
    if (info.roles[rank] == "server") servers.push_back(static_cast<Rank>(rank));
  return servers;
}

double& share_of(TimeShares& shares, Phase phase) {
  switch (phase) {
    case Phase::load:
      return shares.data;
    case Phase::query:
      return shares.query;
    case Phase::exchange:
      return shares.exchange;
    case Phase::forward:
    case Phase::backward:
    case Phase::update:
      break;
  }
  return shares.computing;
}

double rest_of(const TimeShares& shares) {
  return 1.0 - (shares.computing + shares.data + shares.query + shares.exchange + shares.commits);
}

template <class Shares, class... Member>
Shares mean_of_members(const std::map<Rank, Shares>& ranks, Member... member) {
  Shares mean;
  const auto count = static_cast<double>(ranks.size());
  for (const auto& [rank, shares] : ranks) ((mean.*member += shares.*member / count), ...);
  return mean;
}

// ---- Waiting for commits ----

/// When the machines of each worker departed, in order of time.
std::map<Rank, std::vector<Seconds>> departures_of_workers(const RunInfo& info, const Journal& journal) {
  std::vector<Rank> workers;
  for (std::size_t rank = 0; rank < info.roles.size(); ++rank)
    if (info.roles[rank] == "worker") workers.push_back(static_cast<Rank>(rank));
  std::map<Rank, std::vector<Seconds>> departures;
  for (const MembershipRecord& change : journal.membership)
    if (change.event == "departed" && change.slot >= 0 && change.slot < std::ssize(workers))
      departures[workers[static_cast<std::size_t>(change.slot)]].push_back(change.time);
  return departures;
}

/// The steps of each worker, by their places in the journal, in order of time.
std::map<Rank, std::vector<std::size_t>> steps_by_worker(const Journal& journal) {
  std::map<Rank, std::vector<std::size_t>> steps;
  for (std::size_t i = 0; i < journal.steps.size(); ++i) steps[journal.steps[i].rank].push_back(i);
  for (auto& [rank, own] : steps)
    std::ranges::stable_sort(own, {}, [&](std::size_t i) { return journal.steps[i].start.count(); });
  return steps;
}

// ---- Exchange phases, split by the recorded operations into communicating and waiting ----

/// The records of one worker, in order of time.
struct WorkerRecords {
  std::vector<const StepRecord*> steps;
  std::vector<const OperationRecord*> computations;  ///< without decoding and launches
  Intervals messages;
  bool is_launch_bound = false;  ///< a step may end after its update: when the processor has launched it
};

/// The exchange of each step: the end of the step, before the updates that apply the received values.
Intervals exchanges_of(const WorkerRecords& worker) {
  Intervals exchanges;
  auto next = worker.computations.begin();
  for (const StepRecord* step : worker.steps) {
    const Seconds length = step->phases[static_cast<std::size_t>(Phase::exchange)];
    Seconds end = step->start + step->duration();
    while (next != worker.computations.end() && (*next)->start < end) ++next;
    if (length <= Seconds(0)) continue;
    if (worker.is_launch_bound && next != worker.computations.begin() &&
        (*(next - 1))->work == name_of(Work::Kind::update))
      end = (*(next - 1))->end;
    // Rounding of clocks and sums of phases stays far below half of an exchange.
    for (auto last = next; last != worker.computations.begin(); --last) {
      const OperationRecord& before = **(last - 1);
      if (before.work != name_of(Work::Kind::update) || before.end < end - length * 0.5) break;
      end = before.start;
    }
    exchanges.push_back({end - length, end});
  }
  return exchanges;
}

std::map<Rank, WorkerRecords> workers_of(const RunInfo& info, const Journal& journal) {
  std::map<Rank, WorkerRecords> workers;
  for (const auto& step : journal.steps) workers[step.rank].steps.push_back(&step);
  for (const auto& operation : journal.operations) {
    // The next batch is decoded during the exchange, and the rank notices the end of the decoding only after
    // it.
    if (operation.kind != "compute" || operation.work == name_of(Work::Kind::decode)) continue;
    const auto own = workers.find(operation.rank);
    if (own == workers.end()) continue;
    if (operation.work == name_of(Work::Kind::launch))
      own->second.is_launch_bound = true;
    else
      own->second.computations.push_back(&operation);
  }
  const auto trains = [&](Rank rank) {
    const std::string role = role_of(info, rank);
    return role == "worker" || role == "server";
  };
  for (const auto& [send, receive] : messages_of(journal)) {
    // A report to the coordinator carries no payload, and its end may be noticed long after.
    if (send->bytes == 0 || !trains(send->rank) || !trains(receive->rank)) continue;
    if (const auto from = workers.find(send->rank); from != workers.end())
      from->second.messages.push_back({send->start, std::min(send->end, receive->end)});
    if (const auto to = workers.find(receive->rank); to != workers.end())
      to->second.messages.push_back({send->start, receive->end});
  }
  for (const auto& [own, met] : all_reduces_of(journal))
    if (const auto worker = workers.find(own->rank); worker != workers.end())
      worker->second.messages.push_back({std::min(met, own->end), own->end});
  return workers;
}

/// The times in which payload travels between each server and the workers.
void add_link_use(const RunInfo& info, const Journal& journal, Seconds makespan,
                  std::map<Rank, ServerFigures>& figures) {
  std::map<Rank, Intervals> inward, outward;
  for (const auto& [send, receive] : messages_of(journal)) {
    if (send->bytes == 0) continue;
    if (figures.contains(receive->rank) && role_of(info, send->rank) == "worker")
      inward[receive->rank].push_back({send->start, receive->end});
    if (figures.contains(send->rank) && role_of(info, receive->rank) == "worker")
      outward[send->rank].push_back({send->start, receive->end});
  }
  for (auto& [server, of_server] : figures) {
    const Intervals in = united(std::move(inward[server])), out = united(std::move(outward[server]));
    of_server.link = {length(in) / makespan, length(out) / makespan, common(in, out) / makespan};
  }
}

/// Steps of a worker that are lost leave a gap in their numbers.
bool lacks_steps(const RunInfo& info, const Journal& journal) {
  std::map<Rank, std::set<int>> numbers;
  for (const auto& step : journal.steps) numbers[step.rank].insert(step.step);
  return std::ranges::any_of(numbers, [&](const auto& worker) {
    const std::set<int>& own = worker.second;
    const int first = info.resumed ? *own.begin() : 0;
    return *own.rbegin() - first + 1 != std::ssize(own);
  });
}

}  // namespace

void Distribution::add(const Distribution& other) {
  for (const auto& [value, times] : other.counts_) add(value, times);
}

std::int64_t Distribution::total() const {
  std::int64_t sum = 0;
  for (const auto& [value, times] : counts_) sum += times;
  return sum;
}

double Distribution::mean() const {
  double sum = 0;
  for (const auto& [value, times] : counts_) sum += static_cast<double>(value) * static_cast<double>(times);
  return sum / static_cast<double>(total());
}

SampleCounts sample_counts(const RunInfo& info, const Journal& journal) {
  SampleCounts samples{.dropped = journal.dropped_samples};
  for (const auto& step : journal.steps) samples.processed += step.samples;
  const Experiment& experiment = info.experiment;
  const sync::Route over = experiment.sync.over;
  // Workers departed, or might have, while others continued.
  const bool in_place = experiment.continuation() == Continuation::in_place && !journal.membership.empty();
  if (over == sync::Route::server || (in_place && over == sync::Route::all_reduce)) {
    samples.applied = 0;
    for (const auto& record : journal.staleness) *samples.applied += record.samples;
  } else if (over == sync::Route::all_reduce) {
    samples.applied = samples.processed;
  }
  // If each worker has a model of its own, no rank knows the updates of the others.
  if (in_place && over == sync::Route::all_reduce && journal.staleness.empty()) samples.applied.reset();
  if (samples.applied) samples.pending = samples.processed - *samples.applied - samples.dropped;
  for (const LaunchRecord& launch : info.generations) {
    samples.lost += launch.lost_samples.value_or(0);
    if (launch.ended && !launch.lost_samples) samples.lost_is_known = false;
  }
  if (!in_place) return samples;
  const bool ranks_were_killed = !samples.lost_is_known;
  if (!info.generations.empty() && !ranks_were_killed) samples.done_again = samples.lost;
  samples.lost = 0;
  samples.lost_is_known = true;
  if (!samples.applied) return samples;
  const std::int64_t lost = *samples.pending - journal.accepted_samples;
  samples.pending = journal.accepted_samples;
  // What was lost is recorded for departures since the commit from which the job last started, unless that
  // lacks records.
  samples.lost_is_known = !ranks_were_killed || (lost >= 0 && !lacks_steps(info, journal));
  if (samples.lost_is_known) samples.lost = lost;
  return samples;
}

std::optional<double> rounds_of_generations(const RunInfo& info, const Journal& journal) {
  constexpr double microsecond = 1e-6;  // to which the beginning of a generation is recorded
  std::map<double, double> workers;     // by the time at which the generation began
  for (const LaunchRecord& launch : info.generations)
    if (launch.workers && launch.began) workers[launch.began->count()] = *launch.workers;
  if (workers.empty()) return std::nullopt;
  std::map<std::pair<Rank, int>, double> parts;  // of each exchange, in a round
  for (const auto& step : journal.steps) {
    const auto next = workers.upper_bound(step.start.count() + microsecond);
    const auto& present = next == workers.begin() ? *next : *std::prev(next);
    parts[{step.rank, step.round}] = 1.0 / present.second;
  }
  double rounds = 0.0;
  for (const auto& [exchange, part] : parts) rounds += part;
  return rounds;
}

std::map<Rank, Distribution> staleness(const Journal& journal) {
  std::map<Rank, Distribution> ranks;
  for (const auto& record : journal.staleness) ranks[record.rank].add(record.staleness, record.pushes);
  return ranks;
}

std::map<Rank, Distribution> local_steps(const Journal& journal) {
  std::map<std::pair<Rank, int>, std::int64_t> rounds;
  for (const auto& step : journal.steps) ++rounds[{step.rank, step.round}];
  std::map<Rank, Distribution> ranks;
  for (const auto& [round, steps] : rounds) ranks[round.first].add(steps);
  return ranks;
}

Distribution merged(const std::map<Rank, Distribution>& ranks) {
  Distribution all;
  for (const auto& [rank, distribution] : ranks) all.add(distribution);
  return all;
}

std::vector<CommitWait> commit_waits(const RunInfo& info, const Journal& journal) {
  std::vector<CommitWait> waits(journal.steps.size());
  if (journal.commits.empty()) return waits;
  Intervals all, by_servers;
  Seconds by_workers{};  // the longest
  for (const CommitRecord& commit : journal.commits) {
    all.push_back({commit.started, commit.ended});
    by_servers.push_back({commit.started, commit.started + commit.by_servers});
    by_workers = std::max(by_workers, commit.blocked - commit.by_servers);
  }
  // In the background, workers wait for the copies, and for the rest at the end of the job. A worker that
  // takes no step meanwhile passes rounds, evaluates, or has ended.
  const bool blocks = info.experiment.checkpoint.mode == CommitMode::blocking;
  all = united(std::move(all));
  by_servers = united(std::move(by_servers));
  Seconds last{};  // end of a step
  for (const StepRecord& step : journal.steps) last = std::max(last, step.start + step.duration());
  auto departures = departures_of_workers(info, journal);
  for (const auto& [rank, steps] : steps_by_worker(journal)) {
    const std::vector<Seconds>& departed = departures[rank];
    for (std::size_t i = 0; i < steps.size(); ++i) {
      const StepRecord& step = journal.steps[steps[i]];
      const Seconds end = step.start + step.duration();
      Seconds until = i + 1 < steps.size() ? journal.steps[steps[i + 1]].start
                                           : Seconds(std::numeric_limits<double>::infinity());
      if (const auto departure = std::ranges::lower_bound(departed, end); departure != departed.end())
        until = std::min(until, *departure);
      const Seconds exchange = step.phases[static_cast<std::size_t>(Phase::exchange)];
      CommitWait& wait = waits[steps[i]];
      wait.in_exchange = std::min(exchange, common(Interval{end - exchange, end}, by_servers));
      wait.after_step =
          std::min(by_workers, common(Interval{end, blocks ? until : std::min(until, last)}, all));
      if (!blocks && until > last) wait.after_step += common(Interval{last, until}, all);
    }
  }
  return waits;
}

std::map<Rank, TimeShares> time_shares(const RunInfo& info, const Journal& journal, Seconds makespan) {
  std::map<Rank, TimeShares> ranks;
  const std::vector<CommitWait> commits = commit_waits(info, journal);
  for (std::size_t at = 0; at < journal.steps.size(); ++at) {
    const StepRecord& step = journal.steps[at];
    TimeShares& shares = ranks[step.rank];
    for (std::size_t i = 0; i < phase_count; ++i) {
      const auto phase = static_cast<Phase>(i);
      const Seconds waited = phase == Phase::exchange ? commits[at].in_exchange : Seconds(0);
      share_of(shares, phase) += (step.phases[i] - waited) / makespan;
    }
    shares.commits += (commits[at].in_exchange + commits[at].after_step) / makespan;
  }
  for (auto& [rank, shares] : ranks) shares.other = rest_of(shares);
  return ranks;
}

TimeShares mean_of(const std::map<Rank, TimeShares>& ranks) {
  TimeShares mean = mean_of_members(ranks, &TimeShares::computing, &TimeShares::data, &TimeShares::query,
                                    &TimeShares::exchange, &TimeShares::commits);
  mean.other = rest_of(mean);
  return mean;
}

ExchangeShares mean_of(const std::map<Rank, ExchangeShares>& ranks) {
  return mean_of_members(ranks, &ExchangeShares::communicating, &ExchangeShares::waiting);
}

Seconds clock_uncertainty(const RunInfo& info) {
  if (!info.physics.is_object() || !info.physics.contains("clocks")) return {};
  return Seconds(info.physics.at("clocks").at("uncertainty_s").get<double>());
}

std::map<Rank, ExchangeShares> exchange_shares(const RunInfo& info, const Journal& journal,
                                               Seconds makespan) {
  std::map<Rank, ExchangeShares> ranks;
  const auto& sync = info.experiment.sync;
  if (journal.operations.empty() || sync.over == sync::Route::peers || sync.overlaps_forward()) return ranks;
  const Seconds uncertainty = clock_uncertainty(info);
  const std::vector<CommitWait> waits = commit_waits(info, journal);
  std::map<Rank, Seconds> commits;
  for (std::size_t at = 0; at < waits.size(); ++at) commits[journal.steps[at].rank] += waits[at].in_exchange;
  for (auto& [rank, worker] : workers_of(info, journal)) {
    const Intervals exchanges = exchanges_of(worker);
    for (const auto* computation : worker.computations)
      worker.messages.push_back({computation->start, computation->end});
    const Seconds communicating = common(exchanges, united(std::move(worker.messages)));
    Seconds all{};
    for (const Interval& exchange : exchanges) all += exchange.end - exchange.begin;
    const Seconds waiting = std::max(Seconds(0), all - communicating - commits[rank]);
    // Each exchange has a boundary between the two that the clocks leave open.
    if (std::min(communicating, waiting) < uncertainty * static_cast<double>(exchanges.size())) return {};
    ranks[rank] = {communicating / makespan, waiting / makespan};
  }
  return ranks;
}

std::map<Rank, ServerFigures> server_figures(const RunInfo& info, const Journal& journal, Seconds makespan) {
  std::map<Rank, ServerFigures> figures;
  for (const Rank server : servers_of(info)) figures[server] = {};
  if (!journal.operations.empty()) {
    for (auto& [server, of_server] : figures)
      of_server = {.bytes_sent = 0, .bytes_received = 0, .computing = 0.0, .link = {}};
    for (const auto& operation : journal.operations) {
      const auto own = figures.find(operation.rank);
      if (operation.kind == "compute" && own != figures.end())
        *own->second.computing += (operation.end - operation.start) / makespan;
      // The size of a posted receive can exceed that of the message, so only sends are added up.
      if (operation.kind != "send") continue;
      if (own != figures.end() && role_of(info, operation.peer) == "worker")
        *own->second.bytes_sent += operation.bytes;
      if (const auto to = figures.find(operation.peer);
          to != figures.end() && role_of(info, operation.rank) == "worker")
        *to->second.bytes_received += operation.bytes;
    }
    add_link_use(info, journal, makespan, figures);
  } else if (figures.size() == 1 && info.experiment.sync.over == sync::Route::server) {
    ServerFigures& only = figures.begin()->second;
    only = {.bytes_sent = 0, .bytes_received = 0, .computing = {}, .link = {}};
    for (const auto& step : journal.steps) {
      *only.bytes_sent += step.bytes_received;
      *only.bytes_received += step.bytes_sent;
    }
  }
  return figures;
}

std::optional<TimeToTarget> time_to_target(const RunInfo& info, const Journal& journal) {
  // The records of a resumed job lack what happened before it was resumed.
  if (info.experiment.target_accuracy <= 0 || info.resumed) return std::nullopt;
  TimeToTarget result{.target = info.experiment.target_accuracy};
  for (const auto& evaluation : journal.evaluations) {
    if (std::isnan(evaluation.accuracy)) continue;
    ++result.evaluations;
    result.best = std::max(result.best.value_or(evaluation.accuracy), evaluation.accuracy);
    if (!result.reached && evaluation.accuracy >= result.target) result.reached = evaluation;
  }
  return result;
}

}  // namespace tandem
