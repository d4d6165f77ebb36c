#include "runtime/mpi/device_staging.hpp"

#include <algorithm>
#include <utility>

namespace tandem {

void DeviceStaging::watch(std::function<void(const Copy&)> watcher, std::function<Seconds()> now) {
  if (!watcher) return copies_.watch({});
  copies_.watch([this, watcher = std::move(watcher), now = std::move(now)](auto copy) {
    watcher(timed(std::move(copy), now()));
  });
}

/// A device makes the copies of one direction one after the other, whatever a better estimate of its clock
/// says.
DeviceStaging::Copy DeviceStaging::timed(DeviceCopies::Ended copy, Seconds now) {
  Seconds& until = copied_until_[copy.out ? 1 : 0];
  const Seconds duration = copy.end.since(copy.begin);
  const Seconds end = std::max(clock_.time_of(std::move(copy.end), now), until);
  const Seconds start = std::max(end - duration, until);
  until = end;
  return {copy.out, copy.bytes, start, end};
}

}  // namespace tandem
