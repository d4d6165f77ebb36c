// workload.bucket_rule: what closes a bucket of gradients.
#pragma once

#include <array>
#include <cstdint>

#include "policies/vocabulary/choices.hpp"

namespace tandem {

/// Whole layers, or any tensor in the order of PyTorch's DistributedDataParallel.
enum class BucketRule : std::uint8_t { layers, ddp };

template <>
inline constexpr std::array<ChoiceName<BucketRule>, 2> choice_names<BucketRule> = {
    {{BucketRule::layers, "layers"}, {BucketRule::ddp, "ddp"}}};

}  // namespace tandem
