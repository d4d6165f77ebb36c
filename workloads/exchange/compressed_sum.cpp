#include "workloads/exchange/compressed_sum.hpp"

#include <algorithm>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/exchange/device_codec.hpp"
#include "workloads/vectors/device_state.hpp"
#include "workloads/vectors/host_copy.hpp"

namespace tandem {
namespace {

using collectives::Element;

using Feedback = std::optional<compression::ErrorFeedback>;

Feedback feedback_for(const ExchangePlan& exchange, ComputeDevice& device, bool repeats) {
  if (!exchange.has_error_feedback()) return std::nullopt;
  return std::make_optional<compression::ErrorFeedback>(device, repeats);
}

void take_back(Feedback& feedback) {
  if (feedback) feedback->take_back();
}

/// `vectors`: of memory, for each message.
void serialise_unsent(Feedback& feedback, std::int64_t elements, int vectors, StateArchive& state,
                      const std::string& name) {
  if (feedback) feedback->serialise(state, name + ".unsent", static_cast<std::size_t>(elements), vectors);
}

/// Every worker sends one message of a codec.
class Coded : public CompressedSum {
 public:
  Coded(const ExchangePlan& exchange, ComputeDevice& device, const compression::Setting& setting,
        bool repeats)
      : device_(device),
        codec_(make_device_codec(exchange, device, setting)),
        feedback_(feedback_for(exchange, device, repeats)),
        elements_(setting.stretch.elements) {}

  void take_back() override { tandem::take_back(feedback_); }
  void serialise(StateArchive& state, const std::string& name) override {
    serialise_common(state, name);
    serialise_unsent(feedback_, elements_, codec_->memory_vectors(), state, name);
  }
  void serialise_common(StateArchive& state, const std::string& name) override {
    state.number(name + ".exchange", exchange_);
  }

 protected:
  ComputeDevice& device_;
  std::unique_ptr<compression::Codec> codec_;
  Feedback feedback_;
  std::int64_t exchange_ = 0;

 private:
  std::int64_t elements_;
};

/// Messages are added.
class Summed final : public Coded {
 public:
  Summed(const ExchangePlan& exchange, ComputeDevice& device, const compression::Setting& setting,
         bool repeats)
      : Coded(exchange, device, setting, repeats), element_(*exchange.compression()->element) {}

  void exchange_among(const std::vector<int>&, int) override {}
  std::vector<Vector> vectors() const override {
    return {{codec_->message_bytes() / element_.bytes, element_}};
  }

  void prepare(std::size_t, std::span<float> payload) override {
    if (message_.empty())
      message_ = DeviceArray<std::byte>(device_, static_cast<std::size_t>(codec_->message_bytes()));
    compression::encode(*codec_, feedback_, payload, exchange_, message_.span(), payload);
  }

  std::span<std::byte> memory(std::size_t) override { return message_.span(); }
  void finish(std::span<float> payload) override { codec_->decode(message_.span(), exchange_++, payload); }

 private:
  Element element_;
  DeviceArray<std::byte> message_;
};

/// Every worker gets the messages of all workers, and decodes them in the order of workers.
class Gathered final : public Coded {
 public:
  using Coded::Coded;

  void exchange_among(const std::vector<int>& order, int self) override {
    if (place_of_.size() != order.size()) messages_ = {};
    place_of_.resize(order.size());
    for (std::size_t place = 0; place < order.size(); ++place)
      place_of_.at(static_cast<std::size_t>(order[place])) = place;
    self_ = static_cast<std::size_t>(self);
  }

  std::vector<Vector> vectors() const override {
    return {{codec_->message_bytes(), collectives::byte_element, true}};
  }

  void prepare(std::size_t, std::span<float> payload) override {
    if (messages_.empty())
      messages_ = DeviceArray<std::byte>(
          device_, place_of_.size() * static_cast<std::size_t>(codec_->message_bytes()));
    compression::encode(*codec_, feedback_, payload, exchange_, message_of(self_), payload);
  }

  std::span<std::byte> memory(std::size_t) override { return messages_.span(); }

  void finish(std::span<float> payload) override {
    device_.fill(payload.data(), std::ssize(payload), 0.0F);
    for (std::size_t worker = 0; worker < place_of_.size(); ++worker) {
      if (codec_->add_decoded(message_of(worker), exchange_, payload)) continue;
      if (one_.empty()) one_ = FloatArray(device_, payload.size());
      codec_->decode(message_of(worker), exchange_, one_.span());
      device_.add(payload.data(), one_.data(), std::ssize(payload), 1.0F);
    }
    ++exchange_;
  }

 private:
  std::span<std::byte> message_of(std::size_t worker) {
    const auto bytes = static_cast<std::size_t>(codec_->message_bytes());
    return messages_.span().subspan(place_of_[worker] * bytes, bytes);
  }

  std::vector<std::size_t> place_of_;  ///< by worker, among those that exchange
  std::size_t self_ = 0;
  DeviceArray<std::byte> messages_;
  FloatArray one_;  ///< the values of one worker, for a codec that does not add
};

/// Left factors are summed, made orthonormal, and give right factors, which are summed. The values of a
/// worker are the product with its own right factors (Vogels et al. 2019, algorithm 2). For a device that
/// cannot calculate them, the processor does, on a copy of the payload.
class Factored final : public CompressedSum {
 public:
  Factored(const ExchangePlan& exchange, ComputeDevice& device, const compression::Setting& setting,
           bool repeats)
      : Factored(exchange, device, device.make_factors(setting), setting, repeats) {}

  void exchange_among(const std::vector<int>&, int) override {}
  std::vector<Vector> vectors() const override {
    return {{factors_->left_elements(), element_}, {factors_->right_elements(), element_}};
  }

  void prepare(std::size_t stage, std::span<float> payload) override {
    if (stage == 0) {
      if (left_.empty()) left_ = FloatArray(where_, static_cast<std::size_t>(factors_->left_elements()));
      if (right_.empty()) right_ = FloatArray(where_, static_cast<std::size_t>(factors_->right_elements()));
      const std::span<float> here = fetched(payload);
      values_ = feedback_ ? feedback_->add(here) : here;
      return factors_->project(values_, left_.span());
    }
    factors_->orthonormalise(left_.span());
    factors_->reproject(values_, left_.span(), right_.span());
    if (!feedback_) return;
    const std::span<float> sent = here_of(payload);
    factors_->expand(left_.span(), right_.span(), sent);
    factors_->copy_plain(values_, sent);
    feedback_->subtract(sent);
    put_back(payload);
  }

  std::span<std::byte> memory(std::size_t stage) override {
    return std::as_writable_bytes(stage == 0 ? left_.span() : right_.span());
  }

  void finish(std::span<float> payload) override {
    factors_->expand(left_.span(), right_.span(), here_of(payload));
    put_back(payload);
    factors_->keep(right_.span());
  }

  void take_back() override { tandem::take_back(feedback_); }
  void serialise(StateArchive& state, const std::string& name) override {
    serialise_unsent(feedback_, elements_, 1, state, name);
    serialise_common(state, name);
  }
  void serialise_common(StateArchive& state, const std::string& name) override {
    serialise_floats(state, name + ".learnt", where_, factors_->learnt());
  }
  std::int64_t common_floats() const override { return std::ssize(factors_->learnt()); }

 private:
  Factored(const ExchangePlan& exchange, ComputeDevice& device,
           std::unique_ptr<compression::SharedFactors> own, const compression::Setting& setting, bool repeats)
      : device_(device),
        where_(own ? device : host_device()),
        is_copied_(!own && !device.is_host()),
        factors_(own ? std::move(own) : exchange.compression()->make_factors(setting)),
        feedback_(feedback_for(exchange, where_, repeats)),
        elements_(setting.stretch.elements),
        element_(collectives::float_element),
        copy_(device) {}

  /// The payload's memory, or that of its copy.
  std::span<float> here_of(std::span<float> payload) {
    return is_copied_ ? copy_.of(payload.size()) : payload;
  }
  std::span<float> fetched(std::span<float> payload) {
    const std::span<float> here = here_of(payload);
    if (is_copied_) copy_and_await(device_, here.data(), payload.data(), payload.size_bytes());
    return here;
  }
  void put_back(std::span<float> payload) {
    if (is_copied_) copy_and_await(device_, payload.data(), here_of(payload).data(), payload.size_bytes());
  }

  ComputeDevice& device_;  ///< of the payload
  ComputeDevice& where_;   ///< of the factors
  bool is_copied_;
  std::unique_ptr<compression::SharedFactors> factors_;
  Feedback feedback_;
  std::int64_t elements_;
  Element element_;
  std::span<const float> values_;  ///< of the current exchange, to be sent
  HostCopy<float> copy_;
  FloatArray left_;
  FloatArray right_;
};

}  // namespace

std::unique_ptr<CompressedSum> make_compressed_sum(const ExchangePlan& exchange, ComputeDevice& device,
                                                   int worker, const BucketDescription& bucket,
                                                   bool repeats) {
  const auto setting = exchange.compression_setting(worker, bucket.offset, bucket.parameters);
  switch (exchange.compression()->sharing) {
    case compression::Sharing::gathered:
      return std::make_unique<Gathered>(exchange, device, setting, repeats);
    case compression::Sharing::factored:
      return std::make_unique<Factored>(exchange, device, setting, repeats);
    case compression::Sharing::summed:
      break;
    case compression::Sharing::none:
      TANDEM_CHECK(false, "messages of", exchange.compression_method().name, "cannot be shared");
  }
  return std::make_unique<Summed>(exchange, device, setting, repeats);
}

}  // namespace tandem
