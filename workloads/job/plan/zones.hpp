// Which machines of a job depart together.
#pragma once

#include <cstddef>
#include <span>
#include <string>
#include <vector>

#include "workloads/job/plan/job.hpp"

namespace tandem {

/// Of each worker's slot, also of those that the present generation lacks: machines of equal zones fall
/// together. Hosts with the same property tandem:zone are in one zone, and those without it in another.
std::vector<std::size_t> zones_of(const Job& job);
/// The same, then of slots on these hosts.
std::vector<std::size_t> zones_of(const Job& job, std::span<const std::string> more);

}  // namespace tandem
