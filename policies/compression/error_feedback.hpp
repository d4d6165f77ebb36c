// The memory of what a compression has not sent yet: p = g + e, c = C(p), e = p - c. Once for all methods.
#pragma once

#include <span>
#include <vector>

#include "policies/vocabulary/check.hpp"

namespace tandem::compression {

/// Of one stretch. Stich, Cordonnier, Jaggi: Sparsified SGD with Memory. NeurIPS 2018.
class ErrorFeedback {
 public:
  /// What is to be sent: the values and all that was not sent before.
  std::span<const float> add(std::span<const float> values) {
    memory_.resize(values.size());
    for (std::size_t i = 0; i < values.size(); ++i) memory_[i] += values[i];
    return memory_;
  }
  /// So much of it was. Pre: `add` came before, of as many values.
  void subtract(std::span<const float> sent) {
    TANDEM_CHECK(sent.size() == memory_.size(), "sent", sent.size(), "kept", memory_.size());
    for (std::size_t i = 0; i < sent.size(); ++i) memory_[i] -= sent[i];
  }
  std::span<const float> unsent() const { return memory_; }
  /// The same of so many elements, to be saved or put back.
  std::span<float> memory(std::size_t elements) {
    memory_.resize(elements);
    return memory_;
  }

 private:
  std::vector<float> memory_;
};

}  // namespace tandem::compression
