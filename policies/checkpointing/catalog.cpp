// The list of checkpointing policies, in the order in which `tandem list checkpointing` prints them.
#include "policies/checkpointing/policies.hpp"

namespace tandem::checkpointing {

const Catalog<Factory>& catalog() {
  static const Catalog<Factory> table(
      "checkpointing policy", {fixed(), young(), daly(), optimal(), hazard(), on_warning(), budget()});
  return table;
}

}  // namespace tandem::checkpointing
