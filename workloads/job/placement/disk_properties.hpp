// How a disk of a platform file serves requests.
#pragma once

#include <string>

#include "platforms/description.hpp"
#include "workloads/cost/disk_queue.hpp"

namespace tandem {

/// <prop id="tandem:latency"> (0 without one) and <prop id="tandem:parallel"> (1 without one) of the disk.
/// `place`: of the host, for errors. Errors: ConfigError for a property that is no time or no number.
DiskService service_of(const platforms::Disk& disk, const std::string& place);

/// "FILE: host 'NAME'".
std::string place_of(const platforms::Host& host, const std::string& file);

}  // namespace tandem
