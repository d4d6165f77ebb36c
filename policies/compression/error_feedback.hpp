// The memory of what a compression has not sent yet: p = g + e, c = C(p), e = p - c. Once for all methods.
#pragma once

#include <span>
#include <vector>

#include "policies/vocabulary/check.hpp"

namespace tandem::compression {

/// Of one stretch. Stich, Cordonnier, Jaggi: Sparsified SGD with Memory. NeurIPS 2018.
class ErrorFeedback {
 public:
  ErrorFeedback() = default;
  /// `takes_back`: what was added may turn out to count for nothing, so that the memory before is kept too.
  explicit ErrorFeedback(bool takes_back) : takes_back_(takes_back) {}

  /// What is to be sent: the values and all that was not sent before.
  std::span<const float> add(std::span<const float> values) {
    memory_.resize(values.size());
    if (takes_back_) before_ = memory_;
    for (std::size_t i = 0; i < values.size(); ++i) memory_[i] += values[i];
    return memory_;
  }
  /// So much of it was. Pre: `add` came before, of as many values.
  void subtract(std::span<const float> sent) {
    TANDEM_CHECK(sent.size() == memory_.size(), "sent", sent.size(), "kept", memory_.size());
    for (std::size_t i = 0; i < sent.size(); ++i) memory_[i] -= sent[i];
  }
  /// As if the values added last had never been: nothing of them is kept, and what was unsent before is
  /// unsent again. Pre: it takes back, and `add` came before.
  void take_back() {
    TANDEM_CHECK(takes_back_ && before_.size() == memory_.size(), "kept", before_.size());
    memory_.swap(before_);
  }
  std::span<const float> unsent() const { return memory_; }
  /// The same of so many elements, to be saved or put back.
  std::span<float> memory(std::size_t elements) {
    memory_.resize(elements);
    return memory_;
  }

 private:
  bool takes_back_ = false;
  std::vector<float> memory_;
  std::vector<float> before_;  ///< the memory before the last addition
};

}  // namespace tandem::compression
