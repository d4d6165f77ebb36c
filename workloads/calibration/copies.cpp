// Times of copies between a device's memory and pinned memory of its host.
#include "policies/vocabulary/quantile.hpp"
#include "workloads/calibration/measurement.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem::calibration {
namespace {

/// Waits on the host, like a rank, but returns the device's own time.
double time_copy(ComputeDevice& device, std::byte* own, std::byte* pinned, std::size_t bytes, bool out) {
  // A copy of zero bytes, so that both marks belong to the same queue of copies.
  const DeviceMark begin = out ? device.copy_out(pinned, own, 0) : device.copy_in(own, pinned, 0);
  const DeviceMark end = out ? device.copy_out(pinned, own, bytes) : device.copy_in(own, pinned, bytes);
  while (!device.has_reached(end)) {
  }
  const Seconds taken = device.between(begin, end);
  device.forget(begin);
  device.forget(end);
  return taken.count();
}

}  // namespace

std::vector<Profile::CopyEntry> measure_copies(ComputeDevice& device, const CalibrationSetting& setting,
                                               std::uint64_t seed) {
  if (device.is_host()) return {};
  struct Kind {
    std::int64_t bytes;
    bool out;
  };
  std::vector<Kind> kinds;
  std::int64_t largest = 0;
  for (const std::int64_t bytes : setting.message_bytes) {
    kinds.push_back({bytes, true});
    kinds.push_back({bytes, false});
    largest = std::max(largest, bytes);
  }
  const DeviceArray<std::byte> own(device, static_cast<std::size_t>(largest));
  const PinnedArray<std::byte> pinned(device, static_cast<std::size_t>(largest));
  device.finish();
  std::vector<std::vector<double>> times(kinds.size());
  for (const std::size_t kind :
       shuffled_plan(std::vector<int>(kinds.size(), setting.message_repetitions), seed))
    times[kind].push_back(time_copy(device, own.data(), pinned.data(),
                                    static_cast<std::size_t>(kinds[kind].bytes), kinds[kind].out));
  std::vector<Profile::CopyEntry> entries;
  for (std::size_t i = 0; i < kinds.size(); ++i)
    entries.push_back({kinds[i].bytes, kinds[i].out, quantile(times[i], 0.5), spread_of(times[i]), times[i]});
  return entries;
}

}  // namespace tandem::calibration
