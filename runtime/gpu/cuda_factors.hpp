// PowerSGD with values, factors and messages in a GPU's memory. The results are bit for bit those of
// policies/compression.
#pragma once

#include <memory>

#include "policies/compression/codec.hpp"

namespace tandem {

class CudaDevice;

/// Spans, and the state that is kept between steps, are in the device's memory. The device outlives the
/// factors, which use its current queue.
std::unique_ptr<compression::SharedFactors> make_cuda_factors(CudaDevice& device,
                                                              const compression::Setting& setting);

/// One worker's codec. As make_cuda_factors; a message has to be aligned to floats.
std::unique_ptr<compression::Codec> make_cuda_power_sgd(CudaDevice& device,
                                                        const compression::Setting& setting);

}  // namespace tandem
