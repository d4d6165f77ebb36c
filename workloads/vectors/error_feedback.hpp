// The memory of what a compression has not sent yet: p = g + e, c = C(p), e = p - c. Once for all methods and
// devices.
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

/// Of one stretch. Stich, Cordonnier, Jaggi: Sparsified SGD with Memory. NeurIPS 2018.
class ErrorFeedback {
 public:
  /// `device`: that of all vectors. `takes_back`: what was added may turn out to count for nothing, so that
  /// the memory before is kept too.
  explicit ErrorFeedback(ComputeDevice& device, bool takes_back = false)
      : device_(&device), takes_back_(takes_back) {}

  /// Encodes the values and all that was not sent before, and keeps what the message lost. `sent`, which may
  /// be the values, becomes what the message says. Pre: as Codec::encode; all is in the device's memory.
  void encode(Codec& codec, std::span<const float> values, std::int64_t exchange,
              std::span<std::byte> message, std::span<float> sent) {
    prepare(values.size());
    keep_before();
    const bool is_done = codec.encode_with_memory(values, memory_.span(), exchange, message);
    if (!is_done) {
      device_->add(memory_.data(), values.data(), std::ssize(values), 1.0F);
      codec.encode(memory_.span(), exchange, message);
    }
    codec.decode(message, exchange, sent);
    if (!is_done) subtract(sent);
  }

  /// What is to be sent: the values and all that was not sent before. For those who encode otherwise, with
  /// `subtract` thereafter.
  std::span<const float> add(std::span<const float> values) {
    prepare(values.size());
    keep_before();
    device_->add(memory_.data(), values.data(), std::ssize(values), 1.0F);
    return memory_.span();
  }
  /// So much of it was. Pre: `add` came before, of as many values.
  void subtract(std::span<const float> sent) {
    TANDEM_CHECK(sent.size() == memory_.size(), "sent", sent.size(), "kept", memory_.size());
    device_->subtract(memory_.data(), memory_.data(), sent.data(), std::ssize(sent));
  }
  /// As if the values added last had never been: nothing of them is kept, and what was unsent before is
  /// unsent again. Pre: it takes back, and `encode` or `add` came before.
  void take_back() {
    TANDEM_CHECK(takes_back_ && before_.size() == memory_.size(), "kept", before_.size());
    std::swap(memory_, before_);
  }
  std::span<const float> unsent() const { return memory_.span(); }
  /// Saves or puts back what is unsent of so many elements.
  void serialise(StateArchive& state, const std::string& name, std::size_t elements) {
    prepare(elements);
    serialise_floats(state, name, *device_, memory_.span());
  }

 private:
  void prepare(std::size_t elements) {
    if (memory_.size() == elements) return;
    memory_ = FloatArray(*device_, elements);
    if (takes_back_) before_ = FloatArray(*device_, elements);
  }
  void keep_before() {
    if (takes_back_) device_->copy(before_.data(), memory_.data(), memory_.bytes());
  }

  ComputeDevice* device_;
  bool takes_back_;
  FloatArray memory_;
  FloatArray before_;  ///< the memory before the last addition
};

/// Encodes: with error feedback where there is one (ErrorFeedback::encode), else the values, and `sent`
/// stays.
inline void encode(Codec& codec, std::optional<ErrorFeedback>& feedback, std::span<const float> values,
                   std::int64_t exchange, std::span<std::byte> message, std::span<float> sent) {
  if (feedback)
    feedback->encode(codec, values, exchange, message, sent);
  else
    codec.encode(values, exchange, message);
}

}  // namespace tandem::compression
