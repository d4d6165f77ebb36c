#include "workloads/records/summary.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>
#include <optional>
#include <string>

#include "policies/vocabulary/quantile.hpp"
#include "workloads/experiment/resolved_experiment.hpp"
#include "workloads/records/cache_rows.hpp"
#include "workloads/records/costs.hpp"
#include "workloads/records/csv_columns.hpp"
#include "workloads/records/data_figures.hpp"
#include "workloads/records/gpu_figures.hpp"
#include "workloads/records/metrics.hpp"
#include "workloads/records/occupants.hpp"
#include "workloads/records/phase_order.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem {
namespace {

double mean(const std::vector<double>& values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

TimeStatistics time_statistics(const std::vector<double>& seconds) {
  return {.steps = seconds.size(),
          .mean = mean(seconds),
          .median = quantile(seconds, 0.5),
          .p95 = quantile(seconds, 0.95)};
}

/// Sums over the steps of a rank: durations of the counted steps, all else of all steps.
struct RankTotals {
  std::vector<double> durations;
  std::int64_t steps = 0;
  std::int64_t samples = 0;
  std::int64_t bytes_sent = 0;
  std::int64_t bytes_received = 0;
  int last_step = -1;
  int exchanges = 0;
};

std::map<Rank, RankTotals> totals_by_rank(const RunInfo& info, const Journal& journal) {
  std::map<Rank, RankTotals> ranks;
  // A worker that is alone exchanges without messages and in no time. Its last step ends with an exchange,
  // like that of any worker.
  const bool is_alone = std::ranges::count(info.roles, "worker") == 1;
  for (const auto& step : journal.steps) {
    auto& totals = ranks[step.rank];
    if (counts(info, step)) totals.durations.push_back(step.duration().count());
    ++totals.steps;
    totals.samples += step.samples;
    totals.bytes_sent += step.bytes_sent;
    totals.bytes_received += step.bytes_received;
    if (step.step < totals.last_step) continue;
    const bool exchanged =
        is_alone || step.bytes_sent > 0 || step.phases[static_cast<std::size_t>(Phase::exchange)].count() > 0;
    totals.last_step = step.step;
    totals.exchanges = step.round + (exchanged ? 1 : 0);
  }
  return ranks;
}

/// Of a worker on average; a worker may pass the last rounds of all.
double rounds_of(const RunInfo& info, const std::map<Rank, RankTotals>& totals) {
  double sum = 0.0, most = 0.0;
  for (const auto& [rank, of] : totals) {
    sum += of.exchanges;
    most = std::max(most, static_cast<double>(of.exchanges));
  }
  const bool may_pass = ResolvedExperiment(info.experiment).algorithm->workers_of_round != nullptr;
  return may_pass ? most : sum / static_cast<double>(totals.size());
}

std::map<std::string, PhaseTime> phases_of(const RunInfo& info, const Journal& journal) {
  std::array<double, phase_count> sums{};
  std::int64_t steps = 0;
  for (const auto& step : journal.steps) {
    if (!counts(info, step)) continue;
    ++steps;
    for (std::size_t i = 0; i < phase_count; ++i) sums[i] += step.phases[i].count();
  }
  const double total = std::accumulate(sums.begin(), sums.end(), 0.0);
  std::map<std::string, PhaseTime> phases;
  for (std::size_t i = 0; i < phase_count; ++i)
    phases[phase_names[i]] = {.mean_s = sums[i] / static_cast<double>(steps), .share = sums[i] / total};
  return phases;
}

CacheSummary cache_of(const Journal& journal) {
  CacheSummary cache;
  std::map<std::string, CacheRecord> places;
  CacheRecord all, local, kept;
  const auto add = [](CacheRecord& to, const CacheRecord& record) {
    to.samples += record.samples;
    to.bytes += record.bytes;
    to.blocked += record.blocked;
    to.reading += record.reading;
  };
  for (const auto& record : journal.caches) {
    if (counts_faults(record.from)) {
      auto& count = record.from == replaced_row  ? cache.replaced
                    : record.from == spoiled_row ? cache.spoiled
                                                 : cache.no_room;
      count = count.value_or(0) + record.samples;
      continue;
    }
    if (is_estimate(record.from)) continue;
    if (record.from == kept_row) {
      add(kept, record);
      continue;
    }
    add(places[record.from], record);
    if (!counts_delivered(record.from)) continue;
    add(all, record);
    if (record.from.starts_with("tier")) add(local, record);
  }
  const CacheRecord& storage = places["store"];
  cache.requests = all.samples;
  cache.local = local.samples;
  cache.storage = storage.samples;
  cache.local_bytes = local.bytes;
  cache.storage_bytes = storage.bytes;
  cache.storage_time = storage.reading;
  for (const auto& [name, sum] : places)
    cache.classes[name] = {{sum.samples, sum.bytes, sum.blocked}, sum.reading};
  // A job may have ended before its first sample was delivered.
  if (all.samples > 0)
    cache.hit_ratio = static_cast<double>(local.samples) / static_cast<double>(all.samples);
  if (kept.samples > 0) {
    cache.kept = kept.samples;
    cache.kept_bytes = kept.bytes;
  }
  if (places.contains("peer")) {
    cache.peer = places["peer"].samples;
    cache.peer_bytes = places["peer"].bytes;
    cache.peer_misses = places[std::string(peer_miss_row)].samples;
  }
  return cache;
}

/// Stores have equally many samples each. Reads in the background may be from peers, which are left out then.
std::optional<double> storage_busy_of(const RunInfo& info, const Journal& journal, Seconds makespan) {
  if (info.data_disks.empty()) return std::nullopt;
  const bool is_background_of_store = info.experiment.data.peers == Peers::none;
  std::map<std::string, double> bytes;  // by host of the cache node
  double all = 0;
  for (const auto& record : journal.caches) {
    if (record.from != "store" && !(is_background_of_store && record.from == background_row)) continue;
    bytes[host_of(info, record.rank)] += static_cast<double>(record.bytes);
    all += static_cast<double>(record.bytes);
  }
  const auto& stores = info.experiment.placement.stores;
  double busiest = 0;
  for (const DataDisk& disk : info.data_disks) {
    const auto own = static_cast<double>(std::ranges::count(stores, disk.host));
    const double read = stores.empty() ? bytes[disk.host] : all * own / static_cast<double>(stores.size());
    busiest = std::max(busiest, read / disk.read_bytes_per_s / makespan.count());
  }
  return busiest;
}

CommitsSummary commits_of(const Journal& journal) {
  CommitsSummary all{.count = journal.commits.size(), .failed_commits = journal.failed_commits};
  for (const auto& record : journal.commits) {
    all.blocked += record.blocked;
    all.bytes += record.bytes;
  }
  return all;
}

/// `counts`: whether each value is named. None when empty.
std::optional<DistributionSummary> summary_of(const Distribution& distribution, bool counts) {
  if (distribution.empty()) return std::nullopt;
  DistributionSummary summary{.count = distribution.total(),
                              .min = distribution.min(),
                              .mean = distribution.mean(),
                              .max = distribution.max()};
  if (counts) summary.counts.assign(distribution.counts().begin(), distribution.counts().end());
  return summary;
}

std::optional<DistributionSummary> of_rank(const std::map<Rank, Distribution>& ranks, Rank rank) {
  const auto found = ranks.find(rank);
  return found == ranks.end() ? std::nullopt : summary_of(found->second, false);
}

std::optional<TargetOutcome> target_of(const std::optional<TimeToTarget>& result) {
  if (!result) return std::nullopt;
  TargetOutcome target{.target = result->target,
                       .evaluations = result->evaluations,
                       .best = result->best,
                       .reached = result->reached.has_value()};
  if (!result->reached) return target;
  target.round = result->reached->round;
  target.samples = result->reached->samples;
  target.checkpoint_time_s = result->reached->checkpoint_time.count();
  target.time_s = result->reached->time.count();
  return target;
}

/// The evaluation that ended the job, by stop.accuracy; none: another limit was first.
std::optional<ReachedAccuracy> accuracy_stop_of(const RunInfo& info, const Journal& journal) {
  const auto& evaluations = journal.evaluations;
  const auto found = std::ranges::find_if(evaluations, [&](const EvaluationRecord& evaluation) {
    return evaluation.accuracy >= info.experiment.stop.accuracy;
  });
  if (found == evaluations.end()) return std::nullopt;
  return ReachedAccuracy{.evaluation = found - evaluations.begin() + 1,
                         .round = found->round,
                         .accuracy = found->accuracy,
                         .checkpoint_time_s = found->checkpoint_time.count(),
                         .time_s = found->time.count()};
}

std::vector<ServerSummary> servers_of(const RunInfo& info, const Journal& journal, Seconds makespan) {
  std::vector<ServerSummary> servers;
  for (const auto& [rank, figures] : server_figures(info, journal, makespan)) {
    std::optional<std::int64_t> shard_bytes;
    if (info.sharding.is_object()) shard_bytes = info.sharding.at("bytes").at(servers.size());
    servers.push_back({.rank = rank,
                       .host = host_of(info, rank),
                       .shard_bytes = shard_bytes,
                       .bytes_sent = figures.bytes_sent,
                       .bytes_received = figures.bytes_received,
                       .computing = figures.computing,
                       .link = figures.link});
  }
  return servers;
}

/// Several servers decide by the order or the times of pushes.
bool may_split_pushes(const RunInfo& info) {
  const std::string& algorithm = info.experiment.sync.algorithm;
  return info.sharding.is_object() && info.sharding.at("bytes").size() > 1 &&
         sync::catalog().find(algorithm).make.timing_driven;
}

/// How the model is divided over servers; none without servers.
std::optional<ShardSizes> shards_of(const RunInfo& info) {
  if (!info.sharding.is_object()) return std::nullopt;
  const auto bytes = info.sharding.at("bytes").get<std::vector<std::int64_t>>();
  return ShardSizes{.shards = bytes.size(),
                    .mean_bytes = mean(std::vector<double>(bytes.begin(), bytes.end())),
                    .max_bytes = *std::max_element(bytes.begin(), bytes.end()),
                    .largest_over_mean = info.sharding.at("largest_over_mean")};
}

/// Adds shares of time, staleness and local steps, of all workers together and of each. Pre: summary.ranks
/// has one entry for each worker.
void add_by_worker(const RunInfo& info, const Journal& journal, Seconds makespan, Summary& summary) {
  const auto shares = time_shares(info, journal, makespan);
  const auto exchanges = exchange_shares(info, journal, makespan);
  const auto stale = staleness(journal), steps = local_steps(journal);
  if (!shares.empty()) summary.shares = mean_of(shares);
  if (!exchanges.empty()) summary.exchange_shares = mean_of(exchanges);
  summary.staleness = summary_of(merged(stale), true);
  summary.local_steps = summary_of(merged(steps), true);
  summary.phase_order = phase_order(info, journal);
  for (RankSummary& entry : summary.ranks) {
    entry.shares = shares.at(entry.rank);
    if (const auto exchange = exchanges.find(entry.rank); exchange != exchanges.end())
      entry.exchange_shares = exchange->second;
    entry.staleness = of_rank(stale, entry.rank);
    entry.local_steps = of_rank(steps, entry.rank);
  }
}

std::vector<RankSummary> ranks_of(const RunInfo& info, const std::map<Rank, RankTotals>& totals) {
  std::vector<RankSummary> ranks;
  for (const auto& [rank, t] : totals)
    ranks.push_back({.rank = rank,
                     .role = role_of(info, rank),
                     .host = host_of(info, rank),
                     .steps = t.steps,
                     .samples = t.samples,
                     .step_time = time_statistics(t.durations),
                     .bytes_sent = t.bytes_sent,
                     .bytes_received = t.bytes_received});
  return ranks;
}

/// Who departed and came, where workers may.
/// Without servers, each change of the members interrupts the round in progress. Empty where there were fewer
/// changes than rounds.
std::string fast_changes(const RunInfo& info, const Journal& journal, std::int64_t departures,
                         std::int64_t joined) {
  const Experiment& experiment = info.experiment;
  if (experiment.sync.over == sync::Route::server ||
      experiment.continuation() == Continuation::restart_on_departure)
    return "";
  const auto first = std::ssize(experiment.placement.workers);
  const std::int64_t changes = departures + std::max<std::int64_t>(0, joined - first);
  if (changes <= journal.counted_rounds) return "";
  return fmt::format(
      "the workers changed {} times within {} rounds: machines come and depart faster than a round ends, so "
      "the "
      "job hardly advances; machines that live longer, or an exchange that takes less time, would help",
      changes, journal.counted_rounds);
}

/// Machines that come up together join one after the other: numbers for less than a thousandth of the time
/// are left out.
std::vector<TimeOfWorkers> lasting_numbers(const Journal& journal) {
  auto times = times_by_workers(journal);
  Seconds all{};
  for (const TimeOfWorkers& own : times) all += own.time;
  std::erase_if(times, [&](const TimeOfWorkers& own) { return own.time < all * 1e-3; });
  return times.size() > 1 ? times : std::vector<TimeOfWorkers>();
}

MembershipSummary membership_of(const RunInfo& info, const Journal& journal, const SampleCounts& samples) {
  std::map<std::string, std::int64_t> events, roles;
  std::int64_t others = 0;
  for (const auto& change : journal.membership) {
    if (change.slot >= 0) ++events[change.event];
    if (change.slot >= 0 || change.event != "departed") continue;
    ++others;
    ++roles[change.role];
  }
  MembershipSummary membership{.departures = events["noticed"],
                               .warned = events["warned"],
                               .requested = events["requested"],
                               .refused = events["refused"],
                               .joined = events["joined"],
                               .warning = fast_changes(info, journal, events["noticed"], events["joined"]),
                               .other_departures = others,
                               .other_roles = std::move(roles),
                               .counted_rounds = journal.counted_rounds,
                               .accepted_samples = journal.accepted_samples,
                               .discarded_messages = journal.discarded_messages};
  membership.by_workers = lasting_numbers(journal);
  if (samples.lost_is_known) membership.lost_samples = samples.lost;
  if (!info.generations.empty() && info.experiment.continuation() != Continuation::restart_on_departure)
    membership.done_again_samples = samples.done_again;
  return membership;
}

}  // namespace

bool counts(const RunInfo& info, const StepRecord& step) { return step.step >= info.experiment.warmup_steps; }

Summary summarise(const RunInfo& info, const Journal& journal, Seconds makespan) {
  const auto totals = totals_by_rank(info, journal);
  std::vector<double> durations;
  RankTotals all;
  for (const auto& [rank, t] : totals) {
    durations.insert(durations.end(), t.durations.begin(), t.durations.end());
    all.steps += t.steps;
    all.bytes_sent += t.bytes_sent;
    all.bytes_received += t.bytes_received;
  }
  const SampleCounts samples = sample_counts(info, journal);
  const auto rate = [&](std::int64_t count) { return static_cast<double>(count) / makespan.count(); };
  const int warm_up = info.experiment.warmup_steps;
  Summary summary{.schema_version = RunInfo::schema_version,
                  .world = info.world,
                  .makespan_s = makespan.count(),
                  .samples = samples.processed,
                  .applied_samples = samples.applied,
                  .pending_samples = samples.pending,
                  .throughput = rate(samples.processed),
                  .steps = all.steps,
                  .rounds = rounds_of(info, totals),
                  .warmup = {warm_up, "step_time_s and phases exclude the first " + std::to_string(warm_up) +
                                          " steps of each worker; all other figures cover the whole run"},
                  .step_time = time_statistics(durations),
                  .phases = phases_of(info, journal),
                  .bytes = {all.bytes_sent, all.bytes_received},
                  .ranks = ranks_of(info, totals),
                  .servers = servers_of(info, journal, makespan),
                  .sharding = shards_of(info),
                  .evaluations = journal.evaluations,
                  .time_to_target = target_of(time_to_target(info, journal)),
                  .missed_deadlines = journal.missed_deadlines,
                  .cpu_wait = journal.cpu_wait,
                  .other_load = journal.other_load,
                  .skipped_steps = journal.skipped_steps,
                  .dropped_samples = journal.dropped_samples,
                  .ensemble = info.ensemble};
  if (samples.applied) summary.applied_throughput = rate(*samples.applied);
  if (may_split_pushes(info)) summary.split_samples = journal.split_samples;
  // Other jobs only record warnings.
  if (info.experiment.transience.may_depart() && !journal.membership.empty()) {
    summary.membership = membership_of(info, journal, samples);
    if (info.experiment.continuation() != Continuation::restart_on_departure)
      summary.rounds = journal.counted_rounds;
  }
  if (const auto rounds = rounds_of_generations(info, journal)) summary.rounds = *rounds;
  add_by_worker(info, journal, makespan, summary);
  if (info.experiment.stop.accuracy > 0.0) summary.accuracy_stop = accuracy_stop_of(info, journal);
  if (!journal.caches.empty()) {
    summary.cache = cache_of(journal);
    summary.cache->storage_busy = storage_busy_of(info, journal, makespan);
    summary.data = data_figures(info, journal);
  }
  summary.gpus = gpu_figures(info, journal);
  if (!info.experiment.checkpoint.policy.empty()) summary.commits = commits_of(journal);
  summary.cost = cost_of(info, ledger_of(info, journal, makespan));
  return summary;
}

}  // namespace tandem
