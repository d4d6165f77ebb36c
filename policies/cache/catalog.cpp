// The list of cache policies, in the order in which `tandem list cache` prints them.
#include "policies/cache/policies.hpp"

namespace tandem::cache {

const Catalog<Factory>& catalog() {
  static const Catalog<Factory> table("cache policy", {lru(), minio()});
  return table;
}

}  // namespace tandem::cache
