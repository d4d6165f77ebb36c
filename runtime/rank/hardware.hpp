// The hardware of a machine, as its kernel and NVIDIA's driver describe it, and the speed of its disk.
#pragma once

#include <nlohmann/json_fwd.hpp>
#include <string>

namespace tandem {

/// {"host", "processor", "cores", "memory", "gpus": [{"name", "memory"}]}, sizes in bytes; memory 0: not
/// known. NVML lists the GPUs; without it the list is empty.
nlohmann::json describe_hardware();

struct DiskRates {
  double read;   ///< bytes per second, from the disk and not from the page cache
  double write;  ///< until the data are on the disk
};
/// Writes and reads a file of 64 MiB in `folder`, or less on a slow disk. Errors: WorldError.
DiskRates measure_disk(const std::string& folder);

}  // namespace tandem
