// What the machine of a host costs: its properties price_per_hour, billing_step, billing_minimum,
// free_if_revoked_within and billing_from, or those of the offer that the property `offer` names.
#pragma once

#include <string>
#include <vector>

#include "platforms/description.hpp"

namespace tandem::platforms {

/// Adds the properties that the host's offer states, its device, and tandem:vcpus; those that the host has
/// count more. "WORDS", of the shipped offers, or "FILE.csv: WORDS", of a file relative to `folder`. Errors:
/// ConfigError without place.
void add_offer(Host& host, const std::string& folder);
/// Every host with a price has the property tandem:machine then, by default its own name: hosts with the same
/// one are one machine. Errors: ConfigError with both hosts where hosts of one machine state different
/// prices.
void name_machines(std::vector<Host>& hosts);

}  // namespace tandem::platforms
