// The list of provisioning policies, in the order in which `tandem list provisioning` prints them.
#include "policies/provisioning/policies.hpp"

namespace tandem::provisioning {

const Catalog<Factory>& catalog() {
  static const Catalog<Factory> table("provisioning policy",
                                      {same(), other_zone(), longest_living(), diversify(), tiers()});
  return table;
}

}  // namespace tandem::provisioning
