// The machine on which each rank of a job runs. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "runtime/machines/machines.hpp"

namespace tandem::machines {

/// Host node-1 of the platform is machine a, and computes on its GPU 0.
struct Mapped {
  std::string host;
  std::string machine;
  std::optional<int> gpu = {};  ///< none: the number that the platform file gives
  bool operator==(const Mapped&) const = default;
};

/// All entries of --map.
struct Mapping {
  std::vector<Mapped> hosts;
  bool is_auto = false;  ///< hosts without a machine are assigned (deal.hpp)
};

/// The machines of some hosts as one entry of --map: "gpu-[0-7]" and "a:[0-7]".
struct MappingEntry {
  std::string hosts;
  std::string machines;
};

/// Each entry is "auto", or HOSTS=MACHINES with lists (names_in): "node-1=a:0", "node-[0-7]=a",
/// "node-[0-7]=gpu[01-08]", "gpu-[0-7]=a:[0-7]". One machine takes all hosts; otherwise there are as many.
/// Errors: ConfigError, also for a host that is in two entries.
Mapping parse_mapping(const std::vector<std::string>& entries);
/// The inverse: an entry for the hosts of a machine that have no GPU number, and one for those that have.
std::vector<MappingEntry> mapping_entries(const std::vector<Mapped>& hosts);

struct PlacedRank {
  std::string role;
  std::string host;  ///< of the platform
};

struct PlacementRequest {
  std::vector<Machine> machines;
  std::vector<PlacedRank> ranks;                      ///< by rank
  std::vector<Mapped> mapping = {};                   ///< --map
  std::map<std::string, std::string> addresses = {};  ///< property tandem:address, by host
};

/// The machine of a host: the one of --map, otherwise its address, otherwise the machine with its name.
/// Empty: none of the machines.
std::string named_machine(const std::string& host, const PlacementRequest& request);

/// The machine of each rank: named_machine, or the only machine. Errors: ConfigError with the whole table
/// when a host has no machine, or a machine has more ranks than slots.
std::vector<std::string> place(const PlacementRequest& request);

}  // namespace tandem::machines
