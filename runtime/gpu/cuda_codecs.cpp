#include "runtime/gpu/cuda_codecs.hpp"

#include <algorithm>
#include <limits>
#include <vector>

#include "policies/compression/methods.hpp"
#include "policies/compression/packing.hpp"
#include "policies/compression/qsgd.hpp"
#include "policies/compression/random_k.hpp"
#include "runtime/gpu/cuda_check.hpp"
#include "runtime/gpu/cuda_device.hpp"
#include "runtime/gpu/cuda_factors.hpp"
#include "runtime/gpu/kernels.hpp"
#include "runtime/gpu/uploaded.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {
namespace {

using compression::check_sizes;
using kernels::Decoded;

/// A codec whose kernels store the decoded values of a message, or add them.
class ReadingCodec : public compression::Codec {
 public:
  void decode(std::span<const std::byte> message, std::int64_t, std::span<float> values) final {
    read(message, values, Decoded::stored);
  }
  bool add_decoded(std::span<const std::byte> message, std::int64_t, std::span<float> sum) final {
    read(message, sum, Decoded::added);
    return true;
  }

 protected:
  ReadingCodec(CudaDevice& device, std::int64_t elements) : device_(device), elements_(elements) {}
  /// Pre: the GPU is the thread's current one, and the sizes are right.
  virtual void queue_reading(const std::byte* message, float* values, Decoded decoded) = 0;
  void check(std::size_t values, std::size_t message) const {
    check_sizes(values, elements_, message, message_bytes());
  }
  CudaDevice& device() const { return device_; }
  std::int64_t elements() const { return elements_; }

 private:
  void read(std::span<const std::byte> message, std::span<float> values, Decoded decoded) {
    check(values.size(), message.size());
    device_.enter();
    queue_reading(message.data(), values.data(), decoded);
  }

  CudaDevice& device_;
  std::int64_t elements_;
};

/// Numbers of 16 bits; a message has to be aligned to 16 bits.
class CudaCast final : public compression::Codec {
 public:
  CudaCast(CudaDevice& device, std::int64_t elements, HalfFormat format)
      : device_(device), elements_(elements), format_(format) {}
  std::int64_t message_bytes() const override {
    return elements_ * static_cast<std::int64_t>(sizeof(std::uint16_t));
  }
  void encode(std::span<const float> values, std::int64_t, std::span<std::byte> message) override {
    check_sizes(values.size(), elements_, message.size(), message_bytes());
    device_.narrow(values.data(), reinterpret_cast<std::uint16_t*>(message.data()), elements_, format_);
  }
  void decode(std::span<const std::byte> message, std::int64_t, std::span<float> values) override {
    check_sizes(values.size(), elements_, message.size(), message_bytes());
    device_.widen(reinterpret_cast<const std::uint16_t*>(message.data()), values.data(), elements_, format_);
  }

 private:
  CudaDevice& device_;
  std::int64_t elements_;
  HalfFormat format_;
};

class CudaTopK final : public ReadingCodec {
 public:
  CudaTopK(CudaDevice& device, const compression::Setting& setting)
      : ReadingCodec(device, setting.stretch.elements),
        chosen_(compression::count_of_share(setting.options.real("ratio"), elements())) {
    TANDEM_CHECK(elements() <= std::int64_t{std::numeric_limits<std::uint32_t>::max()}, elements());
  }
  std::int64_t message_bytes() const override {
    return chosen_ * static_cast<std::int64_t>(sizeof(std::uint32_t) + sizeof(float));
  }
  void encode(std::span<const float> values, std::int64_t, std::span<std::byte> message) override {
    select(values, nullptr, message);
  }
  bool encode_with_memory(std::span<const float> values, std::span<float> unsent, std::int64_t,
                          std::span<std::byte> message) override {
    TANDEM_CHECK(unsent.size() == values.size(), "unsent", unsent.size(), "values", values.size());
    select(values, unsent.data(), message);
    return true;
  }

 private:
  void queue_reading(const std::byte* message, float* values, Decoded decoded) override {
    check_cuda(kernels::decode_top_k(message, chosen_, values, elements(), decoded, device().queue_in_use()),
               "decode_top_k", device().gpu());
  }

  void select(std::span<const float> values, float* unsent, std::span<std::byte> message) {
    check(values.size(), message.size());
    if (workspace_.empty())
      workspace_ = DeviceArray<std::byte>(device(), kernels::top_k_workspace_bytes(elements()));
    device().enter();
    check_cuda(kernels::encode_top_k(values.data(), unsent, elements(), chosen_, message.data(),
                                     workspace_.data(), device().queue_in_use()),
               "encode_top_k", device().gpu());
  }

  std::int64_t chosen_;
  DeviceArray<std::byte> workspace_;
};

class CudaSigns final : public ReadingCodec {
 public:
  CudaSigns(CudaDevice& device, const compression::Stretch& stretch, kernels::SignMethod method)
      : ReadingCodec(device, stretch.elements), stretch_(stretch), method_(method) {}
  std::int64_t message_bytes() const override {
    const std::int64_t means = method_ == kernels::SignMethod::sign ? 1 : 2;
    return compression::packed_bytes(stretch_.elements, 1) +
           means * static_cast<std::int64_t>(stretch_.parts.size() * sizeof(float));
  }
  void encode(std::span<const float> values, std::int64_t, std::span<std::byte> message) override {
    check(values.size(), message.size());
    const kernels::SignStretch prepared = prepare();
    check_cuda(kernels::encode_signs(prepared, values.data(), message.data(), device().queue_in_use()),
               "encode_signs", device().gpu());
  }

 private:
  void queue_reading(const std::byte* message, float* values, Decoded decoded) override {
    check_cuda(kernels::decode_signs(prepare(), message, values, decoded, device().queue_in_use()),
               "decode_signs", device().gpu());
  }

  /// Tables in the device's memory, created on first use; its GPU is the thread's current one.
  kernels::SignStretch prepare() {
    if (chunks_.empty() && !stretch_.parts.empty()) fill_tables();
    device().enter();
    return {method_,        stretch_.elements,
            chunks_.data(), static_cast<std::int64_t>(chunks_.size()),
            ranges_.data(), static_cast<std::int64_t>(ranges_.size()),
            sums_.data()};
  }

  void fill_tables() {
    std::vector<kernels::Chunk> chunks;
    std::vector<kernels::ChunkRange> ranges;
    for (const compression::Part& part : stretch_.parts) {
      const auto number = static_cast<std::int32_t>(ranges.size());
      const auto first = static_cast<std::int64_t>(chunks.size());
      for (std::int64_t at = 0; at < part.size(); at += kernels::chunk_elements) {
        const std::int64_t count = std::min(kernels::chunk_elements, part.size() - at);
        chunks.push_back({part.begin + at, static_cast<std::int32_t>(count), number});
      }
      ranges.push_back({first, static_cast<std::int64_t>(chunks.size()) - first, part.size()});
    }
    chunks_ = uploaded(device(), chunks);
    ranges_ = uploaded(device(), ranges);
    sums_ = DeviceArray<kernels::ChunkSum>(device(), chunks.size());
  }

  compression::Stretch stretch_;
  kernels::SignMethod method_;
  DeviceArray<kernels::Chunk> chunks_;
  DeviceArray<kernels::ChunkRange> ranges_;
  DeviceArray<kernels::ChunkSum> sums_;
};

/// The host draws which elements are sent; the GPU gathers and scatters them.
class CudaRandomK final : public compression::Codec {
 public:
  CudaRandomK(CudaDevice& device, const compression::Setting& setting) : device_(device), choice_(setting) {}
  ~CudaRandomK() override { copied_.await_end(); }
  std::int64_t message_bytes() const override {
    return choice_.count() * static_cast<std::int64_t>(sizeof(float));
  }
  void encode(std::span<const float> values, std::int64_t exchange, std::span<std::byte> message) override {
    check_sizes(values.size(), choice_.elements(), message.size(), message_bytes());
    const std::uint32_t* const indices = indices_of(exchange);
    check_cuda(kernels::gather(values.data(), indices, choice_.count(), choice_.scale(), message.data(),
                               device_.queue_in_use()),
               "gather", device_.gpu());
  }
  void decode(std::span<const std::byte> message, std::int64_t exchange, std::span<float> values) override {
    check_sizes(values.size(), choice_.elements(), message.size(), message_bytes());
    const std::uint32_t* const indices = indices_of(exchange);
    check_cuda(kernels::scatter(message.data(), indices, choice_.count(), values.data(), choice_.elements(),
                                device_.queue_in_use()),
               "scatter", device_.gpu());
  }

 private:
  /// In the device's memory when the queue gets there; its GPU is the thread's current one.
  const std::uint32_t* indices_of(std::int64_t exchange) {
    const auto count = static_cast<std::size_t>(choice_.count());
    if (indices_.empty() && count > 0) {
      indices_ = DeviceArray<std::uint32_t>(device_, count);
      pinned_ = PinnedArray<std::uint32_t>(device_, count);
    }
    if (!choice_.is_drawn(exchange)) {
      const auto& chosen = choice_.of(exchange);
      copied_.await();
      std::ranges::copy(chosen, pinned_.data());
      device_.copy(indices_.data(), pinned_.data(), pinned_.bytes());
      copied_ = OwnedMark(device_, device_.mark());
    }
    device_.enter();
    return indices_.data();
  }

  CudaDevice& device_;
  compression::RandomChoice choice_;
  DeviceArray<std::uint32_t> indices_;
  PinnedArray<std::uint32_t> pinned_;
  OwnedMark copied_;
};

class CudaQsgd final : public ReadingCodec {
 public:
  CudaQsgd(CudaDevice& device, const compression::Setting& setting)
      : ReadingCodec(device, setting.stretch.elements),
        form_(setting),
        layout_{form_.elements(), form_.levels(), form_.bucket(), form_.bits(), form_.norms()} {}
  std::int64_t message_bytes() const override { return form_.message_bytes(); }
  void encode(std::span<const float> values, std::int64_t exchange, std::span<std::byte> message) override {
    check(values.size(), message.size());
    device().enter();
    check_cuda(kernels::encode_qsgd(layout_, values.data(), form_.seed_of(exchange), message.data(),
                                    device().queue_in_use()),
               "encode_qsgd", device().gpu());
  }

 private:
  void queue_reading(const std::byte* message, float* values, Decoded decoded) override {
    check_cuda(kernels::decode_qsgd(layout_, message, values, decoded, device().queue_in_use()),
               "decode_qsgd", device().gpu());
  }

  compression::QsgdForm form_;
  kernels::QsgdForm layout_;
};

/// A single thread sums the squares of a QSGD bucket: a larger bucket is faster on the processor.
constexpr std::int64_t most_elements_of_norm = 8192;

}  // namespace

std::unique_ptr<compression::Codec> make_cuda_codec(CudaDevice& device, const std::string& method,
                                                    const compression::Setting& setting) {
  if (method == "fp16") return std::make_unique<CudaCast>(device, setting.stretch.elements, HalfFormat::fp16);
  if (method == "bf16") return std::make_unique<CudaCast>(device, setting.stretch.elements, HalfFormat::bf16);
  if (method == "top-k") return std::make_unique<CudaTopK>(device, setting);
  if (method == "random-k") return std::make_unique<CudaRandomK>(device, setting);
  if (method == "qsgd" && setting.options.integer("bucket") <= most_elements_of_norm)
    return std::make_unique<CudaQsgd>(device, setting);
  if (method == "sign" && setting.options.text("magnitude") == "mean")
    return std::make_unique<CudaSigns>(device, setting.stretch, kernels::SignMethod::sign);
  if (method == "one-bit")
    return std::make_unique<CudaSigns>(device, setting.stretch, kernels::SignMethod::one_bit);
  if (method == "power-sgd") return make_cuda_power_sgd(device, setting);
  return nullptr;
}

}  // namespace tandem
