// Which machine each rank of a job runs on. Pure.
#pragma once

#include <map>
#include <optional>
#include <string>
#include <vector>

#include "policies/vocabulary/units.hpp"
#include "runtime/machines/machines.hpp"

namespace tandem::machines {

/// "node-1=a:0": host node-1 of the platform is machine a, and computes on its GPU 0.
struct Mapped {
  std::string host;
  std::string machine;
  std::optional<int> gpu;
};
/// Errors: ConfigError.
Mapped parse_mapping(const std::string& text);

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

/// The machine of each rank: that to which its host is mapped, else its address, else the one of its name,
/// else the only machine there is. Errors: ConfigError with the whole table when a host has no machine, or a
/// machine more ranks than slots.
std::vector<std::string> place(const PlacementRequest& request);

}  // namespace tandem::machines
