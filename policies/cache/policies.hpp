// The cache policies, one file each. Other code finds them in the catalogue.
#pragma once

#include "policies/cache/policy.hpp"

namespace tandem::cache {

Catalog<Factory>::Entry arc();
Catalog<Factory>::Entry belady();
Catalog<Factory>::Entry clock();
Catalog<Factory>::Entry fifo();
Catalog<Factory>::Entry gdsf();
Catalog<Factory>::Entry lfu();
Catalog<Factory>::Entry lirs();
Catalog<Factory>::Entry lru();
Catalog<Factory>::Entry minio();
Catalog<Factory>::Entry random();
Catalog<Factory>::Entry s3_fifo();
Catalog<Factory>::Entry sieve();
Catalog<Factory>::Entry slru();
Catalog<Factory>::Entry two_q();

}  // namespace tandem::cache
