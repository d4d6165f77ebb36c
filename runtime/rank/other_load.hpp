// The share of this machine that other programs used. Measurements are trustworthy only if it was small.
#pragma once

#include <optional>
#include <string>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// Time of all cores of this machine since it booted.
struct CoreTimes {
  Seconds total{0};
  Seconds busy{0};  ///< running processes, or taken by the host of a virtual machine; without interrupts
};

/// Of the first line of /proc/stat, "cpu  user nice system idle iowait irq softirq steal ...", in ticks of
/// 1 / `ticks_per_second` s; empty if the line has another form.
std::optional<CoreTimes> parse_core_times(const std::string& line, double ticks_per_second);

/// 0 to 1, of the time of all cores. `ours`: the time that this job computed.
double share_of_others(const CoreTimes& before, const CoreTimes& after, Seconds ours);

/// Measures from its construction.
class OtherLoad {
 public:
  OtherLoad();
  /// Time that this process computed.
  Seconds own() const;
  /// As share_of_others; empty if the system does not report it.
  std::optional<double> share(Seconds ours) const;

 private:
  std::optional<CoreTimes> began_;
  Seconds own_before_;
};

}  // namespace tandem
