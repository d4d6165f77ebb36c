#include "workloads/roles/device_codec.hpp"

#include <utility>
#include <vector>

#include "workloads/vectors/owned_mark.hpp"

namespace tandem {
namespace {

class ByProcessor final : public compression::Codec {
 public:
  ByProcessor(ComputeDevice& device, std::unique_ptr<compression::Codec> codec)
      : device_(device), codec_(std::move(codec)) {}

  std::int64_t message_bytes() const override { return codec_->message_bytes(); }
  void encode(std::span<const float> values, std::int64_t exchange, std::span<std::byte> message) override {
    values_.resize(values.size());
    message_.resize(message.size());
    copy_and_await(device_, values_.data(), values.data(), values.size_bytes());
    codec_->encode(values_, exchange, message_);
    copy_and_await(device_, message.data(), message_.data(), message_.size());
  }
  void decode(std::span<const std::byte> message, std::int64_t exchange, std::span<float> values) override {
    values_.resize(values.size());
    message_.resize(message.size());
    copy_and_await(device_, message_.data(), message.data(), message.size());
    codec_->decode(message_, exchange, values_);
    copy_and_await(device_, values.data(), values_.data(), values.size_bytes());
  }
  std::span<float> learnt() override { return codec_->learnt(); }

 private:
  ComputeDevice& device_;
  std::unique_ptr<compression::Codec> codec_;
  std::vector<float> values_;
  std::vector<std::byte> message_;
};

}  // namespace

std::unique_ptr<compression::Codec> make_device_codec(const Job& job, ComputeDevice& device,
                                                      const compression::Setting& setting) {
  auto codec = device.make_codec(job.experiment().sync.compression, setting);
  return codec ? std::move(codec) : std::make_unique<ByProcessor>(device, job.compression()->make(setting));
}

}  // namespace tandem
