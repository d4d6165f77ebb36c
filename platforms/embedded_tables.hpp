// The tables that the program contains, so that every copy of it has the same: the build makes their texts.
#pragma once

#include <string>

namespace tandem::platforms {

/// Of platforms/devices.csv.
std::string devices_table();
/// Of platforms/offers.csv.
std::string offers_table();

}  // namespace tandem::platforms
