// The cache policies, one file each. Other code finds them in the catalogue.
#pragma once

#include "policies/cache/policy.hpp"

namespace tandem::cache {

Catalog<Factory>::Entry lru();
Catalog<Factory>::Entry minio();

}  // namespace tandem::cache
