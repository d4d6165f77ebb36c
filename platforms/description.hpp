// A platform as plain data without SimGrid or Boost, so that the rank program can use it.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/choices.hpp"
#include "policies/vocabulary/units.hpp"

namespace tandem::platforms {

/// The performance of a device: an entry of the device catalogue, or derived from a host's `speed`.
struct Device {
  std::string name;
  FlopsPerSecond speed;        ///< sustained on training work in fp32, not the peak
  BytesPerSecond memory_rate;  ///< sustained by streaming kernels (update, reduce), bytes moved per second
  Seconds launch;              ///< fixed cost of starting one piece of work
  bool is_gpu = false;
  /// By other precisions of the data sheet: the sustained speed.
  std::map<Precision, FlopsPerSecond> other_speeds = {};
  /// Derived from a host's `speed`, which holds for the precision of any job.
  bool has_one_speed = false;
  /// Memory of a GPU; for a board, that of its host. Empty: not known, or sold in several sizes.
  std::optional<Bytes> memory = {};
  std::string source = {};  ///< of the figures; empty outside the catalogue
  double spread = 0.03;     ///< coefficient of variation of the computing time of a step

  bool operator==(const Device&) const = default;
  /// Whether the data sheet, or the platform file, gives a speed in this precision.
  bool gives(Precision precision) const;
  /// "fp32 | fp16": all precisions in which a speed is given.
  std::string given_precisions() const;
  /// Speed in this precision, or in fp32 where none is given. tf32 is permission to round: a device without
  /// it (before NVIDIA's Ampere, or a processor) really computes in fp32.
  FlopsPerSecond speed_for(Precision precision) const;
  /// The precision of speed_for() as a name; empty where the platform file states one speed for all.
  std::string precision_of_speed_for(Precision precision) const;
};

struct Disk {
  std::string name;
  BytesPerSecond read_rate;
  BytesPerSecond write_rate;
  std::map<std::string, std::string> properties = {};  ///< "size": its capacity
};

struct Host {
  std::string name;
  FlopsPerSecond speed{1e9};  ///< of one core, as in the platform file; 0: the host computes nothing
  int cores = 1;
  Device device;
  /// Number of the GPU of its machine that computes when devices are native. Ranks of hosts with the same
  /// number on one machine share it.
  std::optional<int> gpu = {};
  std::vector<Disk> disks;
  std::map<std::string, std::string> properties;
};

/// "speed 1 Gf x 1 core is 1 Gflop/s, ...": for a host with a device whose fp32 rate differs from the stated
/// `speed` by more than 1 %. A reader may take that `speed` for the rate that counts. Empty: no such
/// difference. The `speed` of a host with a GPU and several cores is that of its cores.
std::string ignored_speed(const Host& host);

/// The machine that departs, and is paid, as one: that of the property tandem:machine; by default each host
/// is one.
std::string machine_of(const Host& host);

/// The property of that name, else "tandem:" and that name, as of "region"; empty: the host has neither.
std::string property_of(const Host& host, const std::string& name);

/// Whether two hosts differ in their names alone. Hosts with disks are never alike, because the disks have
/// names.
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
/// How a platform file describes a device that is not in the catalogue.
extern const char* const device_of_ones_own;

}  // namespace tandem::platforms
