// A platform of rented machines, around the machines of an experiment that no plan changes.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "platforms/description.hpp"
#include "platforms/offers.hpp"
#include "workloads/job/check/job_assembly.hpp"

namespace tandem::planning {

/// What an experiment's platform says of machines that a plan keeps, and of workers' machines in general.
struct KeptMachines {
  struct Port {
    BytesPerSecond rate{0.0};
    Seconds latency{0.0};
  };
  struct Kept {
    platforms::Host host;
    Port port;
  };
  /// Of ranks other than workers: their price is part of the plan. A host with an offer has its cores.
  std::vector<Kept> hosts;
  Port worker;                                ///< where an offer states no rate, and the latency
  std::vector<platforms::Disk> disks;         ///< of a worker, for commits
  std::map<std::string, std::string> config;  ///< of the platform file
};

/// A port is the first link of a host. Errors: ConfigError.
KeptMachines kept_machines(const std::vector<const LoadedJob*>& ways, PlatformReader& platforms);

/// Properties of a host that say what its machine costs, and where it is.
std::map<std::string, std::string> price_properties(const platforms::Offer& offer);

/// A host of one machine of the offer. Its properties say also how long such machines live
/// (transience.options.by_host).
platforms::Host rented_host(const platforms::Offer& offer, const std::string& name,
                            const std::string& machine, const KeptMachines& kept);

/// Machines of an offer.
struct RentedMachines {
  const platforms::Offer* offer = nullptr;
  int machines = 1;
  BytesPerSecond network{0.0};  ///< of each machine, one direction

  int devices() const { return machines * offer->count; }
  /// Of the hosts, a device each, machine by machine.
  std::vector<std::string> hosts() const;
};

/// One direction, of a device inside its machine: NVLink where the name of the device has it (SXM), else 16
/// lanes of PCIe 3.
BytesPerSecond rate_inside(const std::string& device);

/// A SimGrid platform file: all machines around one switch. Machines of several devices have a switch of
/// their own.
std::string rented_platform(const RentedMachines& rented, const KeptMachines& kept);

}  // namespace tandem::planning
