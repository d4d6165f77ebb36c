// Watches the gradient of a step, bucket by bucket as it completes, for values that are no finite numbers,
// and keeps them from the model where the experiment says so. Knows no learner and no messages.
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
  /// `setting`: `stop` only reports, `skip` also leaves out, `ignore` does not look. `model` must outlive it.
  FiniteGuard(const ModelDescription& model, OnNonFinite setting, ComputeDevice& device = host_device());

  /// A step begins, of which the flat `model` has the statistics of before.
  void begin(std::span<const float> model);
  /// Looks at the bucket after its backward; buckets in backward order. Queued.
  void inspect(int bucket, std::span<const float> gradient);
  /// What the look has shown. Under "skip" the first flaw of a step, which its loss may be too, sets to zero
  /// what comes from its bucket on: these gradients are zero, their statistics and those of the model are as
  /// before the step. Earlier buckets, which may be on their way, stay as they are. Pre: `inspect` is done.
  void conclude(int bucket, double loss, std::span<float> model, std::span<float> gradient);
  /// What is not finite in this step, as an error names it: "the gradient of 'fc1.weight'", "the loss".
  const std::optional<std::string>& flaw() const { return flaw_; }

 private:
  std::optional<std::string> flaw_in(std::size_t bucket, double loss) const;
  void leave_out(std::size_t bucket, std::span<float> model, std::span<float> gradient);
  void put_back(std::size_t bucket, std::span<float> flat);

  const ModelDescription& model_;
  ComputeDevice& device_;
  bool looks_;
  bool leaves_out_;
  std::optional<std::string> flaw_;
  PinnedArray<std::int64_t> first_flaws_;  ///< by bucket, where in it; its elements when there is none
  std::vector<FloatArray> statistics_;     ///< by bucket, of before the step; empty unless it leaves out
};

}  // namespace tandem
