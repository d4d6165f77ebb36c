// The optimiser's step over flat vectors in the memory of a compute device, for servers and workers.
// Independent of the network and of the source of the gradient.
#pragma once

#include <cstdint>
#include <span>
#include <variant>

#include "policies/vocabulary/choices.hpp"
#include "workloads/model/description.hpp"
#include "workloads/model/rate_schedule.hpp"
#include "workloads/vectors/compute_device.hpp"
#include "workloads/vectors/state_archive.hpp"

namespace tandem {

/// Factors of an update by a sum of gradients.
struct SumFactors {
  double scale = 1.0;       ///< of the gradient; see the rule
  double share = 1.0;       ///< of the sum, which is rounded to a mean before the rule applies
  double statistics = 1.0;  ///< factor of the sum's running statistics, which become the model's
};

/// Stochastic gradient descent with momentum and weight decay, as PyTorch defines it (no dampening): g =
/// scale * gradient + weight_decay * model; v = momentum * v + g; model = model - learning_rate * v. With
/// Nesterov's momentum: model = model - learning_rate * (g + momentum * v). Source: Sutskever et al. (2013),
/// in PyTorch's form: the learning rate is not part of the velocity. Positions are those of the flat layout
/// (ModelDescription), also where only a part of it is kept.
class Sgd {
 public:
  /// Responsible for elements [first, first + elements) of the flat layout.
  Sgd(double learning_rate, double momentum, double weight_decay, std::int64_t elements,
      std::int64_t first = 0, bool nesterov = false, ComputeDevice& device = host_device());

  ComputeDevice& device() const { return *device_; }
  void set_learning_rate(double learning_rate) { learning_rate_ = static_cast<float>(learning_rate); }

  /// Steps all elements. Pre: both spans have as many elements as this object.
  void apply(std::span<float> model, std::span<const float> gradient, double scale);
  /// Steps the stretch that begins at `position` of the flat layout. Pre: equal sizes, within this one's
  /// range.
  void apply(std::span<float> model, std::span<const float> gradient, double scale, std::int64_t position);
  /// Steps stretches, whose beginnings count from the front of the spans, in one launch of a GPU's kernel.
  void apply(std::span<float> model, std::span<const float> gradient, const SumFactors& factors,
             std::int64_t position, std::span<const UpdateStretch> stretches);
  void serialise(StateArchive& state);

 private:
  ComputeDevice* device_;
  float learning_rate_;
  float momentum_;
  float weight_decay_;
  bool nesterov_;
  std::int64_t first_;
  std::int64_t elements_;
  FloatArray velocity_;  ///< empty without momentum
};

/// The optimiser settings of an experiment. Values that its kind does not have are not used.
struct OptimizerSetting {
  using Kind = OptimizerKind;
  Kind kind = Kind::sgd;
  double learning_rate = 0.01;
  double momentum = 0.0;
  bool nesterov = false;
  double weight_decay = 0.0;
  double beta1 = 0.9;
  double beta2 = 0.999;
  double epsilon = 1e-8;
  RateSchedule schedule = {};
};

/// Adam as PyTorch defines it (no AMSGrad). In update t: g = scale * gradient + weight_decay * model;
/// m = beta1 m + (1 - beta1) g; s = beta2 s + (1 - beta2) g g; model = model - learning_rate
/// (m / (1 - beta1^t)) / (sqrt(s / (1 - beta2^t)) + epsilon). AdamW instead decays the model
/// first: model = model - learning_rate * weight_decay * model. Source: Kingma and Ba, ICLR 2015; Loshchilov
/// and Hutter, ICLR 2019. Positions as for Sgd.
class Adam {
 public:
  /// Responsible for elements [first, first + elements) of the flat layout. Pre: kind adam or adamw.
  Adam(const OptimizerSetting& setting, std::int64_t elements, std::int64_t first = 0,
       ComputeDevice& device = host_device());

  ComputeDevice& device() const { return *device_; }

  /// Begins the update to which the next stretches belong.
  void begin_update(double learning_rate);
  /// As Sgd's. Pre: also, an update has begun.
  void apply(std::span<float> model, std::span<const float> gradient, const SumFactors& factors,
             std::int64_t position, std::span<const UpdateStretch> stretches);
  void serialise(StateArchive& state);

 private:
  ComputeDevice* device_;
  double beta1_;
  double beta2_;
  double weight_decay_;
  float epsilon_;
  bool decoupled_;
  std::int64_t first_;
  std::int64_t elements_;
  double learning_rate_ = 0.0;
  std::int64_t updates_ = 0;
  FloatArray mean_;    ///< of gradients
  FloatArray square_;  ///< mean of their squares
};

/// The optimiser of an experiment for one copy of a model, with its state and its schedule.
class Optimizer {
 public:
  /// Responsible for elements [first, first + elements) of the flat layout.
  Optimizer(const OptimizerSetting& setting, std::int64_t elements, std::int64_t first = 0,
            ComputeDevice& device = host_device());

  ComputeDevice& device() const {
    return std::visit([](const auto& rule) -> ComputeDevice& { return rule.device(); }, rule_);
  }
  /// The learning rate of an update.
  double rate_at(UpdateTime time) const { return learning_rate_ * schedule_.factor(time); }
  /// Begins an update, whose stretches follow. `weight`: the weight of the update. Sgd applies it to the
  /// gradient; Adam, which is independent of the size of gradients, to the step.
  void begin_update(UpdateTime time, double weight = 1.0);
  /// Updates the stretch that begins at `position` of the flat layout, by scale * gradient. Pre: an update
  /// has begun; model and gradient have equal sizes and lie within the range of this optimiser.
  void apply(std::span<float> model, std::span<const float> gradient, double scale, std::int64_t position);
  /// As Sgd's. Pre: also, an update has begun.
  void apply(std::span<float> model, std::span<const float> gradient, const SumFactors& factors,
             std::int64_t position, std::span<const UpdateStretch> stretches);
  /// The state on which later updates depend. Without the learning rate, which follows from an update's time.
  void serialise(StateArchive& state);

 private:
  double learning_rate_;
  RateSchedule schedule_;
  double gradient_weight_ = 1.0;
  std::variant<Sgd, Adam> rule_;
};

/// Steps a stretch of the flat layout that begins at `position` and may cross buckets: trained elements
/// through `rule`, an Optimizer or an Sgd alone; running statistics that are exchanged become
/// scale * gradient (so a sum over N workers with scale 1/N is their mean), others stay. Pre: equal sizes,
/// within the description and the range of `rule`.
template <class Rule>
void apply_update(Rule& rule, const ModelDescription& description, std::int64_t position,
                  std::span<float> model, std::span<const float> gradient, double scale);

}  // namespace tandem
