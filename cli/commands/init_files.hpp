// The texts of the files that `tandem init` writes: a platform of sites with devices, and an experiment on
// it.
#pragma once

#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem::cli {

/// One way, of each link between a machine and a switch that is written: assumed, of Ethernet. A message from
/// one machine to another passes two.
inline constexpr Seconds cable_latency{20e-6};

/// Equal devices of one site.
struct DeviceGroup {
  std::string device;  ///< a name of the device catalogue
  int count = 1;
};

/// What a user wants to train, and on which machines. Texts as the user wrote them.
struct NewJob {
  std::string name;
  std::vector<std::vector<DeviceGroup>> sites;
  std::string within;        ///< bandwidth of each device's link to its site's switch, "10Gbps"
  std::string between = {};  ///< bandwidth of each site's link to the others
  std::string latency = {};  ///< one way, from one site to another: "10ms"
  std::string model = {};
  std::string dataset = {};
  std::string algorithm = {};
  /// Number of machines of a site. Each has the devices of its site, NVLink inside and a link to the
  /// network. 0: each device is a machine of its own.
  int nodes = 0;
  std::string nvlink = {};        ///< bandwidth of each device inside its node; empty: of its data sheet
  std::string object_store = {};  ///< rate of a store from which caches of the nodes read; empty: none
  std::string storage = {};       ///< bandwidth of the disk with the samples; empty: workers hold them
  Bytes dataset_size{0};          ///< of all training samples

  bool reads_samples() const { return !storage.empty() || !object_store.empty(); }
};

/// "a100:2,t4:6" for `sites` sites. With one entry per site, each site has its own entry; otherwise every
/// site has an equal part of each. Errors: ConfigError saying what is allowed.
std::vector<std::vector<DeviceGroup>> parse_devices(const std::string& text, int sites);
/// Errors: ConfigError saying what is allowed, for a text that is no bandwidth of SimGrid ("1Gbps").
void check_bandwidth(const std::string& text);

/// A SimGrid platform file with comments. Pre: the texts of `job` are checked.
std::string platform_text(const NewJob& job);
/// An experiment file with comments. `platform_file`: its path, relative to the experiment file.
std::string experiment_text(const NewJob& job, const std::string& platform_file);
/// One line: machines, devices and how they exchange.
std::string summary_text(const NewJob& job);

}  // namespace tandem::cli
