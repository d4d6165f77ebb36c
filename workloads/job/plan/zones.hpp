// Which machines of a job depart together.
#pragma once

#include <cstddef>
#include <map>
#include <span>
#include <string>
#include <vector>

#include "workloads/job/plan/job.hpp"
#include "workloads/records/result_directory.hpp"

namespace tandem {

/// The zone of each worker's slot, also of slots that the present generation lacks. Machines of equal zones
/// depart together. Hosts with the same property tandem:zone are in one zone, and those without it in
/// another.
std::vector<std::size_t> zones_of(const Job& job);
/// The places of all hosts of the job for which the platform file has them.
std::map<std::string, HostPlace> places_of(const Job& job);
/// The zones of all slots, followed by those of slots on these hosts.
std::vector<std::size_t> zones_of(const Job& job, std::span<const std::string> more);

}  // namespace tandem
