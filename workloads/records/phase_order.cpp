#include "workloads/records/phase_order.hpp"

#include <algorithm>
#include <cmath>
#include <complex>
#include <map>
#include <numbers>

#include "workloads/records/intervals.hpp"
#include "workloads/records/summary.hpp"

namespace tandem {
namespace {

/// The counted steps of one worker in order of time, and a position that only moves forward.
class StepClock {
 public:
  explicit StepClock(std::vector<Interval> steps) : steps_(std::move(steps)) {}

  Seconds first() const { return steps_.front().begin; }
  Seconds last() const { return steps_.back().end; }
  const std::vector<Interval>& steps() const { return steps_; }

  /// Share of the current step that is done; between two steps, 1. Pre: first() <= time, which never
  /// decreases.
  double phase_at(Seconds time) {
    while (next_ < steps_.size() && steps_[next_].begin <= time) ++next_;
    const Interval& current = steps_[next_ - 1];
    if (time >= current.end) return 1.0;
    return (time - current.begin) / (current.end - current.begin);
  }

 private:
  std::vector<Interval> steps_;
  std::size_t next_ = 0;  ///< first step that starts later
};

struct Clocks {
  std::vector<Rank> workers;
  std::vector<StepClock> clocks;
  Interval common;  ///< all workers are between their first and last counted step
};

/// None with fewer than two workers, or without a common time.
std::optional<Clocks> clocks_of(const RunInfo& info, const Journal& journal) {
  std::map<Rank, std::vector<Interval>> steps;
  std::size_t workers = 0;
  for (const auto& role : info.roles) workers += role == "worker" ? 1 : 0;
  for (const auto& step : journal.steps)
    if (counts(info, step)) steps[step.rank].push_back({step.start, step.start + step.duration()});
  if (workers < 2 || steps.size() != workers) return std::nullopt;
  Clocks all;
  for (auto& [rank, own] : steps) {
    std::ranges::sort(own, {}, &Interval::begin);
    all.workers.push_back(rank);
    all.clocks.emplace_back(std::move(own));
  }
  const auto first = [](const StepClock& clock) { return clock.first(); };
  const auto last = [](const StepClock& clock) { return clock.last(); };
  all.common = {first(*std::ranges::max_element(all.clocks, {}, first)),
                last(*std::ranges::min_element(all.clocks, {}, last))};
  if (all.common.end <= all.common.begin) return std::nullopt;
  return all;
}

/// Spread like multiples of the golden ratio, so that no period of the steps is sampled at one phase only.
std::vector<Seconds> moments_in(const Interval& interval, std::size_t count) {
  std::vector<double> shares;
  for (std::size_t i = 0; i < count; ++i)
    shares.push_back(std::fmod(static_cast<double>(i) * std::numbers::phi, 1.0));
  std::ranges::sort(shares);
  std::vector<Seconds> moments;
  for (const double share : shares)
    moments.push_back(interval.begin + (interval.end - interval.begin) * share);
  return moments;
}

}  // namespace

std::optional<double> phase_order(const RunInfo& info, const Journal& journal) {
  auto all = clocks_of(info, journal);
  if (!all) return std::nullopt;
  // The work is bounded for thousands of workers; 256 moments leave an error below 0.03.
  const std::size_t workers = all->clocks.size();
  const std::size_t moments = std::clamp<std::size_t>(1'000'000 / workers, 256, 8192);
  double sum = 0;
  for (const Seconds moment : moments_in(all->common, moments)) {
    std::complex<double> mean;
    for (auto& clock : all->clocks) mean += std::polar(1.0, 2 * std::numbers::pi * clock.phase_at(moment));
    sum += std::abs(mean) / static_cast<double>(workers);
  }
  return sum / static_cast<double>(moments);
}

PhaseSeries phase_series(const RunInfo& info, const Journal& journal, std::size_t most) {
  auto all = clocks_of(info, journal);
  if (!all) return {};
  PhaseSeries series{.workers = all->workers, .times = {}, .phases = {}};
  for (const Interval& step : all->clocks.front().steps())
    if (step.begin >= all->common.begin && step.begin < all->common.end) series.times.push_back(step.begin);
  if (series.times.size() > most) {
    const auto skipped = static_cast<std::ptrdiff_t>((series.times.size() - most) / 2);
    series.times.erase(series.times.begin(), series.times.begin() + skipped);
    series.times.resize(most);
  }
  for (const Seconds time : series.times) {
    auto& row = series.phases.emplace_back();
    for (auto& clock : all->clocks) row.push_back(clock.phase_at(time));
  }
  return series;
}

}  // namespace tandem
