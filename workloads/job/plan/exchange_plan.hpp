// How the workers of a job exchange: the algorithm with its options, the route and its messages, the update
// rules on both sides, compression, and the part of the model of each server or all-reduce. The same in both
// worlds.
#pragma once

#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "policies/compression/codec.hpp"
#include "policies/sync/policy.hpp"
#include "workloads/experiment/experiment.hpp"
#include "workloads/experiment/resolved_experiment.hpp"
#include "workloads/job/plan/all_reduce_plan.hpp"
#include "workloads/job/plan/shard_layout.hpp"
#include "workloads/model/description.hpp"
#include "workloads/model/optimizer.hpp"

namespace tandem {

class ExchangePlan {
 public:
  /// Without the all-reduce, which also depends on hosts and their network. `servers`: 0 over another route.
  /// Errors: ConfigError for settings that do not work together.
  ExchangePlan(const Experiment& experiment, const ResolvedExperiment& chosen,
               std::shared_ptr<const ModelDescription> model, std::int64_t train_samples, int workers,
               int servers);

  const Catalog<sync::Factory>::Entry& algorithm() const { return *algorithm_; }
  const sync::Setting& sync_setting() const { return sync_setting_; }
  /// The indices of all workers, in ascending order. The memory is the plan's.
  std::span<const int> all_workers() const { return all_workers_; }
  sync::Route route() const { return sync_setting_.route; }
  sync::Payload payload() const { return algorithm_->make.payload; }
  sync::UpdateRule update_rule() const { return algorithm_->make.update_rule(sync_setting_); }
  /// Decisions depend on durations or on the order of arrival.
  bool is_timing_driven() const { return algorithm_->make.timing_driven; }
  /// Over a server: it may stop steps whose gradients it would drop.
  bool cancels_steps() const {
    const auto& make = algorithm_->make;
    return route() == sync::Route::server && make.cancels != nullptr && make.cancels(sync_setting_.options);
  }
  /// Workers that take steps in a round; at least one.
  int workers_of_round() const {
    const auto& make = algorithm_->make;
    return make.workers_of_round == nullptr ? sync_setting_.workers : make.workers_of_round(sync_setting_);
  }
  /// In each round, some workers take no step.
  bool may_pass_rounds() const { return workers_of_round() < sync_setting_.workers; }
  /// The batch of a worker may change during the job.
  bool varies_batch() const { return algorithm_->make.varies_batch || deals_batches_; }
  /// All workers finish the same rounds, whatever their speed. This includes workers that update their own
  /// models by a server's means, because they resume from the same round.
  bool has_common_rounds() const {
    return !is_timing_driven() || route() == sync::Route::all_reduce || servers_send_means();
  }

  /// The work with which an exchange overlaps; see Experiment::Sync.
  bool overlaps_backward() const { return sync_.overlaps_backward(); }
  bool overlaps_forward() const { return sync_.overlaps_forward(); }
  bool averages_statistics() const { return sync_.average_statistics; }

  /// Over a server: the server sends mean gradients, and each worker updates its own model with them. These
  /// models are equal, and no server has a model.
  bool servers_send_means() const { return servers_send_means_; }
  bool servers_hold_model() const { return route() == sync::Route::server && !servers_send_means_; }

  /// The experiment's optimiser, with the length that its schedule has in this job.
  const OptimizerSetting& optimizer_setting() const { return optimizer_; }
  /// Sets that length, for this number of workers, with slots for spares: others may be absent in this
  /// launch. Errors: ConfigError.
  void schedule_for(const Experiment& experiment, std::int64_t train_samples, int workers);
  /// Factor on the mean change of algorithms with local updates.
  double global_rate() const { return global_rate_; }
  /// Local steps of a round; 1 when the number varies.
  int steps_per_round() const;

  /// How workers compress their payloads; null when they do not.
  const compression::Factory* compression() const {
    return compression_->make.make == nullptr ? nullptr : &compression_->make;
  }
  const Catalog<compression::Factory>::Entry& compression_method() const { return *compression_; }
  const Options& compression_options() const { return compression_options_; }
  bool has_error_feedback() const { return compression::has_error_feedback(compression_options_); }
  /// Over a server: replies are compressed as pushes are.
  bool compresses_replies() const {
    return route() == sync::Route::server && sync_.compress_replies && compression() != nullptr;
  }
  /// Such a reply is the difference between the model of the server and that of the worker. Otherwise it is a
  /// mean, or a model in messages that lose nothing.
  bool replies_bring_differences() const {
    return compresses_replies() && servers_hold_model() && !compression()->is_exact;
  }
  /// The setting for elements of the flat layout that a worker sends together. Pre: all are trained, and of
  /// one bucket.
  compression::Setting compression_setting(int worker, std::int64_t position, std::int64_t elements) const;

  /// The part of the model of each server shard; empty over another route.
  const ShardLayout& shard_layout() const { return shard_layout_; }
  /// Over a server: workers ask for each piece of a reply.
  bool requests_pulls() const {
    return route() == sync::Route::server && sync_.pull == ServerPull::requested;
  }
  /// Over a server: a reply brings the model only if its version is not the one with which the worker
  /// pushed. Workers that push gradients do not change their copies, and others do where a reply lets them
  /// keep their own. A copy's running statistics belong to
  /// the worker until the next version. By key, the number of a version says nothing about each bucket.
  bool replies_omit_known_models() const {
    return servers_hold_model() && !exchanges_by_key() &&
           (payload() == sync::Payload::gradient || algorithm_->make.keeps_models);
  }
  /// Over a server: workers exchange one bucket after the other.
  bool exchanges_by_key() const {
    return route() == sync::Route::server && sync_.exchange == ExchangeUnit::by_key;
  }
  /// Over several servers: all decide in the order of the first one.
  bool first_server_decides() const {
    return route() == sync::Route::server && sync_.decides == PushOrder::first_server;
  }
  /// By bucket, floats whose all-reduce moves as many bytes as the exchange of the bucket.
  std::vector<std::int64_t> summed_elements() const;
  /// The model's buffers, which the first worker sends to all before each forward pass whose gradient is
  /// summed.
  Bytes buffers() const {
    const bool shares = route() == sync::Route::all_reduce && payload() == sync::Payload::gradient;
    return shares ? model_->buffers : Bytes(0);
  }
  /// The number of their sum, among those of an exchange over an all-reduce.
  int number_of_buffers() const {
    return (compression() == nullptr ? 1 : 3) * static_cast<int>(model_->buckets.size()) + 2;
  }
  /// How workers sum; null over another route.
  const AllReducePlan* all_reduce() const { return all_reduce_ ? &*all_reduce_ : nullptr; }
  /// The group in which all workers sum, shared by the ranks of a process. Pre: all_reduce() is not null.
  const AllReduceGroup& group_of_all() const { return *group_of_all_; }
  void set_all_reduce(AllReducePlan plan) {
    all_reduce_ = std::move(plan);
    group_of_all_.emplace(*all_reduce_, all_workers_);
  }

 private:
  double rounds_until_stop(const Experiment& experiment, std::int64_t train_samples, int workers) const;
  void check_statistics(const Experiment& experiment) const;
  void check_compression() const;

  std::shared_ptr<const ModelDescription> model_;
  Experiment::Sync sync_;
  const Catalog<sync::Factory>::Entry* algorithm_;
  sync::Setting sync_setting_;
  std::vector<int> all_workers_;
  bool servers_send_means_;
  bool deals_batches_;  ///< while workers come and go, the present ones share the batches of all
  OptimizerSetting optimizer_;
  double global_rate_;
  const Catalog<compression::Factory>::Entry* compression_;
  Options compression_options_;
  ShardLayout shard_layout_;
  std::optional<AllReducePlan> all_reduce_;
  std::optional<AllReduceGroup> group_of_all_;
};

/// Vectors of the model's size that the optimiser keeps.
int optimizer_vectors(const OptimizerSetting& setting);

}  // namespace tandem
