// Changes training images at random each time they are used, so that a model does not memorise them. Pure:
// drawn from the seed, the sample and the epoch, so it is the same on every rank and for every number of
// ranks.
#pragma once

#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "policies/vocabulary/options.hpp"
#include "policies/vocabulary/units.hpp"
#include "workloads/data/dataset.hpp"

namespace tandem {

/// The options of `data.augment`.
const std::vector<OptionSpec>& augmentation_options();

struct Augmentation {
  int crop = 0;       ///< pixels of border on each side, before a part of the former size is cut out
  bool flip = false;  ///< mirrors every second image, left to right

  static Augmentation from(const Options& options);
  bool is_used() const { return crop > 0 || flip; }

  /// Changes the pixels of a record. Pre: pixels of 8 bits. Source: He, Zhang, Ren and Sun, Deep Residual
  /// Learning for Image Recognition (2016), section 4.2.
  void apply(const DatasetInfo& info, std::uint64_t seed, SampleId id, std::int64_t epoch,
             std::span<std::byte> record) const;
};

}  // namespace tandem
