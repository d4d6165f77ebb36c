#include "workloads/roles/compressed_sum.hpp"

#include <algorithm>

#include "policies/vocabulary/check.hpp"

namespace tandem {
namespace {

using collectives::Element;

std::optional<compression::ErrorFeedback> feedback_for(const Job& job) {
  if (!compression::has_error_feedback(job.compression_options())) return std::nullopt;
  return std::make_optional<compression::ErrorFeedback>();
}

void remember_unsent(std::optional<compression::ErrorFeedback>& feedback, std::int64_t elements,
                     StateArchive& state, const std::string& name) {
  if (feedback) state.floats(name + ".unsent", feedback->memory(static_cast<std::size_t>(elements)));
}

/// Messages add up.
class Summed final : public CompressedSum {
 public:
  Summed(const Job& job, const compression::Setting& setting)
      : codec_(job.compression()->make(setting)),
        feedback_(feedback_for(job)),
        elements_(setting.stretch.elements),
        element_(*job.compression()->element) {}

  std::vector<Vector> vectors() const override {
    return {{codec_->message_bytes() / element_.bytes, element_}};
  }

  void prepare(std::size_t, std::span<float> payload) override {
    message_.resize(static_cast<std::size_t>(codec_->message_bytes()));
    codec_->encode(feedback_ ? feedback_->add(payload) : payload, exchange_, message_);
    if (!feedback_) return;
    codec_->decode(message_, exchange_, payload);
    feedback_->subtract(payload);
  }

  std::span<std::byte> memory(std::size_t) override { return message_; }
  void finish(std::span<float> payload) override { codec_->decode(message_, exchange_++, payload); }
  void remember(StateArchive& state, const std::string& name) override {
    state.number(name + ".exchange", exchange_);
    remember_unsent(feedback_, elements_, state, name);
  }

 private:
  std::unique_ptr<compression::Codec> codec_;
  std::optional<compression::ErrorFeedback> feedback_;
  std::int64_t elements_;
  Element element_;
  std::vector<std::byte> message_;
  std::int64_t exchange_ = 0;
};

/// Everybody gets everybody's message, and decodes all in the order of workers.
class Gathered final : public CompressedSum {
 public:
  Gathered(const Job& job, const compression::Setting& setting, const std::vector<int>& order)
      : codec_(job.compression()->make(setting)),
        feedback_(feedback_for(job)),
        elements_(setting.stretch.elements),
        worker_(setting.worker) {
    place_of_.resize(order.size());
    for (std::size_t place = 0; place < order.size(); ++place)
      place_of_.at(static_cast<std::size_t>(order[place])) = place;
  }

  std::vector<Vector> vectors() const override {
    return {{codec_->message_bytes(), collectives::byte_element, true}};
  }

  void prepare(std::size_t, std::span<float> payload) override {
    messages_.resize(place_of_.size() * static_cast<std::size_t>(codec_->message_bytes()));
    const auto own = message_of(static_cast<std::size_t>(worker_));
    codec_->encode(feedback_ ? feedback_->add(payload) : payload, exchange_, own);
    if (!feedback_) return;
    codec_->decode(own, exchange_, payload);
    feedback_->subtract(payload);
  }

  std::span<std::byte> memory(std::size_t) override { return messages_; }

  void finish(std::span<float> payload) override {
    one_.resize(payload.size());
    std::fill(payload.begin(), payload.end(), 0.0F);
    for (std::size_t worker = 0; worker < place_of_.size(); ++worker) {
      codec_->decode(message_of(worker), exchange_, one_);
      for (std::size_t i = 0; i < payload.size(); ++i) payload[i] += one_[i];
    }
    ++exchange_;
  }

  void remember(StateArchive& state, const std::string& name) override {
    state.number(name + ".exchange", exchange_);
    remember_unsent(feedback_, elements_, state, name);
  }

 private:
  std::span<std::byte> message_of(std::size_t worker) {
    const auto bytes = static_cast<std::size_t>(codec_->message_bytes());
    return std::span(messages_).subspan(place_of_[worker] * bytes, bytes);
  }

  std::unique_ptr<compression::Codec> codec_;
  std::optional<compression::ErrorFeedback> feedback_;
  std::int64_t elements_;
  int worker_;
  std::vector<std::size_t> place_of_;  ///< by worker
  std::vector<std::byte> messages_;
  std::vector<float> one_;  ///< what one worker sent
  std::int64_t exchange_ = 0;
};

/// Left factors are summed, made orthonormal, and give right factors, which are summed. What a worker sent is
/// the product with its own right factors (Vogels et al. 2019, algorithm 2).
class Factored final : public CompressedSum {
 public:
  Factored(const Job& job, const compression::Setting& setting)
      : factors_(job.compression()->make_factors(setting)),
        feedback_(feedback_for(job)),
        elements_(setting.stretch.elements),
        element_(collectives::float_element) {}

  std::vector<Vector> vectors() const override {
    return {{factors_->left_elements(), element_}, {factors_->right_elements(), element_}};
  }

  void prepare(std::size_t stage, std::span<float> payload) override {
    if (stage == 0) {
      left_.resize(static_cast<std::size_t>(factors_->left_elements()));
      right_.resize(static_cast<std::size_t>(factors_->right_elements()));
      values_ = feedback_ ? feedback_->add(payload) : payload;
      return factors_->project(values_, left_);
    }
    factors_->orthonormalise(left_);
    factors_->reproject(values_, left_, right_);
    if (!feedback_) return;
    factors_->expand(left_, right_, payload);
    factors_->copy_plain(values_, payload);
    feedback_->subtract(payload);
  }

  std::span<std::byte> memory(std::size_t stage) override {
    return std::as_writable_bytes(std::span(stage == 0 ? left_ : right_));
  }

  void finish(std::span<float> payload) override {
    factors_->expand(left_, right_, payload);
    factors_->keep(right_);
  }

  void remember(StateArchive& state, const std::string& name) override {
    remember_unsent(feedback_, elements_, state, name);
    state.floats(name + ".learnt", factors_->learnt());
  }

 private:
  std::unique_ptr<compression::SharedFactors> factors_;
  std::optional<compression::ErrorFeedback> feedback_;
  std::int64_t elements_;
  Element element_;
  std::span<const float> values_;  ///< of the exchange under way, to be sent
  std::vector<float> left_;
  std::vector<float> right_;
};

}  // namespace

std::unique_ptr<CompressedSum> make_compressed_sum(const Job& job, int worker,
                                                   const BucketDescription& bucket,
                                                   const std::vector<int>& order) {
  const auto setting = job.compression_setting(worker, bucket.offset, bucket.parameters);
  switch (job.compression()->sharing) {
    case compression::Sharing::gathered:
      return std::make_unique<Gathered>(job, setting, order);
    case compression::Sharing::factored:
      return std::make_unique<Factored>(job, setting);
    case compression::Sharing::summed:
      break;
  }
  return std::make_unique<Summed>(job, setting);
}

}  // namespace tandem
