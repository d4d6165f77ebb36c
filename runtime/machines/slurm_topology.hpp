// The switches and blocks of a cluster as Slurm's topology.conf or topology.yaml lists them.
#pragma once

#include <string>
#include <vector>

namespace tandem::machines {

/// A switch, or a block of nodes.
struct Switch {
  std::string name;
  std::vector<std::string> nodes;  ///< directly below it
  std::vector<int> switches;       ///< numbers of the switches below it, which are earlier in the list
  bool operator==(const Switch&) const = default;
};

/// Reads a file by its name: *.yaml or *.yml, or else topology.conf. Of several topologies in a YAML file,
/// the default one. Errors: ConfigError with file and line: a key that is unknown, a switch that is missing,
/// twice below others or below itself, a node twice.
std::vector<Switch> read_slurm_topology(const std::string& path);

}  // namespace tandem::machines
