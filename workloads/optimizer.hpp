// The optimiser's step over flat vectors: what a server or a worker does with a gradient. Standard library
// only; knows neither the network nor where the gradient came from.
#pragma once

#include <cstdint>
#include <span>
#include <vector>

#include "workloads/model_description.hpp"

namespace tandem {

/// Stochastic gradient descent with momentum and weight decay, as PyTorch defines it (no dampening, no
/// Nesterov): g = scale * gradient + weight_decay * model; v = momentum * v + g; model = model -
/// learning_rate * v. Source: Sutskever et al. (2013), in PyTorch's form where the learning rate stands
/// outside of the momentum. Positions are those of the flat layout (ModelDescription), also where only a
/// stretch of it is kept.
class Sgd {
 public:
  /// Takes care of elements [first, first + elements) of the flat layout.
  Sgd(double learning_rate, double momentum, double weight_decay, std::int64_t elements,
      std::int64_t first = 0);

  void set_learning_rate(double learning_rate) { learning_rate_ = static_cast<float>(learning_rate); }

  /// Steps all elements. Pre: both spans have as many elements as this takes care of.
  void apply(std::span<float> model, std::span<const float> gradient, double scale);
  /// Steps the stretch that begins at `position` of the flat layout. Pre: equal sizes, within this one's
  /// range.
  void apply(std::span<float> model, std::span<const float> gradient, double scale, std::int64_t position);

 private:
  float learning_rate_;
  float momentum_;
  float weight_decay_;
  std::int64_t first_;
  std::int64_t elements_;
  std::vector<float> velocity_;  ///< empty without momentum
};

/// Steps a stretch of the flat layout that begins at `position` and may cross buckets: trained elements
/// through `sgd`; running statistics take the value scale * gradient (so a sum over N workers with scale 1/N
/// is their mean). Pre: equal sizes, within the description and the range of `sgd`.
void apply_update(Sgd& sgd, const ModelDescription& description, std::int64_t position,
                  std::span<float> model, std::span<const float> gradient, double scale);

}  // namespace tandem
