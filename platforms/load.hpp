// Reads SimGrid platform files. Every bad file ends in an error message, never in a crash.
#pragma once

#include <string>

#include "platforms/description.hpp"

namespace tandem::platforms {

/// Hosts of the largest platform that is loaded.
constexpr long long most_hosts = 1'000'000;

/// Loads any platform file that SimGrid loads, up to most_hosts. Hosts and links have the order of the file;
/// a SPLITDUPLEX link is one link. SimGrid's own loopback, which no file declares, is omitted.
///
/// A host's device is the one named by <prop id="device">, of the device catalogue; without it, each rank
/// computes on its own core while there are enough cores, with a memory rate of 10 GB/s and no launch cost.
/// <prop id="tandem:memory_rate"> (a rate) and <prop id="tandem:launch"> (a time) override the device's
/// figures.
///
/// <prop id="tandem:gpu"> is the number of the GPU that computes for the host when devices are native;
/// without it a host whose device is a GPU of the catalogue has number 0, and any other host computes on
/// processors. All ranks on the host share it, as they share the device in the simulation.
///
/// While SimGrid builds more than 50,000 hosts, a line on standard error says so.
///
/// Errors: ConfigError naming the file, with SimGrid's own message where SimGrid refused it.
/// Pre: this process has no SimGrid engine yet.
Description load_platform(const std::string& path);

}  // namespace tandem::platforms
