// How a read of samples that another cache node has is divided: each part is a request of its own.
#pragma once

#include <cstddef>
#include <span>
#include <vector>

#include "policies/cache/policy.hpp"

namespace tandem {

/// Bytes of a part that has several samples.
inline constexpr Bytes most_of_peer_part{256 << 10};

/// The index after the last sample of each part.
std::vector<std::size_t> ends_of_peer_parts(const cache::Manifest& manifest, std::span<const SampleId> ids);

}  // namespace tandem
