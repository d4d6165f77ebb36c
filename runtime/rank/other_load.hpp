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

/// 0 to 1, of the time of all cores. `ours`: what those computed who are no others.
double share_of_others(const CoreTimes& before, const CoreTimes& after, Seconds ours);

/// Watches from its construction on.
class OtherLoad {
 public:
  OtherLoad();
  /// Computed by this process.
  Seconds own() const;
  /// As share_of_others; nothing where the system does not tell.
  std::optional<double> share(Seconds ours) const;

 private:
  std::optional<CoreTimes> began_;
  Seconds own_before_;
};

}  // namespace tandem
