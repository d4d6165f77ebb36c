// The list of recovery policies, in the order in which `tandem list recovery` prints them.
#include "policies/recovery/policies.hpp"

namespace tandem::recovery {

const Catalog<Factory>& catalog() {
  static const Catalog<Factory> table("recovery policy",
                                      {shrink(), replace(), spares(), restart(), liveput()});
  return table;
}

}  // namespace tandem::recovery
