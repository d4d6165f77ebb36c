// How much of this machine others used meanwhile: what was measured in that time is only good if it is
// little.
#pragma once

#include <optional>
#include <string>

#include "policies/vocabulary/units.hpp"

namespace tandem {

/// What the cores of this machine did since it started.
struct CoreTimes {
  Seconds total{0};
  Seconds busy{0};  ///< with processes, or taken by the host of a virtual machine; not with interrupts
};

/// Of the first line of /proc/stat, "cpu  user nice system idle iowait irq softirq steal ...", in ticks of
/// 1 / `ticks_a_second` s; nothing when it is not of that form.
std::optional<CoreTimes> parse_core_times(const std::string& line, double ticks_a_second);

/// 0 to 1, of the time of all cores. `own`: computed by the one who asks.
double share_of_others(const CoreTimes& before, const CoreTimes& after, Seconds own);

/// Watches from its construction on.
class OtherLoad {
 public:
  OtherLoad();
  /// Of the time of all cores, without this process and those of its children that ended and were waited for;
  /// nothing where the system does not tell.
  std::optional<double> share() const;

 private:
  std::optional<CoreTimes> began_;
  Seconds own_;
};

}  // namespace tandem
