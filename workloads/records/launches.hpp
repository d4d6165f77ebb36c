// The launches of a job that started again, as `generations` of run.json has them. Pure.
#pragma once

#include <cstdint>
#include <nlohmann/json_fwd.hpp>
#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// Times are those of the job's clock.
struct LaunchRecord {
  std::int64_t number = 0;            ///< 0: the first one
  std::optional<Seconds> launched{};  ///< none: results of older versions do not say
  std::optional<Seconds> began{};     ///< all ranks were ready; none: they never were
  std::int64_t round = 0;             ///< from which it continued
  std::string ended{};                ///< why; empty: the last one

  /// From the launch until all ranks were ready. None also of the first one: the clock begins when they are.
  std::optional<Seconds> ready_after() const;
};
/// In their order. `generations`: of RunInfo; null, and empty: the job did not start again.
std::vector<LaunchRecord> launches_of(const nlohmann::json& generations);

/// LaunchRecord::ready_after() of the launches that have it.
std::vector<double> ready_times_s(const std::vector<LaunchRecord>& launches);

}  // namespace tandem
