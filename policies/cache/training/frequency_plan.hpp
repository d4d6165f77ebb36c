// The samples that every node keeps if all know the samples of the whole run: those that the node will use
// most often (NoPFS). A pure function of the plan, the same on all nodes, so that each knows the samples of
// the others.
#pragma once

#include <cstdint>
#include <memory>
#include <vector>

#include "policies/cache/policy.hpp"

namespace tandem::cache {

struct FrequencyPlan {
  struct Kept {
    SampleId id = 0;
    std::int8_t tier = 0;
  };
  /// By node, its samples in the order of their first use.
  std::vector<std::vector<Kept>> of_node;
  /// By id: the node that reads the sample from the store and gives it to the other nodes that keep it. It
  /// has the fastest tier of them, and of equally fast ones the earliest use. `nobody` (shares.hpp): no node
  /// keeps it.
  std::vector<std::int16_t> reader;
  std::vector<std::int8_t> reader_tier;  ///< by id, of that node
};

/// Each node fills its tiers, the fastest first, with the samples that it uses most often in all epochs, and
/// of equally frequent ones those that it uses first. Pre: setting.plan.
FrequencyPlan plan_by_frequency(const Setting& setting);

/// A plan that stores the results that the policies of several nodes derive from it, so that one process
/// derives them once.
class SharedPlan : public Plan {
 public:
  /// plan_by_frequency(setting), made at the first call. Pre: the settings of all calls differ in `node`
  /// alone.
  virtual std::shared_ptr<const FrequencyPlan> by_frequency(const Setting& setting) const = 0;
};

/// The stored one of a shared plan; otherwise a new one.
std::shared_ptr<const FrequencyPlan> frequency_plan(const Setting& setting);

}  // namespace tandem::cache
