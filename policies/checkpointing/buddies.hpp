// Chooses for each machine another one that keeps copies of its commits (checkpoint.to buddy). Pure; knows
// no files.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

namespace tandem::checkpointing {

/// By machine: its buddy, which keeps copies of its parts.
using Buddies = std::map<std::string, std::string>;

/// A ring: the buddy of each machine is the next one in this order, that of the last one is the first. Each
/// machine keeps the copies of one other machine. A commit survives every loss except that of a machine
/// together with its buddy. A single machine has no buddy. Pre: no machine is listed twice.
Buddies make_buddies(std::span<const std::string> machines);

/// The buddies are these backups in turn, such as the few machines that stay. A backup has another one as its
/// buddy, or none. Pre: no machine is listed twice; at least one backup.
Buddies make_buddies(std::span<const std::string> machines, std::span<const std::string> backups);

/// The machines that have the commits of this one: itself first, then its buddy, if it has one.
std::vector<std::string> holders_of(const Buddies& buddies, const std::string& machine);

}  // namespace tandem::checkpointing
