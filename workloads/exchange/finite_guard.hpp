// Searches the gradient of a step for values that are not finite, bucket by bucket, and keeps them out of
// the model if the experiment says so. Independent of learner and messages.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "policies/vocabulary/choices.hpp"
#include "workloads/model/description.hpp"
#include "workloads/vectors/compute_device.hpp"

namespace tandem {

class FiniteGuard {
 public:
  /// `setting`: `stop` only reports, `skip` also zeroes gradients, `ignore` does not check. `model` must
  /// outlive this object.
  FiniteGuard(const ModelDescription& model, OnNonFinite setting, ComputeDevice& device = host_device());

  /// A step begins. `model`: flat, with the statistics before the step.
  void begin(std::span<const float> model);
  /// Queues the search of a bucket after its backward pass; buckets in backward order.
  void inspect(int bucket, std::span<const float> gradient);
  /// Reads the result of the search. With `skip`, sets gradients to zero from the first bucket on that is
  /// not finite (from the first bucket, if the loss is not finite). Restores the statistics of these
  /// buckets, and of the model, to the values before the step. Earlier buckets may be in flight, and do not
  /// change. Pre: `inspect` is done.
  void conclude(int bucket, double loss, std::span<float> model, std::span<float> gradient);
  /// The part of this step that is not finite, as in error messages: "the gradient of 'fc1.weight'", "the
  /// loss".
  const std::optional<std::string>& non_finite() const { return non_finite_; }

 private:
  std::optional<std::string> non_finite_in(std::size_t bucket, double loss) const;
  void skip_bucket(std::size_t bucket, std::span<float> model, std::span<float> gradient);
  void put_back(std::size_t bucket, std::span<float> flat);

  const ModelDescription& model_;
  ComputeDevice& device_;
  bool looks_;
  bool skips_;
  std::optional<std::string> non_finite_;
  PinnedArray<std::int64_t> first_non_finite_;  ///< by bucket, a position; none: its number of elements
  std::vector<FloatArray> statistics_;  ///< by bucket, before the step; empty unless steps are skipped
};

}  // namespace tandem
