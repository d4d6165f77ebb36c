// A platform as plain data, for the rank program too: without SimGrid or Boost.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem::platforms {

/// The performance of a device: an entry of the device catalogue, or derived from a host's `speed`.
struct Device {
  std::string name;
  FlopsPerSecond speed;        ///< sustained on training work, not the peak
  BytesPerSecond memory_rate;  ///< sustained by streaming kernels (update, reduce), bytes moved per second
  Seconds launch;              ///< fixed cost of starting one piece of work
  bool is_gpu = false;
};

struct Disk {
  std::string name;
  BytesPerSecond read_rate;
  BytesPerSecond write_rate;
  std::map<std::string, std::string> properties = {};  ///< "size": its capacity
};

struct Host {
  std::string name;
  FlopsPerSecond speed;  ///< of one core, as in the platform file
  int cores = 1;
  Device device;
  /// Number of the GPU of its machine that computes when devices are native. Ranks of hosts with the same
  /// number on one machine share it.
  std::optional<int> gpu = {};
  std::vector<Disk> disks;
  std::map<std::string, std::string> properties;
};

/// Whether two hosts without disks differ in their names alone; hosts with disks differ in those of the
/// disks.
bool alike(const Host& a, const Host& b);

struct Link {
  std::string name;
  BytesPerSecond bandwidth;
  Seconds latency;
  std::string sharing;  ///< "SHARED", "SPLITDUPLEX", "FATPIPE" or "WIFI"
};

bool alike(const Link& a, const Link& b);

struct Description {
  std::string file;  ///< path it was loaded from
  std::vector<Host> hosts;
  std::vector<Link> links;
  std::map<std::string, std::string> config;  ///< the file's own <config>, flag -> value

  /// Errors: ConfigError with the nearest host name.
  const Host& host(const std::string& name) const;
};

/// Devices that a platform file may name in <prop id="device">. Source of each figure in device_catalog.cpp.
const std::vector<Device>& device_catalog();
/// Errors: ConfigError with the nearest device name and all known ones.
const Device& find_device(const std::string& name);

}  // namespace tandem::platforms
