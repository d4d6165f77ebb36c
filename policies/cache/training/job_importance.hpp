// The importance of samples for several jobs on one cache. Losses of different models cannot be compared. So
// each job ranks its samples, and the ranks are weighed by how much the cache saves the job.
#pragma once

#include <algorithm>
#include <numeric>
#include <span>
#include <vector>

#include "policies/vocabulary/units.hpp"

namespace tandem::cache {

/// By id: 1 - rank / samples, where the highest loss has rank 0; ties: the smaller id first. `order`:
/// scratch.
inline void relative_importance(std::span<const float> losses, std::vector<SampleId>& order,
                                std::vector<float>& relative) {
  const auto loss_of = [&](SampleId id) { return losses[static_cast<std::size_t>(id)]; };
  order.resize(losses.size());
  std::iota(order.begin(), order.end(), SampleId{0});
  std::ranges::sort(order, [&](SampleId a, SampleId b) {
    return loss_of(a) != loss_of(b) ? loss_of(a) > loss_of(b) : a < b;
  });
  relative.resize(losses.size());
  const auto samples = static_cast<float>(losses.size());
  for (std::size_t rank = 0; rank < order.size(); ++rank)
    relative[static_cast<std::size_t>(order[rank])] = 1.0F - static_cast<float>(rank) / samples;
}

/// The importance of each sample for one job, and the weight of the job.
struct WeighedImportance {
  std::span<const float> relative;  ///< by id
  double weight = 1.0;              ///< the benefit of the cache for the job
};

/// By id: sum of weight x relative / sum of weights; 0 where no job has a weight. Pre: each job has a value
/// for each sample.
inline void aggregate_importance(std::span<const WeighedImportance> jobs, std::span<float> values) {
  double sum = 0.0;
  for (const WeighedImportance& job : jobs) sum += job.weight;
  for (std::size_t id = 0; id < values.size(); ++id) {
    double value = 0.0;
    for (const WeighedImportance& job : jobs) value += job.weight * static_cast<double>(job.relative[id]);
    values[id] = sum > 0.0 ? static_cast<float>(value / sum) : 0.0F;
  }
}

}  // namespace tandem::cache
