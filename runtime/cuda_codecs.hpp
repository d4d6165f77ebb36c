// Compressions whose values and messages are in a GPU's memory. A message is, byte by byte, the one of the
// same method in policies/compression.
#pragma once

#include <memory>
#include <span>
#include <string>

#include "policies/compression/codec.hpp"

namespace tandem {

class CudaDevice;

/// A codec that adds what was not sent before, and keeps what is not sent now, while it encodes.
class FeedbackCodec : public compression::Codec {
 public:
  /// Encodes values + unsent, and leaves in `unsent` what the message lost of it: what ErrorFeedback
  /// (workloads/vectors/error_feedback.hpp) does in three more passes. All are in the device's memory.
  virtual void encode_rest(std::span<const float> values, std::span<float> unsent,
                           std::span<std::byte> message) = 0;
};

/// fp16, bf16, top-k (a FeedbackCodec), sign and one-bit; null for another method. The device outlives the
/// codec, which queues its work there. Of sign and one-bit, a mean may round to the next float where the two
/// orders of adding in double precision are apart.
std::unique_ptr<compression::Codec> make_cuda_codec(CudaDevice& device, const std::string& method,
                                                    const compression::Setting& setting);

}  // namespace tandem
