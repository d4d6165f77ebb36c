// The provisioning policies, one file each. Other code finds them in the catalogue.
#pragma once

#include "policies/provisioning/policy.hpp"
#include "policies/vocabulary/make_policy.hpp"

namespace tandem::provisioning {

using Entry = Catalog<Factory>::Entry;

Entry same();
Entry other_zone();
Entry longest_living();
Entry diversify();
Entry tiers();
Entry cheapest();
Entry work_per_dollar();
Entry expected_value();
Entry mixture();
Entry deadline();

}  // namespace tandem::provisioning
