// A cache that jobs can bypass, to measure its effect. Samples that the policy would deliver from a tier or
// from another node come from the store instead. The policy does not notice, and keeps the same samples.
#pragma once

#include <memory>

#include "policies/cache/policy.hpp"

namespace tandem::cache {

/// A job bypasses it from JobChange::State::bypasses until `returns`, or until it ends.
std::unique_ptr<CachePolicy> with_bypass(std::unique_ptr<CachePolicy> policy, int jobs);

}  // namespace tandem::cache
