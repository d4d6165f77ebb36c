// Which machine keeps copies of what another one commits (checkpoint.to buddy). Pure; knows no files.
#pragma once

#include <map>
#include <span>
#include <string>
#include <vector>

namespace tandem::checkpointing {

/// Machine by machine, the other one that keeps copies of its parts.
using Buddies = std::map<std::string, std::string>;

/// A ring: the buddy of each machine is the next one in this order, that of the last one the first. So each
/// keeps the copies of one other machine, and a commit survives any loss that does not take a machine
/// together with its buddy. A machine alone has none. Pre: no machine is there twice.
Buddies make_buddies(std::span<const std::string> machines);

/// The machines that have what this one commits: itself first, then its buddy, if it has one.
std::vector<std::string> holders_of(const Buddies& buddies, const std::string& machine);

}  // namespace tandem::checkpointing
