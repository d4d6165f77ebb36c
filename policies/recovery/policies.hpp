// The recovery policies, one file each. Other code finds them in the catalogue.
#pragma once

#include "policies/recovery/policy.hpp"

namespace tandem::recovery {

using Entry = Catalog<Factory>::Entry;

Entry shrink();
Entry replace();
Entry spares();
Entry restart();
Entry liveput();

}  // namespace tandem::recovery
