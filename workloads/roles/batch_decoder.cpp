#include "workloads/roles/batch_decoder.hpp"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

#include "policies/vocabulary/check.hpp"
#include "workloads/data/sample_threads.hpp"

namespace tandem {

std::span<const float> losses_of(std::span<const SampleId> ids, std::span<const SampleId> trained,
                                 std::span<const float> losses, std::vector<float>& scratch) {
  if (losses.empty() || std::ranges::equal(ids, trained)) return losses;
  TANDEM_CHECK(ids.size() == losses.size() && ids.size() == trained.size(), ids.size(), trained.size(),
               losses.size());
  scratch.assign(losses.begin(), losses.end());
  for (std::size_t i = 0; i < ids.size(); ++i)
    if (ids[i] != trained[i]) scratch[i] = std::numeric_limits<float>::quiet_NaN();
  return scratch;
}

BatchDecoder::BatchDecoder(const DataPlan& data, bool from_storage, bool replaces)
    : data_(data),
      has_images_(from_storage && data.samples() != nullptr),
      replaces_(replaces && from_storage),
      is_needed_(data.dataset() != nullptr && (has_images_ || replaces_ || data.augmentation().is_used())) {}

std::span<const std::byte> BatchDecoder::make_room(int samples) {
  records_.resize(static_cast<std::size_t>((data_.info().record_bytes() * samples).count()));
  return records_;
}

std::span<std::byte> BatchDecoder::record(std::size_t position) {
  const auto size = static_cast<std::size_t>(data_.info().record_bytes().count());
  return std::span(records_).subspan(position * size, size);
}

/// False: the stored bytes are not such an image, and another sample has to replace it.
bool BatchDecoder::decode_one(SampleId id, std::span<const std::byte> stored,
                              std::span<std::byte> record) const {
  if (!has_images_) {
    std::ranges::copy(stored, record.begin());
    return true;
  }
  try {
    data_.samples()->decode(Dataset::Part::train, id, stored, record);
    return true;
  } catch (const ConfigError& error) {
    if (!replaces_)
      throw ConfigError(fmt::format(
          "sample {}: {}; data.bad_sample: replace trains on another sample in its place", id, error.what()));
    return false;
  }
}

void BatchDecoder::decode(const Loader::Batch& batch) {
  const std::size_t record_bytes = record(0).size();
  TANDEM_CHECK(records_.size() == batch.ids.size() * record_bytes, records_.size(), batch.ids.size());
  trained_.assign(batch.ids.begin(), batch.ids.end());
  is_good_.assign(batch.ids.size(), 1);
  stored_.clear();
  auto stored = batch.stored;
  for (const SampleId id : batch.ids) {
    const auto size =
        has_images_ ? static_cast<std::size_t>(data_.manifest().size_of(id).count()) : record_bytes;
    stored_.push_back(stored.first(size));
    stored = stored.subspan(size);
  }
  for_each_sample(std::ssize(batch.ids), has_images_ ? data_.decode_threads() : 1, [&](std::int64_t number) {
    const auto i = static_cast<std::size_t>(number);
    const bool is_there = batch.given.empty() || batch.given[i] != bad_sample;
    is_good_[i] = is_there && decode_one(batch.ids[i], stored_[i], record(i));
  });
  if (replaces_) replace(batch);
  for (std::size_t i = 0; i < batch.ids.size(); ++i)
    data_.augmentation().apply(data_.info(), data_.seed(), batch.ids[i], batch.epochs[i], record(i));
}

void BatchDecoder::replace(const Loader::Batch& batch) {
  replaced_ = std::ranges::count(is_good_, 0);
  const auto first = std::ranges::find(is_good_, 1);
  if (first == is_good_.end() && last_good_.empty())
    throw WorldError(fmt::format(
        "data.bad_sample: expected a sample that can take the place of sample {}, found none: all "
        "{} of its batch, the first one of this rank, cannot be read or decoded",
        batch.ids.front(), batch.ids.size()));
  if (first != is_good_.end()) {
    const auto position = static_cast<std::size_t>(first - is_good_.begin());
    last_good_.assign(record(position).begin(), record(position).end());
    last_good_id_ = batch.ids[position];
  }
  for (std::size_t i = 0; i < batch.ids.size(); ++i) {
    if (is_good_[i]) continue;
    const std::size_t other = first == is_good_.end() ? i : substitute_of(batch, i);
    std::ranges::copy(other == i ? std::span<const std::byte>(last_good_) : record(other), record(i).begin());
    trained_[i] = other == i ? last_good_id_ : batch.ids[other];
  }
}

/// Pre: the batch has a good sample.
std::size_t BatchDecoder::substitute_of(const Loader::Batch& batch, std::size_t position) const {
  const auto& labels = data_.manifest().labels;
  const auto label = [&](std::size_t of) {
    return labels.empty() ? 0 : labels[static_cast<std::size_t>(batch.ids[of])];
  };
  const std::size_t samples = batch.ids.size();
  std::size_t found = position;
  for (std::size_t step = 1; step < samples; ++step) {
    const std::size_t other = (position + step) % samples;
    if (!is_good_[other]) continue;
    if (label(other) == label(position)) return other;
    if (found == position) found = other;
  }
  return found;
}

}  // namespace tandem
