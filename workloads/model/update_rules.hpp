// The arithmetic of sync::UpdateRule over flat vectors, for a server's shard or a worker's model.
// Positions are those in the memory of the object.
#pragma once

#include <cstdint>
#include <span>

#include "policies/sync/update_rule.hpp"
#include "workloads/vectors/compute_device.hpp"
#include "workloads/vectors/state_archive.hpp"

namespace tandem {

/// Corrects gradients for their age. Rules other than DelayCompensation change nothing.
class DelayCompensator {
 public:
  DelayCompensator(const sync::UpdateRule& rule, std::int64_t elements,
                   ComputeDevice& device = host_device());
  /// `model`: the current one; `older`: the model that the rule names. Pre: equal sizes.
  void correct(std::span<float> gradient, std::span<const float> model, std::span<const float> older,
               std::int64_t position);
  void serialise(StateArchive& state);

 private:
  ComputeDevice* device_;
  bool active_ = false;
  sync::DelayCompensation rule_;
  FloatArray mean_square_;  ///< empty with a fixed lambda
};

/// Moves a model by the changes of workers' models.
class ChangeUpdate {
 public:
  ChangeUpdate(const sync::UpdateRule& rule, double global_rate, std::int64_t elements,
               ComputeDevice& device = host_device());
  /// Begins an update, whose stretches follow. `learning_rate`: of the round of these
  /// changes.
  void begin_update(double learning_rate);
  /// model = base + `scale` times the rule's step. The step is computed from the sum of the changes; `share`
  /// times the sum is their mean. `base` may be `model`.
  void apply(std::span<float> model, std::span<const float> base, std::span<const float> sum, double share,
             double scale, std::int64_t position);
  /// The same for stretches, whose beginnings count from the front of the spans, in one launch of a GPU's
  /// kernel. Statistics: base + average * sum.
  void apply(std::span<float> model, std::span<const float> base, std::span<const float> sum, double share,
             double scale, std::int64_t position, std::span<const UpdateStretch> stretches, double average);
  void serialise(StateArchive& state);

 private:
  ComputeDevice* device_;
  double rate_;
  bool takes_sum_ = false;  ///< uses the sum instead of the mean
  float momentum_ = 0.0F;
  bool nesterov_ = false;
  bool follows_learning_rate_ = false;
  double learning_rate_ = 0.0;  ///< of the current update; 0 before the first
  float kept_ = 0.0F;           ///< share of the velocity in the current update
  FloatArray velocity_;         ///< empty without momentum
};

}  // namespace tandem
