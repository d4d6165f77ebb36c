#include "workloads/job/plan/exchange_plan.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <variant>

#include "workloads/experiment/key_error.hpp"
#include "workloads/model/stretch.hpp"

namespace tandem {
namespace {

/// `rounds`: rounds of the whole job if they follow from its limits; else 0.
OptimizerSetting optimizer_from(const Experiment::Optimizer& from, double rounds) {
  OptimizerSetting setting{.kind = from.kind,
                           .learning_rate = from.learning_rate,
                           .momentum = from.momentum,
                           .nesterov = from.nesterov,
                           .weight_decay = from.weight_decay,
                           .beta1 = from.beta1,
                           .beta2 = from.beta2,
                           .epsilon = from.epsilon};
  auto& schedule = setting.schedule;
  schedule.warmup_rounds = static_cast<double>(from.warmup_rounds);
  schedule.decay = from.schedule;
  if (from.schedule == RateDecay::step) {
    schedule.step_every = static_cast<double>(from.step_every);
    schedule.step_factor = from.step_factor;
  }
  if (from.schedule != RateDecay::cosine) return setting;
  schedule.cosine_floor = from.cosine_floor;
  schedule.cosine_rounds = from.cosine_rounds > 0 ? static_cast<double>(from.cosine_rounds) : rounds;
  if (schedule.warmup_rounds >= schedule.cosine_rounds)
    throw KeyError(
        "optimizer.warmup_rounds",
        "fewer than the " + std::to_string(std::llround(schedule.cosine_rounds)) + " rounds of the cosine",
        std::to_string(from.warmup_rounds));
  return setting;
}

}  // namespace

ExchangePlan::ExchangePlan(const Experiment& experiment, const ResolvedExperiment& chosen,
                           std::shared_ptr<const ModelDescription> model, std::int64_t train_samples,
                           int workers, int servers)
    : model_(std::move(model)),
      sync_(experiment.sync),
      algorithm_(&chosen.algorithm.entry()),
      sync_setting_(chosen.sync_setting(workers, train_samples)),
      all_workers_(static_cast<std::size_t>(workers)),
      servers_send_means_(route() == sync::Route::server &&
                          experiment.optimizer.update_at == UpdateSide::workers),
      deals_batches_(experiment.continuation() == Continuation::in_place &&
                     experiment.recovery.batch == BatchRule::global),
      global_rate_(experiment.optimizer.global_rate),
      compression_(&chosen.compression.entry()),
      compression_options_(chosen.compression.options()) {
  std::iota(all_workers_.begin(), all_workers_.end(), 0);
  check_statistics(experiment);
  check_compression();
  if (route() == sync::Route::server)
    shard_layout_ = lay_out_shards(*model_, chosen.sharding.make(), servers, chosen.sharding.options());
  schedule_for(experiment, train_samples, workers);
}

void ExchangePlan::schedule_for(const Experiment& experiment, std::int64_t train_samples, int workers) {
  optimizer_ = optimizer_from(experiment.optimizer, rounds_until_stop(experiment, train_samples, workers));
  optimizer_.schedule.steps_per_round = algorithm_->make.steps_per_round(sync_setting_.options);
}

/// Only a worker that holds the model it trains has statistics of its own to evaluate with.
void ExchangePlan::check_statistics(const Experiment& experiment) const {
  const bool has_any = std::any_of(model_->buckets.begin(), model_->buckets.end(),
                                   [](const auto& bucket) { return bucket.exchanged() < bucket.elements(); });
  if (has_any && payload() == sync::Payload::model)
    throw KeyError("sync.average_statistics", "true, because " + sync_.algorithm + " averages whole models",
                   "false");
  const bool evaluates =
      experiment.workload.math == Experiment::Workload::Math::real && experiment.evaluate_every > 0;
  const bool by_worker = (route() == sync::Route::all_reduce || servers_send_means_) &&
                         !std::holds_alternative<sync::ElasticTie>(update_rule());
  if (has_any && evaluates && !by_worker)
    throw KeyError("sync.average_statistics",
                   "true, because with " + sync_.algorithm + " over " + to_text(sync_.over) +
                       " the model that is evaluated has no statistics of '" + model_->name + "' otherwise",
                   "false");
}

/// With elastic averaging, the remaining distance to the centre is sent again in the next exchange, so error
/// feedback would count the lost part twice.
void ExchangePlan::check_compression() const {
  if (compression() == nullptr) return;
  if (!has_error_feedback()) return;
  if (std::holds_alternative<sync::ElasticTie>(update_rule()))
    throw KeyError("sync.compression_options.error_feedback",
                   "false, because workers of " + sync_.algorithm +
                       " exchange their distances from the centre again and again",
                   "true");
}

/// Rounds until the first of the limits that count rounds or samples; 0: there is none.
double ExchangePlan::rounds_until_stop(const Experiment& experiment, std::int64_t train_samples,
                                       int workers) const {
  const Experiment::Stop& stop = experiment.stop;
  double rounds = stop.rounds > 0 ? static_cast<double>(stop.rounds) : 0.0;
  if (stop.epochs > 0.0) {
    const double samples = stop.epochs * static_cast<double>(train_samples);
    const std::int64_t first = workers - std::ssize(experiment.placement.spares);
    const std::int64_t taking = std::min<std::int64_t>(first, workers_of_round());
    const double batch = static_cast<double>(sync_setting_.batch * taking);
    const double of_epochs = std::ceil(samples / (batch * steps_per_round()));
    rounds = rounds > 0.0 ? std::min(rounds, of_epochs) : of_epochs;
  }
  return rounds;
}

int ExchangePlan::steps_per_round() const {
  return std::max(1, algorithm_->make.steps_per_round(sync_setting_.options));
}

compression::Setting ExchangePlan::compression_setting(int worker, std::int64_t position,
                                                       std::int64_t elements) const {
  return {.stretch = stretch_of(*model_, position, elements),
          .options = compression_options_,
          .seed = sync_setting_.seed,
          .worker = worker,
          .is_gradient = payload() == sync::Payload::gradient};
}

std::vector<std::int64_t> ExchangePlan::summed_elements() const {
  constexpr std::int64_t width = sizeof(float);
  std::vector<std::int64_t> sums;
  for (const BucketDescription& bucket : model_->buckets) {
    if (compression() == nullptr) {
      sums.push_back(bucket.exchanged());
      continue;
    }
    const auto codec = compression()->make(compression_setting(0, bucket.offset, bucket.parameters));
    std::int64_t bytes = codec->message_bytes();
    // A ring passes every worker's message on once; an all-reduce sends the parts of one vector twice.
    if (compression()->sharing == compression::Sharing::gathered) bytes = bytes * sync_setting_.workers / 2;
    sums.push_back((bytes + width - 1) / width + bucket.exchanged() - bucket.parameters);
  }
  return sums;
}

int optimizer_vectors(const OptimizerSetting& setting) {
  if (setting.kind != OptimizerKind::sgd) return 2;
  return setting.momentum > 0.0 ? 1 : 0;
}

}  // namespace tandem
