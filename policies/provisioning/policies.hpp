// The provisioning policies, one file each. Other code finds them in the catalogue.
#pragma once

#include <memory>

#include "policies/provisioning/policy.hpp"

namespace tandem::provisioning {

using Entry = Catalog<Factory>::Entry;

Entry same();
Entry other_zone();
Entry longest_living();
Entry diversify();
Entry tiers();

template <class Made>
std::unique_ptr<Policy> make_policy(const Setting& setting) {
  return std::make_unique<Made>(setting);
}

}  // namespace tandem::provisioning
