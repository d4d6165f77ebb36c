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
#include "workloads/records/cache_rows.hpp"
#include "workloads/records/columns.hpp"
#include "workloads/records/data_figures.hpp"
#include "workloads/records/gpu_figures.hpp"
#include "workloads/records/metrics.hpp"
#include "workloads/records/phase_order.hpp"

namespace tandem {
namespace {

using nlohmann::json;

json json_of(Seconds value) { return value.count(); }
template <class Number>
json json_of(Number value) {
  return value;
}

double mean(const std::vector<double>& values) {
  if (values.empty()) return std::numeric_limits<double>::quiet_NaN();
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

json time_statistics(const std::vector<double>& seconds) {
  return {{"steps", seconds.size()},
          {"mean", mean(seconds)},
          {"median", quantile(seconds, 0.5)},
          {"p95", quantile(seconds, 0.95)}};
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

json phases_of(const RunInfo& info, const Journal& journal) {
  std::array<double, phase_count> sums{};
  std::int64_t steps = 0;
  for (const auto& step : journal.steps) {
    if (!counts(info, step)) continue;
    ++steps;
    for (std::size_t i = 0; i < phase_count; ++i) sums[i] += step.phases[i].count();
  }
  const double total = std::accumulate(sums.begin(), sums.end(), 0.0);
  json phases = json::object();
  for (std::size_t i = 0; i < phase_count; ++i)
    phases[phase_names[i]] = {{"mean_s", sums[i] / static_cast<double>(steps)}, {"share", sums[i] / total}};
  return phases;
}

json cache_of(const Journal& journal) {
  std::map<std::string, CacheRecord> places;
  CacheRecord all, local, kept;
  json faults = json::object();
  const auto add = [](CacheRecord& to, const CacheRecord& record) {
    to.samples += record.samples;
    to.bytes += record.bytes;
    to.blocked += record.blocked;
    to.reading += record.reading;
  };
  for (const auto& record : journal.caches) {
    if (counts_faults(record.from)) {
      const char* const key = record.from == replaced_row  ? "replaced"
                              : record.from == spoiled_row ? "spoiled"
                                                           : "no_room";
      faults[key] = faults.value(key, std::int64_t{0}) + record.samples;
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
  json classes = json::object();
  for (const auto& [name, sum] : places)
    classes[name] = {{"samples", sum.samples},
                     {"bytes", sum.bytes},
                     {"blocked_s", sum.blocked.count()},
                     {"reading_s", sum.reading.count()}};
  json cache = {{"requests", all.samples},
                {"local", local.samples},
                {"storage", storage.samples},
                {"local_bytes", local.bytes},
                {"storage_bytes", storage.bytes},
                {"storage_time_s", storage.reading.count()},
                {"classes", classes}};
  // A job may have ended before its first sample was delivered.
  if (all.samples > 0)
    cache["hit_ratio"] = static_cast<double>(local.samples) / static_cast<double>(all.samples);
  cache.update(faults);
  if (kept.samples > 0) {
    cache["kept"] = kept.samples;
    cache["kept_bytes"] = kept.bytes;
  }
  if (places.contains("peer")) {
    cache["peer"] = places["peer"].samples;
    cache["peer_bytes"] = places["peer"].bytes;
    cache["peer_misses"] = places[std::string(peer_miss_row)].samples;
  }
  return cache;
}

json commits_of(const Journal& journal) {
  CommitRecord all;
  for (const auto& record : journal.commits) {
    all.blocked += record.blocked;
    all.bytes += record.bytes;
  }
  json commits = {
      {"count", journal.commits.size()}, {"blocked_s", all.blocked.count()}, {"bytes", all.bytes}};
  visit_commit_figures(journal, [&](const char* key, std::int64_t figure) {
    if (figure > 0) commits[key] = figure;
  });
  return commits;
}

json evaluations_of(const Journal& journal) {
  json curve = json::array();
  for (const auto& evaluation : journal.evaluations) {
    json& point = curve.emplace_back(json::object());
    Columns<EvaluationRecord>::visit(
        evaluation, [&](const char* name, const auto& value) { point[name] = json_of(value); });
  }
  return curve;
}

template <class T>
json optional_json(const std::optional<T>& value) {
  return value ? json(*value) : json();
}

/// With `counts`: a pair [value, how often] for each value. Null when empty.
json distribution_json(const Distribution& distribution, bool counts) {
  if (distribution.empty()) return nullptr;
  json result = {{"count", distribution.total()},
                 {"min", distribution.min()},
                 {"mean", distribution.mean()},
                 {"max", distribution.max()}};
  if (!counts) return result;
  json& pairs = result["counts"] = json::array();
  for (const auto& [value, times] : distribution.counts()) pairs.push_back({value, times});
  return result;
}

json of_rank(const std::map<Rank, Distribution>& ranks, Rank rank) {
  const auto found = ranks.find(rank);
  return found == ranks.end() ? json() : distribution_json(found->second, false);
}

json shares_json(const TimeShares& shares) {
  return {{"computing", shares.computing},
          {"data", shares.data},
          {"query", shares.query},
          {"exchange", shares.exchange},
          {"other", shares.other}};
}

json shares_json(const ExchangeShares& shares) {
  return {{"communicating", shares.communicating}, {"waiting", shares.waiting}};
}

json shares_json(const LinkUse& link) { return {{"in", link.in}, {"out", link.out}, {"both", link.both}}; }

json target_json(const std::optional<TimeToTarget>& result) {
  if (!result) return nullptr;
  json target = {{"target", result->target},
                 {"evaluations", result->evaluations},
                 {"best", optional_json(result->best)},
                 {"reached", result->reached.has_value()},
                 {"round", nullptr},
                 {"samples", nullptr},
                 {"checkpoint_time_s", nullptr},
                 {"time_s", nullptr}};
  if (!result->reached) return target;
  target.update({{"round", result->reached->round},
                 {"samples", result->reached->samples},
                 {"checkpoint_time_s", result->reached->checkpoint_time.count()},
                 {"time_s", result->reached->time.count()}});
  return target;
}

/// The evaluation that ended the job, by stop.accuracy; null: none did, and another limit was first.
json accuracy_stop_json(const RunInfo& info, const Journal& journal) {
  const auto& evaluations = journal.evaluations;
  const auto found = std::ranges::find_if(evaluations, [&](const EvaluationRecord& evaluation) {
    return evaluation.accuracy >= info.experiment.stop.accuracy;
  });
  if (found == evaluations.end()) return nullptr;
  return {{"evaluation", found - evaluations.begin() + 1},
          {"round", found->round},
          {"accuracy", found->accuracy},
          {"checkpoint_time_s", found->checkpoint_time.count()},
          {"time_s", found->time.count()}};
}

json servers_json(const RunInfo& info, const Journal& journal, Seconds makespan) {
  json servers = json::array();
  for (const auto& [rank, figures] : server_figures(info, journal, makespan))
    servers.push_back(
        {{"rank", rank},
         {"host", host_of(info, rank)},
         {"shard_bytes", info.sharding.is_object() ? info.sharding.at("bytes").at(servers.size()) : json()},
         {"bytes_sent", optional_json(figures.bytes_sent)},
         {"bytes_received", optional_json(figures.bytes_received)},
         {"computing", optional_json(figures.computing)},
         {"link", figures.link ? shares_json(*figures.link) : json()}});
  return servers;
}

/// How the model is divided over servers; null without servers.
json shards_json(const RunInfo& info) {
  if (!info.sharding.is_object()) return nullptr;
  const auto bytes = info.sharding.at("bytes").get<std::vector<std::int64_t>>();
  return {{"shards", bytes.size()},
          {"mean_bytes", mean(std::vector<double>(bytes.begin(), bytes.end()))},
          {"max_bytes", *std::max_element(bytes.begin(), bytes.end())},
          {"largest_over_mean", info.sharding.at("largest_over_mean")}};
}

/// Adds shares of time, staleness and local steps, of all workers together and of each. Pre: summary["ranks"]
/// has one entry for each worker.
void add_by_worker(const RunInfo& info, const Journal& journal, Seconds makespan, json& summary) {
  const auto shares = time_shares(journal, makespan);
  const auto exchanges = exchange_shares(info, journal, makespan);
  const auto stale = staleness(journal), steps = local_steps(journal);
  summary["shares"] = shares.empty() ? json() : shares_json(mean_of(shares));
  summary["exchange_shares"] = exchanges.empty() ? json() : shares_json(mean_of(exchanges));
  summary["staleness"] = distribution_json(merged(stale), true);
  summary["local_steps"] = distribution_json(merged(steps), true);
  summary["phase_order"] = optional_json(phase_order(info, journal));
  for (json& entry : summary["ranks"]) {
    const Rank rank = entry["rank"];
    entry["shares"] = shares_json(shares.at(rank));
    const auto exchange = exchanges.find(rank);
    entry["exchange_shares"] = exchange == exchanges.end() ? json() : shares_json(exchange->second);
    entry["staleness"] = of_rank(stale, rank);
    entry["local_steps"] = of_rank(steps, rank);
  }
}

json ranks_json(const RunInfo& info, const std::map<Rank, RankTotals>& totals) {
  json ranks = json::array();
  for (const auto& [rank, t] : totals)
    ranks.push_back({{"rank", rank},
                     {"role", role_of(info, rank)},
                     {"host", host_of(info, rank)},
                     {"steps", t.steps},
                     {"samples", t.samples},
                     {"step_time_s", time_statistics(t.durations)},
                     {"bytes_sent", t.bytes_sent},
                     {"bytes_received", t.bytes_received}});
  return ranks;
}

/// Who departed and came, where workers may.
/// Without servers, each change of the members interrupts the round in progress. Empty where there were fewer
/// changes than rounds.
std::string fast_changes(const RunInfo& info, const Journal& journal, std::int64_t departures,
                         std::int64_t joined) {
  const Experiment& experiment = info.experiment;
  if (experiment.sync.over == sync::Route::server || experiment.starts_again()) return "";
  const auto first = std::ssize(experiment.placement.workers);
  const std::int64_t changes = departures + std::max<std::int64_t>(0, joined - first);
  if (changes <= journal.counted_rounds) return "";
  return fmt::format(
      "the workers changed {} times within {} rounds: machines come and depart faster than a round ends, so "
      "the "
      "job hardly advances; machines that live longer, or an exchange that takes less time, would help",
      changes, journal.counted_rounds);
}

json membership_of(const RunInfo& info, const Journal& journal, const SampleCounts& samples) {
  std::map<std::string, std::int64_t> events, roles;
  std::int64_t others = 0;
  for (const auto& change : journal.membership) {
    if (change.slot >= 0) ++events[change.event];
    if (change.slot >= 0 || change.event != "departed") continue;
    ++others;
    ++roles[change.role];
  }
  json membership = {{"departures", events["noticed"]},
                     {"warned", events["warned"]},
                     {"requested", events["requested"]},
                     {"refused", events["refused"]},
                     {"joined", events["joined"]},
                     {"lost_samples", samples.lost_is_known ? json(samples.lost) : json()}};
  if (const auto warning = fast_changes(info, journal, events["noticed"], events["joined"]); !warning.empty())
    membership["warning"] = warning;
  if (others > 0) membership.update({{"other_departures", others}, {"other_roles", roles}});
  if (info.generations.is_array() && !info.experiment.starts_again())
    membership["done_again_samples"] = optional_json(samples.done_again);
  visit_membership_figures(journal,
                           [&](const char* key, const auto& figure) { membership[key] = json_of(figure); });
  return membership;
}

}  // namespace

bool counts(const RunInfo& info, const StepRecord& step) { return step.step >= info.experiment.warmup_steps; }

json summarise(const RunInfo& info, const Journal& journal, Seconds makespan) {
  const auto totals = totals_by_rank(info, journal);
  std::vector<double> durations;
  RankTotals all;
  for (const auto& [rank, t] : totals) {
    durations.insert(durations.end(), t.durations.begin(), t.durations.end());
    all.steps += t.steps;
    all.bytes_sent += t.bytes_sent;
    all.bytes_received += t.bytes_received;
    all.exchanges += t.exchanges;
  }
  const SampleCounts samples = sample_counts(info, journal);
  const auto rate = [&](std::int64_t count) { return static_cast<double>(count) / makespan.count(); };
  json summary = {
      {"schema_version", RunInfo::schema_version},
      {"world", info.world},
      {"makespan_s", makespan.count()},
      {"samples", samples.processed},
      {"applied_samples", optional_json(samples.applied)},
      {"pending_samples", optional_json(samples.pending)},
      {"throughput", rate(samples.processed)},
      {"applied_throughput", samples.applied ? json(rate(*samples.applied)) : json()},
      {"steps", all.steps},
      {"rounds", static_cast<double>(all.exchanges) / static_cast<double>(totals.size())},
      {"warmup",
       {{"steps", info.experiment.warmup_steps},
        {"rule", "step_time_s and phases exclude the first " + std::to_string(info.experiment.warmup_steps) +
                     " steps of each worker; all other figures cover the whole run"}}},
      {"step_time_s", time_statistics(durations)},
      {"phases", phases_of(info, journal)},
      {"bytes", {{"sent", all.bytes_sent}, {"received", all.bytes_received}}},
      {"ranks", ranks_json(info, totals)},
      {"servers", servers_json(info, journal, makespan)},
      {"sharding", shards_json(info)},
      {"evaluations", evaluations_of(journal)},
      {"time_to_target", target_json(time_to_target(info, journal))}};
  visit_figures(journal, [&](const char* key, const auto& figure) { summary[key] = json_of(figure); });
  // Other jobs only record warnings.
  if (info.experiment.transience.may_depart() && !journal.membership.empty()) {
    summary["membership"] = membership_of(info, journal, samples);
    if (!info.experiment.starts_again()) summary["rounds"] = journal.counted_rounds;
  }
  if (const auto rounds = rounds_of_generations(info, journal)) summary["rounds"] = *rounds;
  add_by_worker(info, journal, makespan, summary);
  if (info.experiment.stop.accuracy > 0.0) summary["accuracy_stop"] = accuracy_stop_json(info, journal);
  if (info.ensemble.is_object()) summary["ensemble"] = info.ensemble;
  if (!journal.caches.empty()) {
    summary["cache"] = cache_of(journal);
    summary["data"] = data_figures(info, journal);
  }
  if (!journal.gpus.empty()) summary["gpus"] = gpu_figures(info, journal);
  if (!info.experiment.checkpoint.policy.empty()) summary["commits"] = commits_of(journal);
  return summary;
}

}  // namespace tandem
