// A worker's copy of the model, on its compute device. With real mathematics it wraps a learner and returns
// kernels and memory. With modelled mathematics the kernels are empty and the slices are sizes. Roles use
// both in the same way.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "policies/recovery/scaling.hpp"
#include "policies/sync/policy.hpp"
#include "workloads/context.hpp"
#include "workloads/exchange/finite_guard.hpp"
#include "workloads/job/plan/exchange_plan.hpp"
#include "workloads/job/plan/replica_plan.hpp"
#include "workloads/learner/learner.hpp"
#include "workloads/model/optimizer.hpp"
#include "workloads/model/update_rules.hpp"
#include "workloads/vectors/state_archive.hpp"

namespace tandem {

class Replica {
 public:
  /// `worker`: its index. The description, `exchange` and the device must outlive it.
  Replica(const ReplicaPlan& plan, const ExchangePlan& exchange, ComputeDevice& device, int worker);

  ComputeDevice& device() const { return device_; }

  /// Mathematics is real.
  bool has_values() const { return learner_ != nullptr; }
  int buckets() const { return static_cast<int>(model_.buckets.size()); }
  const ModelDescription& description() const { return model_; }

  /// `records` and `weights` must stay valid until the kernel ran. `weights`: factors on the samples' losses;
  /// empty: all are 1.
  Kernel load(std::span<const std::byte> records, std::span<const float> weights = {});
  Kernel forward();
  Kernel backward(int bucket);
  /// One optimiser step by the replica's own gradient.
  Kernel local_update(UpdateTime time);
  /// Loss of the last forward; NaN when math is modelled.
  double loss() const;
  /// Losses of the samples of the last forward; empty when math is modelled. Pre: the plan keeps them.
  std::span<const float> sample_losses();
  /// The first part of the current step, up to this bucket, that is not finite, named as FiniteGuard does;
  /// none when math is modelled. Pre: called once per bucket, after its backward is done and before it is
  /// sent.
  const std::optional<std::string>& find_non_finite(int bucket);

  /// change = model - model at the last `mark`.
  Kernel compute_change();
  /// Copies the model as the start of a round. If it is tied to a centre, the centre is used instead, and
  /// nothing is copied. Only algorithms that exchange changes need it.
  void mark();
  /// Multiplies the payload by its weight in a sum.
  Kernel weigh(sync::Payload payload, double weight);
  /// Applies the mean of workers' payloads: an optimiser step by the mean gradient, the marked model plus
  /// the mean change, or the mean model. The sum of this total weight is in the payload's memory, or was
  /// received from a server. `time`: of the round's beginning.
  Kernel adopt_sum(sync::Payload payload, double weight, UpdateTime time);
  /// The same for one bucket of the gradient. Pre: called for every bucket, the last one first.
  Kernel adopt_sum_of(int bucket, double weight, UpdateTime time);
  /// The worker keeps its own model, which is only tied to the server's model, the centre (EASGD).
  bool is_tied() const { return tie_.has_value(); }
  /// Moves the model towards the centre, and replaces the centre with the received one. Pre: is_tied().
  Kernel adopt_centre();
  /// A worker that joins takes the received model, or centre, as its own. Pre: all of it was received.
  Kernel adopt_received();

  /// The memory in which a server's reply is received: that of the model, unless it is tied or the reply is a
  /// mean gradient.
  Slice incoming(std::int64_t offset, std::int64_t elements);
  /// The server's model as this worker has it: without its own local steps.
  Slice known(std::int64_t offset, std::int64_t elements);
  Slice payload(sync::Payload payload, std::int64_t offset, std::int64_t elements);
  /// The state of model and optimiser after an exchange, without the state of servers. Nothing when math is
  /// modelled.
  void serialise(StateArchive& state);
  /// For workers that sum without servers: the part of that state that they have in common after each round,
  /// as it was after the last one. It does not change before the round's result is adopted. If the model is
  /// tied, it is the centre, which is then incoming after a restore. Nothing when math is modelled.
  void serialise_common(StateArchive& state);
  /// Size of the floats of that state, with real and with modelled mathematics.
  Bytes common_size() const;
  /// Sets the factor for updates by sums from now on; see recovery::rate_factor.
  void set_rate_factor(double factor) { rate_factor_ = factor; }
  /// Sets the number of the step of the next forward pass.
  void begin_at(std::int64_t step);
  /// The worker's own flat model, in the device's memory; empty when math is modelled.
  std::span<float> model() { return learner_ ? learner_->model() : std::span<float>(); }
  /// The flat model that the job trains (the centre, if there is one), in the host's memory and valid until
  /// the next call; empty when math is modelled.
  std::span<const float> values();

 private:
  std::span<float> payload_memory(sync::Payload payload);
  std::span<const float> sum_of_gradients() const;
  void adopt_mean_change(double share, std::int64_t round);
  void give_way_to_centre(double share);

  ComputeDevice& device_;
  const ModelDescription& model_;
  FiniteGuard guard_;
  std::vector<UpdateStretch> trained_;    ///< by bucket
  std::vector<UpdateStretch> exchanged_;  ///< the same with statistics, where they are exchanged
  std::unique_ptr<Learner> learner_;
  Optimizer optimizer_;
  ChangeUpdate change_update_;
  std::optional<sync::ElasticTie> tie_;
  sync::Payload payload_;
  int common_vectors_;        ///< of the model's size, in the state that workers have in common
  double rate_factor_ = 1.0;  ///< to which the ramp moves
  recovery::RateRamp ramp_;
  bool server_has_model_;  ///< the server has all of the model, as it is after an exchange
  bool server_steps_;      ///< the server makes every step
  FloatArray marked_;      ///< the model at the start of the round, or the centre as last known
  FloatArray change_;
  FloatArray incoming_;             ///< the received centre or mean gradient; empty: models are received
  std::vector<float> host_values_;  ///< of `values`, if the device's memory is not the host's
};

/// A learner with the job's initial model. `worker`: its index; a rank that does not train needs none.
/// Pre: math is real.
std::unique_ptr<Learner> make_job_learner(const ReplicaPlan& plan, ComputeDevice& device = host_device(),
                                          int worker = 0);
/// The flat model that every rank starts from. Pre: math is real.
std::vector<float> initial_model(const ReplicaPlan& plan);

}  // namespace tandem
