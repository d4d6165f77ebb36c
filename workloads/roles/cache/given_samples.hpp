// With data.bad_sample: replace, messages of samples end with a number for each sample, which says whether
// it was read. All ranks that send or receive such messages must agree on it.
#pragma once

#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

#include "policies/vocabulary/units.hpp"
#include "workloads/job/plan/job_spec.hpp"

namespace tandem {

/// Instead of its id: a sample that could not be read, or differs from the data set.
inline constexpr SampleId bad_sample = -1;

/// The end of such a message.
class GivenSamples {
 public:
  explicit GivenSamples(const Experiment& experiment)
      : is_sent_(experiment.data.source == DataSource::storage &&
                 experiment.data.bad_sample == BadSample::replace) {}

  /// Whether messages have it.
  bool is_sent() const { return is_sent_; }
  Bytes size(std::size_t samples) const {
    return Bytes(is_sent_ ? static_cast<std::int64_t>(samples * sizeof(SampleId)) : 0);
  }
  /// Sets the number of the sample at `position`, if messages have numbers. `numbers`: the end of the
  /// message.
  void set(std::span<std::byte> numbers, std::size_t position, SampleId given) const {
    if (is_sent_) std::memcpy(numbers.data() + position * sizeof(SampleId), &given, sizeof(SampleId));
  }
  /// Pre: is_sent().
  static SampleId get(std::span<const std::byte> numbers, std::size_t position) {
    SampleId given = 0;
    std::memcpy(&given, numbers.data() + position * sizeof(SampleId), sizeof(SampleId));
    return given;
  }

 private:
  bool is_sent_;
};

}  // namespace tandem
