// What is known of the machines in the slots of a job, for policies that choose among them.
#pragma once

#include <vector>

#include "policies/vocabulary/occupants.hpp"
#include "workloads/job/plan/job.hpp"

namespace tandem {

/// Of each worker's slot, also of slots that the present generation lacks: the price that its host states (of
/// several hosts of one machine: an equal part), the speed of its device relative to the first slot's, and
/// whether its machines stay, and which slots one machine has. Empty where neither provisioning nor recovery
/// asks.
std::vector<SlotMachine> machines_of_slots(const Job& job);
/// Errors: KeyError naming a host without a price, if the provisioning policy asks for prices.
void check_known_prices(const Job& job);

}  // namespace tandem
