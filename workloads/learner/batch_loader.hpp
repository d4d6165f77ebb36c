// Converts batches of records to the pixels and labels that a network reads. The processor decodes them, or
// they are copied to a device outside its queue and decoded there.
#pragma once

#include <ATen/ATen.h>

#include <array>
#include <cstddef>
#include <cstdint>
#include <span>

#include "workloads/data/dataset.hpp"
#include "workloads/vectors/owned_mark.hpp"

namespace tandem {

struct Batch {
  at::Tensor pixels;
  at::Tensor labels;
};

class BatchLoader {
 public:
  /// `device`: libtorch's name for `compute_device`, which must outlive this.
  BatchLoader(const DatasetInfo& info, ComputeDevice& compute_device, at::Device device);
  BatchLoader(const BatchLoader&) = delete;
  BatchLoader& operator=(const BatchLoader&) = delete;
  ~BatchLoader();

  std::size_t record_bytes() const { return static_cast<std::size_t>(info_.record_bytes().count()); }
  /// Reads records; the caller may change them afterwards. `in_use`: the previous batch is still being read.
  void load(std::span<const std::byte> records, bool in_use);
  /// Samples of the last load; 0 before the first.
  std::int64_t samples() const { return samples_; }
  /// The last load's normalised pixels and labels. Pre: there is one.
  const Batch& batch();

 private:
  /// A batch of records that is being copied to the device.
  struct Block {
    PinnedArray<std::byte> pinned;
    DeviceArray<std::byte> own;
    OwnedMark copied;
    OwnedMark decoded;  ///< from here on `own` may change
  };

  void check_labels(std::span<const std::byte> records) const;
  void decode_here(std::span<const std::byte> records);
  void upload(std::span<const std::byte> records);
  void decode_there(Block& block);

  DatasetInfo info_;
  ComputeDevice& compute_device_;
  at::Device device_;
  at::Tensor scaled_;  ///< the normalised value, by the value of a pixel
  std::int64_t samples_ = 0;
  Batch batch_;
  std::array<Block, 2> blocks_;
  std::size_t turn_ = 0;
  Block* uploaded_ = nullptr;  ///< loaded, but not decoded
};

}  // namespace tandem
