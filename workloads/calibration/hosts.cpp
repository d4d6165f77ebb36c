// How fast other hosts, or hosts of another kind, are than that of rank 0, for each kind of work.
#include <algorithm>

#include "policies/vocabulary/quantile.hpp"
#include "workloads/calibration/measurement.hpp"

namespace tandem::calibration {
namespace {

/// The measurements of a rank on another host as one message: all step times, then for each operation its
/// first time and all other times.
std::vector<double> flat(const ComputeTimes& times) {
  std::vector<double> values = times.step_s;
  for (const auto& entry : times.entries) {
    values.push_back(entry.first_s);
    values.insert(values.end(), entry.raw_s.begin(), entry.raw_s.end());
  }
  return values;
}

/// `own`: times of the same operations.
ComputeTimes unflat(const std::vector<double>& values, const ComputeTimes& own, std::size_t repetitions) {
  const auto count = static_cast<std::ptrdiff_t>(repetitions);
  auto at = values.begin() + count;
  ComputeTimes times{own.entries, 0, {values.begin(), at}};
  for (auto& entry : times.entries) {
    entry.first_s = *at++;
    entry.raw_s.assign(at, at + count);
    entry.median_s = quantile(entry.raw_s, 0.5);
    at += count;
  }
  return times;
}

/// Sums of the additional time of first executions, and of usual times.
struct Sums {
  double usual_s = 0.0;
  double first_extra_s = 0.0;
};

Sums sums_of(const ComputeTimes& times, Work::Kind kind) {
  Sums sums;
  for (const auto& entry : times.entries) {
    if (entry.kind != kind) continue;
    sums.usual_s += entry.median_s;
    sums.first_extra_s += std::max(0.0, entry.first_s - entry.median_s);
  }
  return sums;
}

Profile::HostEntry host_entry(const ComputeTimes& own, const ComputeTimes& others) {
  const double ratio = quantile(others.step_s, 0.5) / quantile(own.step_s, 0.5);
  Profile::HostEntry entry{"", ratio, spread_of(others.step_s), others.step_s};
  for (std::size_t i = 0; i < work_names.size(); ++i) {
    const auto kind = static_cast<Work::Kind>(i);
    const Sums of_own = sums_of(own, kind);
    const Sums of_others = sums_of(others, kind);
    if (of_own.usual_s <= 0.0 || of_others.usual_s <= 0.0) continue;
    const double usual = of_others.usual_s / of_own.usual_s;
    const double first = of_own.first_extra_s > 0.0 ? of_others.first_extra_s / of_own.first_extra_s : usual;
    entry.works.push_back({kind, usual, first});
  }
  return entry;
}

Slice slice_of(std::vector<double>& values) {
  return {Bytes(static_cast<std::int64_t>(values.size() * sizeof(double))),
          reinterpret_cast<std::byte*>(values.data())};
}

/// The side of the other host.
void measure_for_rank_0(const Job& job, Context& context, const CalibrationSetting& setting) {
  Pending go = protocol::receive<"pings">(context, 0);
  context.wait(go);
  std::vector<double> values = flat(measure_alone(job, context, setting.host_repetitions));
  Pending sent = protocol::send<"pongs">(context, 0, slice_of(values));
  context.wait(sent);
}

}  // namespace

std::vector<Profile::HostEntry> measure_hosts(const Job& job, Context& context,
                                              const CalibrationSetting& setting, const ComputeTimes& own) {
  if (setting.host_ranks.empty()) return {};
  const auto& ranks = setting.host_ranks;
  if (context.rank() > 0) {
    if (std::find(ranks.begin(), ranks.end(), context.rank()) != ranks.end())
      measure_for_rank_0(job, context, setting);
    return {};
  }
  const auto named = [&](Rank rank, Profile::HostEntry entry) {
    const auto index = static_cast<std::size_t>(rank);
    if (index < job.roster().assignments().size()) entry.host = job.roster().assignments()[index].host;
    entry.kind = job.devices().kind_of(rank);
    return entry;
  };
  const auto repetitions = static_cast<std::size_t>(setting.host_repetitions);
  std::vector<double> values(repetitions + own.entries.size() * (1 + repetitions));
  std::vector<Profile::HostEntry> hosts{named(0, host_entry(own, own))};
  for (const Rank rank : ranks) {
    Pending received = protocol::receive<"pongs">(context, rank, slice_of(values));
    Pending go = protocol::send<"pings">(context, rank, {});
    context.wait(go);
    context.wait(received);
    hosts.push_back(named(rank, host_entry(own, unflat(values, own, repetitions))));
  }
  return hosts;
}

}  // namespace tandem::calibration
