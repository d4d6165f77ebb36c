#include "workloads/learner/batch_loader.hpp"

#include <cstring>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/learner/torch_mode.hpp"

namespace tandem {
namespace {

/// The pixels of the bytes in the last dimension, as visit_pixels gives them.
at::Tensor unpacked(const at::Tensor& bytes, int pixel_bits) {
  if (pixel_bits == 8) return bytes;
  TANDEM_CHECK(pixel_bits == 6, "pixel_bits", pixel_bits);
  // Three bytes hold four pixels.
  const at::Tensor triples = bytes.reshape({bytes.size(0), -1, 3});
  const at::Tensor a = triples.select(2, 0), b = triples.select(2, 1), c = triples.select(2, 2);
  return at::stack({a.remainder(64), at::floor_divide(a, 64) + b.remainder(16) * 4,
                    at::floor_divide(b, 16) + c.remainder(4) * 16, at::floor_divide(c, 4)},
                   2);
}

}  // namespace

BatchLoader::BatchLoader(const DatasetInfo& info, ComputeDevice& compute_device, at::Device device)
    : info_(info), compute_device_(compute_device), device_(device) {
  at::Tensor scaled = at::empty({std::int64_t{1} << info.pixel_bits}, at::kFloat);
  float* const values = scaled.data_ptr<float>();
  const auto largest = static_cast<float>(scaled.numel() - 1);
  // Always computed by the processor, so that the values are the same everywhere.
  for (std::int64_t value = 0; value < scaled.numel(); ++value)
    values[value] = (static_cast<float>(value) / largest - info.mean) / info.deviation;
  const StreamInUse stream(device, compute_device.libtorch_stream());
  scaled_ = scaled.to(device);
}

BatchLoader::~BatchLoader() {
  for (Block& block : blocks_) block.copied.await_end();
}

void BatchLoader::load(std::span<const std::byte> records, bool in_use) {
  const std::size_t record = record_bytes();
  TANDEM_CHECK(!records.empty() && records.size() % record == 0, records.size(), record);
  check_labels(records);
  samples_ = static_cast<std::int64_t>(records.size() / record);
  if (!compute_device_.is_host()) return upload(records);
  if (in_use) batch_ = {};
  decode_here(records);
}

const Batch& BatchLoader::batch() {
  if (uploaded_ != nullptr) decode_there(*std::exchange(uploaded_, nullptr));
  return batch_;
}

void BatchLoader::check_labels(std::span<const std::byte> records) const {
  for (std::size_t at = 0; at < records.size(); at += record_bytes()) {
    const int label = info_.label_of(records.subspan(at));
    TANDEM_CHECK(label < info_.classes, "label", label, "classes", info_.classes);
  }
}

void BatchLoader::decode_here(std::span<const std::byte> records) {
  if (!batch_.pixels.defined() || batch_.pixels.size(0) != samples_) {
    batch_.pixels = at::empty({samples_, info_.channels, info_.height, info_.width}, at::kFloat);
    batch_.labels = at::empty({samples_}, at::kLong);
  }
  float* pixel = batch_.pixels.data_ptr<float>();
  auto* label = batch_.labels.data_ptr<std::int64_t>();
  const float* const scaled = scaled_.data_ptr<float>();
  for (auto rest = records; !rest.empty(); rest = rest.subspan(record_bytes())) {
    *label++ = info_.label_of(rest);
    visit_pixels(info_, rest.first(record_bytes()), [&](std::uint32_t value) { *pixel++ = scaled[value]; });
  }
}

void BatchLoader::upload(std::span<const std::byte> records) {
  Block& block = blocks_[turn_];
  turn_ = 1 - turn_;
  block.copied.await();
  block.decoded.await();
  if (block.pinned.size() < records.size()) {
    block.pinned = PinnedArray<std::byte>(compute_device_, records.size());
    block.own = DeviceArray<std::byte>(compute_device_, records.size());
  }
  std::memcpy(block.pinned.data(), records.data(), records.size());
  block.copied = OwnedMark(compute_device_,
                           compute_device_.copy_in(block.own.data(), block.pinned.data(), records.size()));
  uploaded_ = &block;
}

void BatchLoader::decode_there(Block& block) {
  block.copied.await();
  batch_ = {};  // its memory may be reused for the new one, unless backward still needs it
  const auto record = static_cast<std::int64_t>(record_bytes());
  const at::Tensor raw = tensor_over(block.own.data(), {samples_, record}, at::kByte, device_);
  const std::int64_t labels = info_.label_bytes();
  batch_.labels = raw.select(1, 0).to(at::kLong);
  if (labels > 1) batch_.labels += raw.select(1, 1).to(at::kLong) * 256;
  const at::Tensor packed = raw.narrow(1, labels, record - labels).to(at::kInt);
  batch_.pixels = scaled_.index_select(0, unpacked(packed, info_.pixel_bits).flatten())
                      .view({samples_, info_.channels, info_.height, info_.width});
  block.decoded = OwnedMark(compute_device_, compute_device_.mark());
}

}  // namespace tandem
