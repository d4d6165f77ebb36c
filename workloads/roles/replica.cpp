#include "workloads/roles/replica.hpp"

#include <algorithm>
#include <limits>

#include "policies/vocabulary/check.hpp"

namespace tandem {

std::unique_ptr<Learner> make_job_learner(const Job& job) {
  TANDEM_CHECK(job.real_math(), "math is modelled");
  auto learner = make_learner(job.learner_setting());
  if (const std::string& initial = job.experiment().workload.initial; !initial.empty()) {
    const Checkpoint checkpoint = load_checkpoint(initial, job.model());
    std::copy(checkpoint.values.begin(), checkpoint.values.end(), learner->model().begin());
  }
  return learner;
}

Replica::Replica(const Job& job)
    : model_(job.model()),
      learner_(job.real_math() ? make_job_learner(job) : nullptr),
      optimizer_(job.experiment().optimizer.learning_rate, job.experiment().optimizer.momentum,
                 job.experiment().optimizer.weight_decay, learner_ ? model_.elements() : 0),
      global_rate_(job.experiment().optimizer.global_rate),
      loss_(std::numeric_limits<double>::quiet_NaN()) {}

Kernel Replica::load(std::span<const std::byte> records) {
  if (!learner_) return {};
  return [this, records] { learner_->load(records); };
}

Kernel Replica::forward() {
  if (!learner_) return {};
  return [this] { loss_ = learner_->forward(); };
}

Kernel Replica::backward(int bucket) {
  if (!learner_) return {};
  return [this, bucket] { learner_->backward(bucket); };
}

Kernel Replica::local_update() {
  if (!learner_) return {};
  return [this] { apply_update(optimizer_, model_, 0, learner_->model(), learner_->gradient(), 1.0); };
}

void Replica::mark() {
  if (!learner_) return;
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

Kernel Replica::adopt_sum(sync::Payload payload, int count) {
  if (!learner_) return {};
  if (payload == sync::Payload::gradient)
    return [this, count] {
      apply_update(optimizer_, model_, 0, learner_->model(), learner_->gradient(), 1.0 / count);
    };
  return [this, count] {
    const auto& sum = change_;
    const auto model = learner_->model();
    const float share = 1.0F / static_cast<float>(count);
    const float rate = share * static_cast<float>(global_rate_);
    for (const auto& bucket : model_.buckets) {
      const auto begin = static_cast<std::size_t>(bucket.offset);
      const auto trained_end = begin + static_cast<std::size_t>(bucket.parameters);
      const auto end = begin + static_cast<std::size_t>(bucket.elements());
      for (std::size_t i = begin; i < trained_end; ++i) model[i] = marked_[i] + rate * sum[i];
      for (std::size_t i = trained_end; i < end; ++i) model[i] = marked_[i] + share * sum[i];
    }
  };
}

std::span<float> Replica::payload_memory(sync::Payload payload) {
  return payload == sync::Payload::gradient ? learner_->gradient() : std::span<float>(change_);
}

Slice Replica::model(std::int64_t offset, std::int64_t elements) {
  float* data = learner_ ? learner_->model().data() + offset : nullptr;
  return {Bytes(elements * 4), reinterpret_cast<std::byte*>(data)};
}

Slice Replica::payload(sync::Payload payload, std::int64_t offset, std::int64_t elements) {
  float* data = learner_ ? payload_memory(payload).data() + offset : nullptr;
  return {Bytes(elements * 4), reinterpret_cast<std::byte*>(data)};
}

std::span<const float> Replica::values() const {
  return learner_ ? std::span<const float>(learner_->model()) : std::span<const float>();
}

std::vector<float> initial_model(const Job& job) {
  const auto learner = make_job_learner(job);
  return {learner->model().begin(), learner->model().end()};
}

}  // namespace tandem
