// Compressions whose values and messages are in a GPU's memory. A message is, byte by byte, the one of the
// same method in policies/compression.
#pragma once

#include <memory>
#include <string>

#include "policies/compression/codec.hpp"

namespace tandem {

class CudaDevice;

/// fp16, bf16, top-k (which encodes with memory), sign and one-bit; null for another method. The device
/// outlives the codec, which works in its queue in use. Of sign and one-bit, a mean may round to the next
/// float where the two orders of adding in double precision are apart.
std::unique_ptr<compression::Codec> make_cuda_codec(CudaDevice& device, const std::string& method,
                                                    const compression::Setting& setting);

}  // namespace tandem
