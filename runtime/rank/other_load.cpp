#include "runtime/rank/other_load.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <fstream>
#include <numeric>
#include <sstream>

namespace tandem {
namespace {

std::optional<CoreTimes> core_times() {
  std::ifstream file("/proc/stat");
  std::string line;
  if (!std::getline(file, line)) return std::nullopt;
  return parse_core_times(line, static_cast<double>(sysconf(_SC_CLK_TCK)));
}

Seconds computed_here() {
  rusage usage{};
  if (getrusage(RUSAGE_SELF, &usage) != 0) return Seconds(0);
  const auto seconds = [](const timeval& time) {
    return static_cast<double>(time.tv_sec) + 1e-6 * static_cast<double>(time.tv_usec);
  };
  return Seconds(seconds(usage.ru_utime) + seconds(usage.ru_stime));
}

}  // namespace

std::optional<CoreTimes> parse_core_times(const std::string& line, double ticks_per_second) {
  enum { user, nice, system, idle, iowait, irq, softirq, steal, kinds };
  std::istringstream text(line);
  std::string name;
  std::array<double, kinds> ticks{};
  text >> name;
  for (double& of_kind : ticks) text >> of_kind;
  if (!text || name != "cpu") return std::nullopt;
  return CoreTimes{Seconds(std::accumulate(ticks.begin(), ticks.end(), 0.0) / ticks_per_second),
                   Seconds((ticks[user] + ticks[nice] + ticks[system] + ticks[steal]) / ticks_per_second)};
}

double share_of_others(const CoreTimes& before, const CoreTimes& after, Seconds ours) {
  const Seconds total = after.total - before.total;
  if (total <= Seconds(0)) return 0.0;
  return std::clamp((after.busy - before.busy - ours) / total, 0.0, 1.0);
}

OtherLoad::OtherLoad() : began_(core_times()), own_before_(computed_here()) {}

Seconds OtherLoad::own() const { return computed_here() - own_before_; }

std::optional<double> OtherLoad::share(Seconds ours) const {
  const std::optional<CoreTimes> now = core_times();
  if (!began_ || !now) return std::nullopt;
  return share_of_others(*began_, *now, ours);
}

}  // namespace tandem
