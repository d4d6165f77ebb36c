#include "workloads/learner/batch_loader.hpp"

#include <cstring>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/learner/torch_mode.hpp"

namespace tandem {

BatchLoader::BatchLoader(const DatasetInfo& info, ComputeDevice& compute_device, at::Device device)
    : info_(info), compute_device_(compute_device), device_(device) {
  at::Tensor scaled = at::empty({256}, at::kFloat);
  float* const values = scaled.data_ptr<float>();
  // Always computed by the processor, so that the values are the same everywhere.
  for (std::int64_t value = 0; value < scaled.numel(); ++value)
    values[value] = (static_cast<float>(value) / 255.0F - info.mean) / info.deviation;
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
    const auto label = std::to_integer<int>(records[at]);
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
    *label++ = std::to_integer<std::int64_t>(rest[0]);
    for (const std::byte value : rest.subspan(1, record_bytes() - 1))
      *pixel++ = scaled[std::to_integer<std::size_t>(value)];
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
  batch_.labels = raw.select(1, 0).to(at::kLong);
  batch_.pixels = scaled_.index_select(0, raw.narrow(1, 1, record - 1).to(at::kInt).flatten())
                      .view({samples_, info_.channels, info_.height, info_.width});
  block.decoded = OwnedMark(compute_device_, compute_device_.mark());
}

}  // namespace tandem
