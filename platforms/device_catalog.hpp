// Reads a table of devices, as platforms/devices.csv.
#pragma once

#include <map>
#include <string>
#include <vector>

#include "platforms/description.hpp"

namespace tandem::platforms {

struct DeviceTable {
  std::vector<Device> devices;
  std::map<std::string, std::vector<std::string>> aliases;  ///< by the name of a device
};

/// `name` of the file for messages. Errors: ConfigError with file, line and column.
DeviceTable read_devices(const std::string& name, std::string text);

/// Other names of a device of the catalogue, in lower case.
const std::vector<std::string>& device_aliases(const std::string& name);

}  // namespace tandem::platforms
