// Error feedback, the part of the values that a compression has not sent yet: p = g + e, c = C(p), e = p - c.
// The same for all methods and devices.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <utility>

#include "policies/compression/codec.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/vectors/device_state.hpp"

namespace tandem::compression {

/// For one stretch. Source: Stich, Cordonnier, Jaggi: Sparsified SGD with Memory. NeurIPS 2018.
class ErrorFeedback {
 public:
  /// `device`: the device of all vectors. `takes_back`: additions may be undone, so the previous memory is
  /// kept too.
  explicit ErrorFeedback(ComputeDevice& device, bool takes_back = false)
      : device_(&device), takes_back_(takes_back) {}

  /// Encodes the values plus the unsent part, and keeps the error of the message. `sent`, which may be the
  /// values, becomes the decoded message. Pre: as Codec::encode; all is in the device's memory.
  void encode(Codec& codec, std::span<const float> values, std::int64_t exchange,
              std::span<std::byte> message, std::span<float> sent) {
    prepare(values.size() * static_cast<std::size_t>(codec.memory_vectors()));
    keep_before();
    const bool is_done = codec.encode_with_memory(values, memory_.span(), exchange, message);
    if (!is_done) {
      device_->add(memory_.data(), values.data(), std::ssize(values), 1.0F);
      codec.encode(memory_.span(), exchange, message);
    }
    codec.decode(message, exchange, sent);
    if (!is_done) subtract(sent);
  }

  /// The vector to send: the values plus the unsent part. For callers that encode themselves and then call
  /// `subtract`.
  std::span<const float> add(std::span<const float> values) {
    prepare(values.size());
    keep_before();
    device_->add(memory_.data(), values.data(), std::ssize(values), 1.0F);
    return memory_.span();
  }
  /// Subtracts the sent values. Pre: `add` was called before, with as many values.
  void subtract(std::span<const float> sent) {
    TANDEM_CHECK(sent.size() == memory_.size(), "sent", sent.size(), "kept", memory_.size());
    device_->subtract(memory_.data(), memory_.data(), sent.data(), std::ssize(sent));
  }
  /// Undoes the last addition: the unsent part is as before. Pre: `takes_back`, and `encode` or `add` was
  /// called before.
  void take_back() {
    TANDEM_CHECK(takes_back_ && before_.size() == memory_.size(), "kept", before_.size());
    std::swap(memory_, before_);
  }
  /// Of a codec with one vector of memory.
  std::span<const float> unsent() const { return memory_.span(); }
  /// Saves or restores the memory for a codec of `elements` elements with so many vectors of memory.
  void serialise(StateArchive& state, const std::string& name, std::size_t elements, int vectors) {
    prepare(elements * static_cast<std::size_t>(vectors));
    serialise_floats(state, name, *device_, memory_.span());
  }

 private:
  void prepare(std::size_t floats) {
    if (memory_.size() == floats) return;
    memory_ = FloatArray(*device_, floats);
    if (takes_back_) before_ = FloatArray(*device_, floats);
  }
  void keep_before() {
    if (takes_back_) device_->copy(before_.data(), memory_.data(), memory_.bytes());
  }

  ComputeDevice* device_;
  bool takes_back_;
  FloatArray memory_;
  FloatArray before_;  ///< the memory before the last addition
};

/// Encodes with error feedback if there is one (ErrorFeedback::encode), otherwise the values; `sent` then
/// stays unchanged.
inline void encode(Codec& codec, std::optional<ErrorFeedback>& feedback, std::span<const float> values,
                   std::int64_t exchange, std::span<std::byte> message, std::span<float> sent) {
  if (feedback)
    feedback->encode(codec, values, exchange, message, sent);
  else
    codec.encode(values, exchange, message);
}

}  // namespace tandem::compression
