// The parts of a machine as two tools write them into XML files: NCCL (NCCL_TOPO_DUMP_FILE) and hwloc
// (lstopo FILE.xml).
#pragma once

#include <optional>
#include <string>
#include <vector>

#include "platforms/description.hpp"

namespace tandem::platforms {

struct MachineTopology {
  struct Gpu {
    std::string name;         ///< model, or "compute capability 9.0"; empty: not known
    BytesPerSecond nvlink{};  ///< of its NVLinks together, one direction; 0: none
  };
  struct Adapter {
    std::string name;        ///< "mlx5_0"
    BytesPerSecond speed{};  ///< 0: not known
  };
  std::optional<int> cores;     ///< physical ones
  std::optional<Bytes> memory;  ///< of all NUMA nodes
  std::string processor;        ///< model; empty: not known
  std::vector<Gpu> gpus;
  std::vector<Adapter> adapters;  ///< network adapters
};

/// Errors: ConfigError with file and line, also for figures that are not numbers.
MachineTopology read_nccl_topology(const std::string& path);
/// Of hwloc 2. Errors: as read_nccl_topology.
MachineTopology read_hwloc_topology(const std::string& path);

/// Adds figures of the topology to the host: its number of cores, and the properties memory,
/// tandem:processor, tandem:gpus, tandem:nvlink (of the GPU with the least), tandem:network. They replace
/// figures that were found without the file.
void add_topology(const MachineTopology& topology, Host& host);

}  // namespace tandem::platforms
