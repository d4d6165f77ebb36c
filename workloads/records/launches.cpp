#include "workloads/records/launches.hpp"

namespace tandem {

std::optional<Seconds> LaunchRecord::ready_after() const {
  if (number == 0 || !launched || !began) return std::nullopt;
  return *began - *launched;
}

std::vector<double> ready_times_s(const std::vector<LaunchRecord>& launches) {
  std::vector<double> times;
  for (const auto& launch : launches)
    if (const auto after = launch.ready_after()) times.push_back(after->count());
  return times;
}

}  // namespace tandem
