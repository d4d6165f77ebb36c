// Searches the gradient of a step for values that are not finite, bucket by bucket as they complete, and
// keeps them from the model where the experiment says so. Knows no learner and no messages.
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

  /// A step begins. `model`: flat, with the statistics before the step.
  void begin(std::span<const float> model);
  /// Searches the bucket after its backward; buckets in backward order. Only queued.
  void inspect(int bucket, std::span<const float> gradient);
  /// Reads the result of the search. Under "skip", from the first bucket that is not finite on (or the first
  /// whose loss is not) gradients become zero, and their statistics and those of the model get the values
  /// before the step. Earlier buckets, which may be in flight, do not change. Pre: `inspect` is done.
  void conclude(int bucket, double loss, std::span<float> model, std::span<float> gradient);
  /// The part of this step that is not finite, as in error messages: "the gradient of 'fc1.weight'", "the
  /// loss".
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
