// The common counts of the members of an all-reduce in a round: the samples of each member, and how many
// have reached the time limit of the job. The same numbers are sent with real and with modelled mathematics.
#pragma once

#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "workloads/context.hpp"

namespace tandem {

class RoundCounts {
 public:
  struct Counted {
    bool samples = false;  ///< workers take different numbers of samples
    bool time = false;     ///< the job ends when one member has reached the time limit
  };
  /// `slots`: numbers of samples that are counted apart.
  RoundCounts(const Counted& counted, std::size_t slots)
      : counted_(counted),
        slots_(slots),
        sums_(counted.samples || counted.time ? slots + (counted.time ? 1 : 0) : 0) {}

  bool is_used() const { return !sums_.empty(); }
  bool counts_samples() const { return counted_.samples; }
  bool counts_time() const { return counted_.time; }
  /// Numbers of 4 bytes.
  std::int64_t numbers() const { return std::ssize(sums_); }

  /// A round begins, in which this worker has taken `samples` samples. Returns the vector to be summed.
  Slice begin(std::size_t slot, int samples, bool is_time_up) {
    sums_.assign(sums_.size(), 0.0F);
    sums_[slot] = static_cast<float>(samples);
    if (counted_.time && is_time_up) sums_.back() = 1.0F;
    return {Bytes(numbers() * 4), reinterpret_cast<std::byte*>(sums_.data())};
  }
  // When it is summed:
  std::vector<std::int64_t> samples() const {
    const auto counted = std::span(sums_).first(slots_);
    return {counted.begin(), counted.end()};
  }
  std::int64_t all_samples() const {
    const auto each = samples();
    return std::accumulate(each.begin(), each.end(), std::int64_t{0});
  }
  bool is_time_up() const { return counted_.time && sums_.back() > 0.0F; }

 private:
  Counted counted_;
  std::size_t slots_;
  std::vector<float> sums_;  ///< if counted: by slot, then how many have reached the time limit
};

}  // namespace tandem
