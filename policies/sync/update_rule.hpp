// How the result of an exchange updates the model, in addition to the experiment's optimiser: rules that an
// algorithm fixes once and that the ranks with a model apply. Plain data.
#pragma once

#include <variant>

namespace tandem::sync {

/// A gradient is applied by the experiment's optimiser; a mean change is multiplied by its global rate.
struct PlainUpdate {};

/// A gradient g that was computed on an older model becomes, element by element,
/// g + lambda g g (model - older model). Source: Zheng et al., ICML 2017.
struct DelayCompensation {
  enum class Since {
    handed_out,  ///< the older model is the one that the pushing worker received last
    last_update  ///< the older model is the one before the last update, by any worker
  } since = Since::handed_out;
  double lambda = 0.0;
  /// True: lambda is divided by the root of a running mean of g g, in which the past has the weight `memory`.
  bool adaptive = false;
  double memory = 0.0;
};

/// An outer optimiser applies the mean change d of a round: v = momentum v + d, and the model moves by rate
/// v, or by rate (d + momentum v) with Nesterov momentum. Source: Wang et al., ICLR 2020; Douillard et al.,
/// 2023.
struct OuterMomentum {
  double rate = 1.0;
  double momentum = 0.0;
  bool nesterov = false;
  /// SlowMo divides d by the learning rate of its round and multiplies the step by it, so that v scales with
  /// the learning rate.
  bool follows_learning_rate = false;
};

/// Workers have their own models, tied to a centre model. The exchanged change is the difference to the
/// centre. The worker moves towards the centre by the share `pull` of it, and the centre moves towards every
/// worker by the same share. Source: Zhang et al., NIPS 2015.
struct ElasticTie {
  double pull = 0.0;  ///< below 1 when asynchronous
  /// Each worker exchanges alone, with the centre at the arrival of its change.
  bool asynchronous = false;
};

using UpdateRule = std::variant<PlainUpdate, DelayCompensation, OuterMomentum, ElasticTie>;

}  // namespace tandem::sync
