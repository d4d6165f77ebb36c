// The samplers, one file each, and their common parts. Other code finds them in the catalogue.
#pragma once

#include "policies/sampling/sampler.hpp"
#include "policies/vocabulary/rng.hpp"

namespace tandem::sampling {

Catalog<SamplerFactory>::Entry chunked();
Catalog<SamplerFactory>::Entry importance();
Catalog<SamplerFactory>::Entry rank_exponential();
Catalog<SamplerFactory>::Entry replacement();
Catalog<SamplerFactory>::Entry shade();
Catalog<SamplerFactory>::Entry shuffled();

/// 0, 1, ..., samples - 1.
std::vector<SampleId> ids_below(std::int64_t samples);
/// All samples in the random order of an epoch.
std::vector<SampleId> permutation(const SamplerSetting& setting, std::int64_t epoch);
/// All samples, the highest loss first; ties: the smaller id. A sample without a loss has `unvisited`.
std::vector<SampleId> by_loss(const SamplerSetting& setting, std::span<const float> losses, float unvisited);

template <class Made>
std::unique_ptr<Sampler> make_sampler(const SamplerSetting& setting) {
  return std::make_unique<Made>(setting);
}

}  // namespace tandem::sampling
