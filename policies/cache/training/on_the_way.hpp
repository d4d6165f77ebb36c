// Samples that packages bring and that are kept, or delivered, when they arrive.
#pragma once

#include <algorithm>
#include <cstdint>
#include <vector>

#include "policies/cache/training/substitutes.hpp"

namespace tandem::cache {

class OnTheWay {
 public:
  explicit OnTheWay(std::size_t samples) : is_here_(samples) {}

  std::int64_t bytes() const { return bytes_; }
  void add(SampleId id, std::int64_t size) {
    if (is_here_[index(id)]) return;
    is_here_[index(id)] = true;
    bytes_ += size;
    order_.push(id);
  }
  /// It arrived, or will not. Nothing if it was not on the way.
  void remove(SampleId id, std::int64_t size) {
    if (!is_here_[index(id)]) return;
    is_here_[index(id)] = false;
    bytes_ -= size;
    while (!order_.empty() && !is_here_[index(order_.front())]) order_.pop();
  }
  /// One of the next to arrive that fits; -1: none. It remains on the way.
  template <class Fits>
  SampleId first(const Fits& fits) const {
    for (std::size_t i = 0; i < std::min(tried, order_.size()); ++i)
      if (is_here_[index(order_[i])] && fits(order_[i])) return order_[i];
    return -1;
  }

 private:
  static constexpr std::size_t tried = 64;
  static std::size_t index(SampleId id) { return static_cast<std::size_t>(id); }

  std::vector<bool> is_here_;  ///< by id
  IdQueue order_;              ///< may hold some that are not on the way any more
  std::int64_t bytes_ = 0;
};

}  // namespace tandem::cache
