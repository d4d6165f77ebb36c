// Watches the gradient of a step, bucket by bucket as it completes, for values that are no finite numbers,
// and keeps them from the model where the experiment says so. Knows no learner and no messages.
#pragma once

#include <optional>
#include <span>
#include <string>
#include <vector>

#include "workloads/model_description.hpp"

namespace tandem {

class FiniteGuard {
 public:
  /// `setting`: workload.non_finite: "stop" only tells, "skip" also leaves out, "ignore" does not look.
  /// `model` must outlive it.
  FiniteGuard(const ModelDescription& model, const std::string& setting);

  /// A step begins, of which the flat `model` has the statistics of before.
  void begin(std::span<const float> model);
  /// After backward of the bucket; buckets in backward order. Under "skip" the first flaw of a step, which
  /// its loss may be too, sets to zero what comes from its bucket on: these gradients are zero, their
  /// statistics and those of the model are as before the step. Earlier buckets, which may be on their way,
  /// stay as they are.
  void inspect(int bucket, double loss, std::span<float> model, std::span<float> gradient);
  /// What is not finite in this step, as an error names it: "the gradient of 'fc1.weight'", "the loss".
  const std::optional<std::string>& flaw() const { return flaw_; }

 private:
  std::optional<std::string> flaw_in(const BucketDescription& bucket, double loss,
                                     std::span<const float> gradient) const;
  void leave_out(int bucket, std::span<float> model, std::span<float> gradient) const;

  const ModelDescription& model_;
  bool looks_;
  bool leaves_out_;
  std::optional<std::string> flaw_;
  std::vector<std::vector<float>> statistics_;  ///< by bucket, of before the step; empty unless it leaves out
};

}  // namespace tandem
