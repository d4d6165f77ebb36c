// What a new model is made of besides the experiment's optimiser: rules that an algorithm fixes once and that
// the holders of models carry out. Plain data.
#pragma once

#include <variant>

namespace tandem::sync {

/// A gradient through the experiment's optimiser; a mean change times its global rate.
struct PlainUpdate {};

/// A gradient g that was computed on an older model counts, element by element, as
/// g + lambda g g (model - older model). Source: Zheng et al., ICML 2017.
struct DelayCompensation {
  enum class Since {
    handed_out,  ///< the older model is the one that the pushing worker was last sent
    last_update  ///< the older model is the one before the last update, whoever pushed
  } since = Since::handed_out;
  double lambda = 0.0;
  /// True: lambda is divided by the root of a running mean of g g, of which the past keeps the share
  /// `memory`.
  bool adaptive = false;
  double memory = 0.0;
};

/// The mean change d of a round through an optimiser of its own: v = momentum v + d, and the model moves by
/// rate v, or by rate (d + momentum v) with Nesterov's. Source: Wang et al., ICLR 2020; Douillard et al.,
/// 2023.
struct OuterMomentum {
  double rate = 1.0;
  double momentum = 0.0;
  bool nesterov = false;
  /// SlowMo divides d by the learning rate of its round and multiplies the step by it: v shrinks and grows
  /// with that rate.
  bool follows_learning_rate = false;
};

/// Workers keep models of their own, tied to a centre. The change is that against the centre; a worker gives
/// up the share `pull` of it, and the centre takes as much of every worker's. Source: Zhang et al., NIPS
/// 2015.
struct ElasticTie {
  double pull = 0.0;  ///< below 1 where it is asynchronous
  /// Each worker by itself, and against the centre as it is when the worker's change arrives.
  bool asynchronous = false;
};

using UpdateRule = std::variant<PlainUpdate, DelayCompensation, OuterMomentum, ElasticTie>;

}  // namespace tandem::sync
