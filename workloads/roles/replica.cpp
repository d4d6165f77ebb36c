#include "workloads/roles/replica.hpp"

#include <algorithm>
#include <limits>

#include "policies/vocabulary/check.hpp"

namespace tandem {

std::unique_ptr<Learner> make_job_learner(const Job& job, int worker) {
  TANDEM_CHECK(job.real_math(), "math is modelled");
  LearnerSetting setting = job.learner_setting();
  setting.replica = worker;
  auto learner = make_learner(setting);
  const ResumePoint* from = job.resume();
  const std::string initial =
      from ? checkpoint_path(from->directory, from->round) : job.experiment().workload.initial;
  if (!initial.empty()) {
    const Checkpoint checkpoint = load_checkpoint(initial, job.model());
    std::copy(checkpoint.values.begin(), checkpoint.values.end(), learner->model().begin());
  }
  return learner;
}

Replica::Replica(const Job& job, int worker)
    : model_(job.model()),
      guard_(model_, job.experiment().workload.non_finite),
      learner_(job.real_math() ? make_job_learner(job, worker) : nullptr),
      optimizer_(job.optimizer_setting(), learner_ ? model_.elements() : 0),
      change_update_(job.update_rule(), job.experiment().optimizer.global_rate,
                     learner_ && job.route() == sync::Route::all_reduce ? model_.elements() : 0),
      loss_(std::numeric_limits<double>::quiet_NaN()) {
  const sync::UpdateRule rule = job.update_rule();
  if (const auto* tie = std::get_if<sync::ElasticTie>(&rule)) tie_ = *tie;
  if ((tie_ || job.servers_send_means()) && learner_)
    incoming_.resize(static_cast<std::size_t>(model_.elements()));
  const bool by_server = job.servers_hold_model();
  server_has_model_ = by_server && !tie_ && std::ranges::all_of(model_.buckets, [](const auto& bucket) {
                        return bucket.exchanged() == bucket.elements();
                      });
  server_steps_ = by_server && job.algorithm().make.payload == sync::Payload::gradient;
}

Kernel Replica::load(std::span<const std::byte> records) {
  if (!learner_) return {};
  return [this, records] { learner_->load(records); };
}

Kernel Replica::forward() {
  if (!learner_) return {};
  return [this] {
    guard_.begin(learner_->model());
    loss_ = learner_->forward();
  };
}

Kernel Replica::backward(int bucket) {
  if (!learner_) return {};
  return [this, bucket] {
    learner_->backward(bucket);
    guard_.inspect(bucket, loss_, learner_->model(), learner_->gradient());
  };
}

Kernel Replica::local_update(UpdateTime time) {
  if (!learner_) return {};
  return [this, time] {
    optimizer_.begin_update(time);
    const std::span<float> model = learner_->model(), gradient = learner_->gradient();
    // Statistics are the worker's own already, or have been averaged since.
    for (const auto& bucket : model_.buckets) {
      const auto begin = static_cast<std::size_t>(bucket.offset);
      const auto trained = static_cast<std::size_t>(bucket.parameters);
      optimizer_.apply(model.subspan(begin, trained), gradient.subspan(begin, trained), 1.0, bucket.offset);
    }
  };
}

void Replica::mark() {
  if (!learner_ || (tie_ && !marked_.empty())) return;
  marked_.assign(learner_->model().begin(), learner_->model().end());
}

Kernel Replica::compute_change() {
  if (!learner_) return {};
  return [this] {
    const auto model = learner_->model();
    change_.resize(model.size());
    for (std::size_t i = 0; i < change_.size(); ++i) change_[i] = model[i] - marked_[i];
  };
}

Kernel Replica::weigh(sync::Payload payload, double weight) {
  if (!learner_) return {};
  return [this, payload, weight] {
    for (float& value : payload_memory(payload)) value *= static_cast<float>(weight);
  };
}

Kernel Replica::adopt_sum(sync::Payload payload, double weight, UpdateTime time) {
  if (!learner_) return {};
  return [this, payload, weight, time] {
    switch (payload) {
      case sync::Payload::gradient:
        optimizer_.begin_update(time);
        return apply_update(optimizer_, model_, 0, learner_->model(), sum_of_gradients(), 1.0 / weight);
      case sync::Payload::change:
        if (tie_) give_way_to_centre(tie_->pull);
        change_update_.begin_update(optimizer_.rate_at(time));
        return adopt_mean_change(1.0 / weight);
      case sync::Payload::model:
        for (float& value : learner_->model()) value /= static_cast<float>(weight);
    }
  };
}

Kernel Replica::adopt_sum_of(int bucket, double weight, UpdateTime time) {
  if (!learner_) return {};
  return [this, bucket, weight, time] {
    if (bucket + 1 == buckets()) optimizer_.begin_update(time);
    const BucketDescription& extent = model_.buckets[static_cast<std::size_t>(bucket)];
    const auto begin = static_cast<std::size_t>(extent.offset);
    const auto size = static_cast<std::size_t>(extent.elements());
    apply_update(optimizer_, model_, extent.offset, learner_->model().subspan(begin, size),
                 sum_of_gradients().subspan(begin, size), 1.0 / weight);
  };
}

/// A server's has memory of its own, since it may come while the worker's gradient is still on its way.
std::span<const float> Replica::sum_of_gradients() const {
  return incoming_.empty() ? std::span<const float>(learner_->gradient()) : std::span<const float>(incoming_);
}

void Replica::adopt_mean_change(double share) {
  const std::span<float> target = tie_ ? std::span<float>(marked_) : learner_->model();
  const std::span<const float> base = marked_, sum = change_;
  for (const auto& bucket : model_.buckets) {
    const auto begin = static_cast<std::size_t>(bucket.offset);
    const auto trained = static_cast<std::size_t>(bucket.parameters);
    const auto end = begin + static_cast<std::size_t>(bucket.exchanged());
    change_update_.apply(target.subspan(begin, trained), base.subspan(begin, trained),
                         sum.subspan(begin, trained), share, 1.0, bucket.offset);
    for (std::size_t i = begin + trained; i < end; ++i)
      target[i] = base[i] + static_cast<float>(share) * sum[i];
  }
}

/// Statistics are not pulled: they belong to the worker's own parameters.
void Replica::give_way_to_centre(double share) {
  const auto model = learner_->model();
  const auto pull = static_cast<float>(share);
  for (const auto& bucket : model_.buckets)
    for (std::int64_t at = bucket.offset; at < bucket.offset + bucket.parameters; ++at) {
      const auto i = static_cast<std::size_t>(at);
      model[i] -= pull * (model[i] - marked_[i]);
    }
}

Kernel Replica::adopt_centre() {
  TANDEM_CHECK(is_tied(), "the model is the server's");
  if (!learner_) return {};
  if (!tie_->asynchronous)
    return [this] {
      give_way_to_centre(tie_->pull);
      marked_ = incoming_;
    };
  // The centre has moved by its share of the distance already: what is left of that distance tells how long
  // it was.
  return [this] {
    marked_ = incoming_;
    give_way_to_centre(tie_->pull / (1.0 - tie_->pull));
  };
}

std::span<float> Replica::payload_memory(sync::Payload payload) {
  switch (payload) {
    case sync::Payload::gradient:
      return learner_->gradient();
    case sync::Payload::change:
      return change_;
    case sync::Payload::model:
      break;
  }
  return learner_->model();
}

void Replica::remember(StateArchive& state) {
  if (!learner_) return;
  if (!server_has_model_) state.floats("model", learner_->model());
  if (tie_) {
    mark();
    state.floats("centre", marked_);
  }
  if (server_steps_) return;
  optimizer_.remember(state);
  change_update_.remember(state);
}

void Replica::begin_at(std::int64_t step) {
  if (learner_) learner_->begin_at(step);
}

Slice Replica::incoming(std::int64_t offset, std::int64_t elements) {
  float* data = nullptr;
  if (learner_) data = (incoming_.empty() ? learner_->model().data() : incoming_.data()) + offset;
  return {Bytes(elements * 4), reinterpret_cast<std::byte*>(data)};
}

Slice Replica::payload(sync::Payload payload, std::int64_t offset, std::int64_t elements) {
  float* data = learner_ ? payload_memory(payload).data() + offset : nullptr;
  return {Bytes(elements * 4), reinterpret_cast<std::byte*>(data)};
}

std::span<const float> Replica::values() const {
  if (!learner_) return {};
  return tie_ ? std::span<const float>(marked_) : std::span<const float>(learner_->model());
}

std::vector<float> initial_model(const Job& job) {
  const auto learner = make_job_learner(job);
  return {learner->model().begin(), learner->model().end()};
}

}  // namespace tandem
