// The figures of summary.json.
#include <algorithm>
#include <cmath>
#include <limits>
#include <map>
#include <numeric>

#include "workloads/records/quantile.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem {
namespace {

using nlohmann::json;

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

/// What a rank's steps add up to. Times are of counted steps, all else of all steps.
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
  for (const auto& step : journal.steps) {
    auto& totals = ranks[step.rank];
    if (counts(info, step)) totals.durations.push_back(step.duration().count());
    ++totals.steps;
    totals.samples += step.samples;
    totals.bytes_sent += step.bytes_sent;
    totals.bytes_received += step.bytes_received;
    if (step.step < totals.last_step) continue;
    const bool exchanged =
        step.bytes_sent > 0 || step.phases[static_cast<std::size_t>(Phase::exchange)].count() > 0;
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
  CacheRecord all;
  for (const auto& record : journal.caches) {
    all.local += record.local;
    all.storage += record.storage;
    all.local_bytes += record.local_bytes;
    all.storage_bytes += record.storage_bytes;
    all.storage_time += record.storage_time;
  }
  return {{"requests", all.local + all.storage},
          {"local", all.local},
          {"storage", all.storage},
          {"hit_ratio", static_cast<double>(all.local) / static_cast<double>(all.local + all.storage)},
          {"local_bytes", all.local_bytes},
          {"storage_bytes", all.storage_bytes},
          {"storage_time_s", all.storage_time.count()}};
}

json evaluations_of(const Journal& journal) {
  json curve = json::array();
  for (const auto& e : journal.evaluations)
    curve.push_back({{"round", e.round},
                     {"samples", e.samples},
                     {"checkpoint_time_s", e.checkpoint_time.count()},
                     {"time_s", e.time.count()},
                     {"accuracy", e.accuracy},
                     {"loss", e.loss}});
  return curve;
}

}  // namespace

bool counts(const RunInfo& info, const StepRecord& step) { return step.step >= info.experiment.warmup_steps; }

json summarise(const RunInfo& info, const Journal& journal, Seconds makespan) {
  const auto totals = totals_by_rank(info, journal);
  std::vector<double> durations;
  json ranks = json::array();
  RankTotals all;
  for (const auto& [rank, t] : totals) {
    durations.insert(durations.end(), t.durations.begin(), t.durations.end());
    all.steps += t.steps;
    all.samples += t.samples;
    all.bytes_sent += t.bytes_sent;
    all.bytes_received += t.bytes_received;
    all.exchanges += t.exchanges;
    const auto index = static_cast<std::size_t>(rank);
    ranks.push_back({{"rank", rank},
                     {"role", index < info.roles.size() ? info.roles[index] : ""},
                     {"host", index < info.hosts.size() ? info.hosts[index] : ""},
                     {"steps", t.steps},
                     {"samples", t.samples},
                     {"step_time_s", time_statistics(t.durations)},
                     {"bytes_sent", t.bytes_sent},
                     {"bytes_received", t.bytes_received}});
  }
  json summary = {{"schema_version", RunInfo::schema_version},
                  {"world", info.world},
                  {"makespan_s", makespan.count()},
                  {"samples", all.samples},
                  {"dropped_samples", journal.dropped_samples},
                  {"throughput", static_cast<double>(all.samples) / makespan.count()},
                  {"steps", all.steps},
                  {"rounds", static_cast<double>(all.exchanges) / static_cast<double>(totals.size())},
                  {"warmup",
                   {{"steps", info.experiment.warmup_steps},
                    {"rule", "step_time_s and phases leave out the first " +
                                 std::to_string(info.experiment.warmup_steps) +
                                 " steps of each worker; all other figures are of the whole run"}}},
                  {"step_time_s", time_statistics(durations)},
                  {"phases", phases_of(info, journal)},
                  {"bytes", {{"sent", all.bytes_sent}, {"received", all.bytes_received}}},
                  {"ranks", std::move(ranks)},
                  {"evaluations", evaluations_of(journal)},
                  {"late_devices", journal.late_devices},
                  {"core_wait_s", journal.core_wait.count()},
                  {"other_load", journal.other_load}};
  if (!journal.caches.empty()) summary["cache"] = cache_of(journal);
  return summary;
}

}  // namespace tandem
