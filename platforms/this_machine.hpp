// Writes platform files: this machine as measured, and the twin of a platform whose hosts all run on one
// machine.
#pragma once

#include <optional>
#include <string>

#include "platforms/description.hpp"

namespace tandem::platforms {

/// Measured one-way cost of a message between two processes of one machine.
struct MeasuredNetwork {
  Seconds latency;
  BytesPerSecond bandwidth;
};

struct MeasuredDisk {
  BytesPerSecond read_rate;
  BytesPerSecond write_rate;
  Seconds latency{0};  ///< of a request
  int parallel = 1;    ///< requests served at the same time
};

struct MeasuredMachine {
  std::string name;            ///< name of the processor, for the file's comment
  std::string command;         ///< the command that measured it, for the file's comment
  int cores;                   ///< available to ranks
  FlopsPerSecond core_speed;   ///< sustained on training work
  BytesPerSecond memory_rate;  ///< of one core
  MeasuredNetwork network;
  std::optional<MeasuredDisk> disk;
};

/// A platform file with one host, `this-machine`: ranks on it share its cores, and any two of them are
/// `network.latency` apart at `network.bandwidth`. Pre: every figure positive.
std::string this_machine_xml(const MeasuredMachine& machine);

/// A platform file with the hosts of `platform` (speed, cores, properties, disks) on the network of one
/// machine: any two hosts, and two ranks on one host, are `network.latency` apart at `network.bandwidth`.
/// `disk`, if given, replaces the rates of every disk. Network settings of the platform's own <config> are
/// omitted. Pre: every figure positive.
std::string twin_xml(const Description& platform, const MeasuredNetwork& network,
                     const std::optional<MeasuredDisk>& disk = {});

}  // namespace tandem::platforms
