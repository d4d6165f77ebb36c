// The cache policies, one file each. Other code finds them in the catalogue.
#pragma once

#include "policies/cache/policy.hpp"

namespace tandem::cache {

Catalog<Factory>::Entry arc();
Catalog<Factory>::Entry belady();
Catalog<Factory>::Entry clock();
Catalog<Factory>::Entry deepio();
Catalog<Factory>::Entry fifo();
Catalog<Factory>::Entry foresight();
Catalog<Factory>::Entry gdsf();
Catalog<Factory>::Entry hoard();
Catalog<Factory>::Entry icache();
Catalog<Factory>::Entry lfu();
Catalog<Factory>::Entry lhd();
Catalog<Factory>::Entry lirs();
Catalog<Factory>::Entry locality_aware();
Catalog<Factory>::Entry lru();
Catalog<Factory>::Entry minio();
Catalog<Factory>::Entry nopfs();
Catalog<Factory>::Entry ods();
Catalog<Factory>::Entry partitioned_minio();
Catalog<Factory>::Entry quiver();
Catalog<Factory>::Entry random();
Catalog<Factory>::Entry s3_fifo();
Catalog<Factory>::Entry shade();
Catalog<Factory>::Entry sieve();
Catalog<Factory>::Entry slru();
Catalog<Factory>::Entry two_q();
Catalog<Factory>::Entry w_tinylfu();

}  // namespace tandem::cache
