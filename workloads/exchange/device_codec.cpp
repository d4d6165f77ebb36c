#include "workloads/exchange/device_codec.hpp"

#include <utility>
#include <vector>

#include "workloads/vectors/host_copy.hpp"

namespace tandem {
namespace {

class ByProcessor final : public compression::Codec {
 public:
  ByProcessor(ComputeDevice& device, std::unique_ptr<compression::Codec> codec)
      : device_(device), codec_(std::move(codec)), values_(device), memory_(device), message_(device) {}

  std::int64_t message_bytes() const override { return codec_->message_bytes(); }
  std::int64_t header_bytes() const override { return codec_->header_bytes(); }
  std::int64_t bytes_of(std::span<const std::byte> header) const override {
    if (header_bytes() == 0) return message_bytes();
    std::vector<std::byte> own(static_cast<std::size_t>(header_bytes()));
    copy_and_await(device_, own.data(), header.data(), own.size());
    return codec_->bytes_of(own);
  }
  std::int64_t expected_bytes() const override { return codec_->expected_bytes(); }
  void encode(std::span<const float> values, std::int64_t exchange, std::span<std::byte> message) override {
    const auto own = values_.of(values.size());
    const auto encoded = message_.of(message.size());
    copy_and_await(device_, own.data(), values.data(), own.size_bytes());
    codec_->encode(own, exchange, encoded);
    copy_and_await(device_, message.data(), encoded.data(), encoded.size());
  }
  /// The device adds and subtracts one vector itself.
  bool encode_with_memory(std::span<const float> values, std::span<float> memory, std::int64_t exchange,
                          std::span<std::byte> message) override {
    if (memory_vectors() == 1) return false;
    const auto own = values_.of(values.size());
    const auto kept = memory_.of(memory.size());
    const auto encoded = message_.of(message.size());
    copy_and_await(device_, own.data(), values.data(), own.size_bytes());
    copy_and_await(device_, kept.data(), memory.data(), kept.size_bytes());
    codec_->encode_with_memory(own, kept, exchange, encoded);
    copy_and_await(device_, memory.data(), kept.data(), kept.size_bytes());
    copy_and_await(device_, message.data(), encoded.data(), encoded.size());
    return true;
  }
  int memory_vectors() const override { return codec_->memory_vectors(); }
  void decode(std::span<const std::byte> message, std::int64_t exchange, std::span<float> values) override {
    const auto own = values_.of(values.size());
    const auto encoded = message_.of(message.size());
    copy_and_await(device_, encoded.data(), message.data(), encoded.size());
    codec_->decode(encoded, exchange, own);
    copy_and_await(device_, values.data(), own.data(), own.size_bytes());
  }
  bool add_decoded(std::span<const std::byte> message, std::int64_t exchange, std::span<float> sum) override {
    const auto own = values_.of(sum.size());
    const auto encoded = message_.of(message.size());
    copy_and_await(device_, encoded.data(), message.data(), encoded.size());
    copy_and_await(device_, own.data(), sum.data(), own.size_bytes());
    if (!codec_->add_decoded(encoded, exchange, own)) return false;
    copy_and_await(device_, sum.data(), own.data(), own.size_bytes());
    return true;
  }
  std::span<float> learnt() override { return codec_->learnt(); }

 private:
  ComputeDevice& device_;
  std::unique_ptr<compression::Codec> codec_;
  HostCopy<float> values_;
  HostCopy<float> memory_;
  HostCopy<std::byte> message_;
};

}  // namespace

std::unique_ptr<compression::Codec> make_device_codec(const ExchangePlan& exchange, ComputeDevice& device,
                                                      const compression::Setting& setting) {
  auto codec = device.make_codec(exchange.compression_method(), setting);
  return codec ? std::move(codec)
               : std::make_unique<ByProcessor>(device, exchange.compression()->make(setting));
}

}  // namespace tandem
