// The checkpointing policies, one file each. Other code finds them in the catalogue.
#pragma once

#include "policies/checkpointing/policy.hpp"

namespace tandem::checkpointing {

using Entry = Catalog<Factory>::Entry;

Entry fixed();
Entry young();
Entry daly();
Entry optimal();
Entry hazard();
Entry on_warning();
Entry budget();

}  // namespace tandem::checkpointing
