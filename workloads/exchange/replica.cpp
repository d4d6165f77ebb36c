#include "workloads/exchange/replica.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/exchange/ramp_state.hpp"
#include "workloads/job/plan/exchange_plan.hpp"
#include "workloads/vectors/device_state.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {
namespace {

/// The number of vectors of the model's size that all workers have after a round: the model, and what steps
/// it by sums.
int common_vectors(const ExchangePlan& exchange) {
  if (exchange.payload() == sync::Payload::gradient)
    return 1 + optimizer_vectors(exchange.optimizer_setting());
  const sync::UpdateRule rule = exchange.update_rule();
  const auto* outer = std::get_if<sync::OuterMomentum>(&rule);
  return outer != nullptr && outer->momentum > 0.0 ? 2 : 1;
}

}  // namespace

std::unique_ptr<Learner> make_job_learner(const ReplicaPlan& plan, ComputeDevice& device, int worker) {
  TANDEM_CHECK(plan.real_math, "math is modelled");
  LearnerSetting setting = plan.learner;
  setting.replica = worker;
  setting.gpu = device.libtorch_gpu();
  auto learner = make_learner(setting, device);
  if (!plan.initial.empty()) {
    const Checkpoint checkpoint = load_checkpoint(plan.initial, *plan.description);
    copy_and_await(device, learner->model().data(), checkpoint.values.data(), learner->model().size_bytes());
  }
  return learner;
}

Replica::Replica(const ReplicaPlan& plan, const ExchangePlan& exchange, ComputeDevice& device, int worker)
    : device_(device),
      model_(*plan.description),
      guard_(model_, plan.non_finite, device),
      learner_(plan.real_math ? make_job_learner(plan, device, worker) : nullptr),
      optimizer_(exchange.optimizer_setting(), learner_ ? model_.elements() : 0, 0, device),
      change_update_(exchange.update_rule(), exchange.global_rate(),
                     learner_ && exchange.route() == sync::Route::all_reduce ? model_.elements() : 0, device),
      payload_(exchange.payload()),
      common_vectors_(common_vectors(exchange)),
      ramp_(plan.rate_ramp) {
  if (learner_)
    learner_->after_backward([this](int bucket) { guard_.inspect(bucket, learner_->gradient()); });
  const sync::UpdateRule rule = exchange.update_rule();
  if (const auto* tie = std::get_if<sync::ElasticTie>(&rule)) tie_ = *tie;
  if ((tie_ || exchange.servers_send_means()) && learner_)
    incoming_ = FloatArray(device, static_cast<std::size_t>(model_.elements()));
  for (const auto& bucket : model_.buckets) {
    trained_.push_back({bucket.offset, bucket.parameters, 0});
    exchanged_.push_back({bucket.offset, bucket.parameters, bucket.exchanged() - bucket.parameters});
  }
  const bool by_server = exchange.servers_hold_model();
  server_has_model_ = by_server && !tie_ && std::ranges::all_of(model_.buckets, [](const auto& bucket) {
                        return bucket.exchanged() == bucket.elements();
                      });
  server_steps_ = by_server && exchange.payload() == sync::Payload::gradient;
}

Kernel Replica::load(std::span<const std::byte> records, std::span<const float> weights) {
  if (!learner_) return {};
  return [this, records, weights] {
    learner_->load(records);
    if (!weights.empty()) learner_->weigh(weights);
  };
}

Kernel Replica::forward() {
  if (!learner_) return {};
  return [this] {
    guard_.begin(learner_->model());
    learner_->forward();
  };
}

Kernel Replica::backward(int bucket) {
  if (!learner_) return {};
  return [this, bucket] { learner_->backward(bucket); };
}

double Replica::loss() const {
  return learner_ ? learner_->loss() : std::numeric_limits<double>::quiet_NaN();
}

std::span<const float> Replica::sample_losses() {
  return learner_ ? learner_->sample_losses() : std::span<const float>();
}

const std::optional<std::string>& Replica::find_non_finite(int bucket) {
  if (learner_) guard_.conclude(bucket, loss(), learner_->model(), learner_->gradient());
  return guard_.non_finite();
}

Kernel Replica::local_update(UpdateTime time) {
  if (!learner_) return {};
  return [this, time] {
    optimizer_.begin_update(time);
    // Statistics are the worker's own already, or have been averaged since.
    optimizer_.apply(learner_->model(), learner_->gradient(), {}, 0, trained_);
  };
}

void Replica::mark() {
  if (!learner_ || (tie_ && !marked_.empty())) return;
  const std::span<float> model = learner_->model();
  if (marked_.empty()) marked_ = FloatArray(device_, model.size());
  device_.copy(marked_.data(), model.data(), model.size_bytes());
}

Kernel Replica::compute_change() {
  if (!learner_) return {};
  return [this] {
    const auto model = learner_->model();
    if (change_.empty()) change_ = FloatArray(device_, model.size());
    device_.subtract(change_.data(), model.data(), marked_.data(), std::ssize(model));
  };
}

Kernel Replica::weigh(sync::Payload payload, double weight) {
  if (!learner_) return {};
  return [this, payload, weight] {
    const std::span<float> values = payload_memory(payload);
    device_.scale(values.data(), std::ssize(values), static_cast<float>(weight));
  };
}

Kernel Replica::adopt_sum(sync::Payload payload, double weight, UpdateTime time) {
  if (!learner_) return {};
  return [this, payload, weight, time] {
    switch (payload) {
      case sync::Payload::gradient:
        optimizer_.begin_update(time, ramp_.factor(rate_factor_, time.round));
        return apply_update(optimizer_, model_, 0, learner_->model(), sum_of_gradients(), 1.0 / weight);
      case sync::Payload::change:
        if (tie_) give_way_to_centre(tie_->pull);
        change_update_.begin_update(optimizer_.rate_at(time));
        return adopt_mean_change(1.0 / weight, time.round);
      case sync::Payload::model:
        device_.scale(learner_->model().data(), model_.elements(), static_cast<float>(1.0 / weight));
    }
  };
}

Kernel Replica::adopt_sum_of(int bucket, double weight, UpdateTime time) {
  if (!learner_) return {};
  return [this, bucket, weight, time] {
    if (bucket + 1 == buckets()) optimizer_.begin_update(time, ramp_.factor(rate_factor_, time.round));
    const BucketDescription& extent = model_.buckets[static_cast<std::size_t>(bucket)];
    const auto begin = static_cast<std::size_t>(extent.offset);
    const auto size = static_cast<std::size_t>(extent.elements());
    apply_update(optimizer_, model_, extent.offset, learner_->model().subspan(begin, size),
                 sum_of_gradients().subspan(begin, size), 1.0 / weight);
  };
}

/// A sum from a server has its own memory, because it may arrive while the worker's gradient is still being
/// sent.
std::span<const float> Replica::sum_of_gradients() const {
  return incoming_.empty() ? learner_->gradient() : incoming_.span();
}

void Replica::adopt_mean_change(double share, std::int64_t round) {
  const double factor = ramp_.factor(rate_factor_, round);
  const std::span<float> target = tie_ ? marked_.span() : learner_->model();
  change_update_.apply(target, marked_.span(), change_.span(), share, factor, 0, exchanged_, share);
}

/// Statistics are not pulled: they belong to the worker's own parameters.
void Replica::give_way_to_centre(double share) {
  for (const auto& bucket : model_.buckets)
    device_.approach(learner_->model().data() + bucket.offset, marked_.data() + bucket.offset,
                     bucket.parameters, static_cast<float>(share));
}

Kernel Replica::adopt_centre() {
  TANDEM_CHECK(is_tied(), "the model is the server's");
  if (!learner_) return {};
  if (!tie_->asynchronous)
    return [this] {
      give_way_to_centre(tie_->pull);
      device_.copy(marked_.data(), incoming_.data(), incoming_.bytes());
    };
  // The centre has already moved by its share of the distance; the original distance follows from the rest.
  return [this] {
    device_.copy(marked_.data(), incoming_.data(), incoming_.bytes());
    give_way_to_centre(tie_->pull / (1.0 - tie_->pull));
  };
}

Kernel Replica::adopt_received() {
  if (!learner_ || !tie_) return {};
  return [this] {
    device_.copy(marked_.data(), incoming_.data(), incoming_.bytes());
    device_.copy(learner_->model().data(), incoming_.data(), incoming_.bytes());
  };
}

std::span<float> Replica::payload_memory(sync::Payload payload) {
  switch (payload) {
    case sync::Payload::gradient:
      return learner_->gradient();
    case sync::Payload::change:
      return change_.span();
    case sync::Payload::model:
      break;
  }
  return learner_->model();
}

void Replica::serialise(StateArchive& state) {
  if (!learner_) return;
  if (!server_has_model_) serialise_floats(state, "model", device_, learner_->model());
  if (tie_) {
    mark();
    serialise_floats(state, "centre", device_, marked_.span());
  }
  if (server_steps_) return;
  tandem::serialise(state, ramp_);
  optimizer_.serialise(state);
  change_update_.serialise(state);
}

void Replica::serialise_common(StateArchive& state) {
  if (!learner_) return;
  tandem::serialise(state, ramp_);
  const std::span<float> model = learner_->model();
  if (payload_ != sync::Payload::change) {
    serialise_floats(state, "model", device_, model);
    if (payload_ == sync::Payload::gradient) optimizer_.serialise(state);
    return;
  }
  if (marked_.empty()) mark();
  serialise_floats(state, "model", device_, marked_.span());
  change_update_.serialise(state);
  if (state.restores()) device_.copy(tie_ ? incoming_.data() : model.data(), marked_.data(), marked_.bytes());
}

Bytes Replica::common_size() const { return model_.bytes() * common_vectors_; }

void Replica::begin_at(std::int64_t step) {
  if (learner_) learner_->begin_at(step);
}

Slice Replica::incoming(std::int64_t offset, std::int64_t elements) {
  float* data = nullptr;
  if (learner_) data = (incoming_.empty() ? learner_->model().data() : incoming_.data()) + offset;
  return {Bytes(elements * 4), reinterpret_cast<std::byte*>(data)};
}

Slice Replica::known(std::int64_t offset, std::int64_t elements) {
  float* data = nullptr;
  if (learner_)
    data = (payload_ == sync::Payload::change ? marked_.data() : learner_->model().data()) + offset;
  return {Bytes(elements * 4), reinterpret_cast<std::byte*>(data)};
}

Slice Replica::payload(sync::Payload payload, std::int64_t offset, std::int64_t elements) {
  float* data = learner_ ? payload_memory(payload).data() + offset : nullptr;
  return {Bytes(elements * 4), reinterpret_cast<std::byte*>(data)};
}

std::span<const float> Replica::values() {
  if (!learner_) return {};
  const std::span<const float> values = tie_ ? marked_.span() : learner_->model();
  if (device_.is_host()) return values;
  host_values_.resize(values.size());
  copy_and_await(device_, host_values_.data(), values.data(), values.size_bytes());
  return host_values_;
}

std::vector<float> initial_model(const ReplicaPlan& plan) {
  const auto learner = make_job_learner(plan, host_device());
  return {learner->model().begin(), learner->model().end()};
}

}  // namespace tandem
