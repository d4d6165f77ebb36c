// Compressions whose values and messages are in a GPU's memory. Messages are
// byte for byte those of the same method in policies/compression.
#pragma once

#include <memory>
#include <string>

#include "policies/compression/codec.hpp"

namespace tandem {

class CudaDevice;

/// fp16, bf16, top-k (which encodes with memory), random-k, sign, one-bit, PowerSGD (cuda_factors.hpp), and
/// QSGD with buckets of at most 8192 elements; null for another method. The device outlives the codec, which
/// uses the device's current queue. In sign and one-bit, a mean may differ by one rounding from the
/// processor's, because sums in double precision have another order.
std::unique_ptr<compression::Codec> make_cuda_codec(CudaDevice& device, const std::string& method,
                                                    const compression::Setting& setting);

}  // namespace tandem
