#include "workloads/roles/batch_decoder.hpp"

#include <algorithm>

#include "policies/vocabulary/check.hpp"

namespace tandem {

BatchDecoder::BatchDecoder(const DataPlan& data, bool from_storage)
    : data_(data),
      has_images_(from_storage && data.samples() != nullptr),
      is_needed_(data.dataset() != nullptr && (has_images_ || data.augmentation().is_used())) {}

std::span<const std::byte> BatchDecoder::make_room(int samples) {
  records_.resize(static_cast<std::size_t>((data_.info().record_bytes() * samples).count()));
  return records_;
}

void BatchDecoder::decode(const Loader::Batch& batch) {
  const auto record_bytes = static_cast<std::size_t>(data_.info().record_bytes().count());
  TANDEM_CHECK(records_.size() == batch.ids.size() * record_bytes, records_.size(), batch.ids.size());
  auto stored = batch.stored;
  for (std::size_t i = 0; i < batch.ids.size(); ++i) {
    const SampleId id = batch.ids[i];
    const auto record = std::span(records_).subspan(i * record_bytes, record_bytes);
    const auto size =
        has_images_ ? static_cast<std::size_t>(data_.manifest().size_of(id).count()) : record_bytes;
    if (has_images_)
      data_.samples()->decode(Dataset::Part::train, id, stored.first(size), record);
    else
      std::ranges::copy(stored.first(size), record.begin());
    data_.augmentation().apply(data_.info(), data_.seed(), id, batch.epochs[i], record);
    stored = stored.subspan(size);
  }
}

}  // namespace tandem
