// The cache policies of this folder, one file each; everyone else asks the catalogue.
#pragma once

#include <memory>

#include "policies/cache/policy.hpp"

namespace tandem::cache {

/// Evicts the least recently used sample; admits all that fit the capacity.
std::unique_ptr<CachePolicy> make_lru(const Setting& setting);

/// Keeps a sample iff there is room for it, and for ever.
std::unique_ptr<CachePolicy> make_minio(const Setting& setting);

}  // namespace tandem::cache
