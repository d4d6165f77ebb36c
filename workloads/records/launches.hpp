// The launches of a job that started again, as `generations` of run.json has them. Plain data.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// Times are those of the job's clock.
struct LaunchRecord {
  std::int64_t number = 0;             ///< 0: the first one
  std::optional<Seconds> launched{};   ///< none: results of older versions do not say
  std::optional<Seconds> began{};      ///< when all ranks were ready; none: never
  std::int64_t round = 0;              ///< from which it continued
  std::optional<std::string> ended{};  ///< why; none: the last one
  /// If launches had other numbers of workers: how many this one had, and their slots.
  std::optional<int> workers{};
  std::vector<int> slots{};
  std::optional<std::int64_t> lost_samples{};  ///< of its finished steps that were done again; none: unknown
  /// The latest complete commit, if machines took the last copy of a part with them; none: they did not.
  std::optional<std::int64_t> lost_commit{};

  /// Time from the launch until all ranks were ready. None for the first launch: the clock begins when they
  /// are ready.
  std::optional<Seconds> ready_after() const;

  friend bool operator==(const LaunchRecord&, const LaunchRecord&) = default;
};

/// LaunchRecord::ready_after() of the launches that have it.
std::vector<double> ready_times_s(const std::vector<LaunchRecord>& launches);

}  // namespace tandem
