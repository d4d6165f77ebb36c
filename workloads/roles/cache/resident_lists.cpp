#include "workloads/roles/cache/resident_lists.hpp"

#include "policies/vocabulary/check.hpp"

namespace tandem {

ResidentSet::ResidentSet(const cache::CachePolicy& policy, std::int64_t samples) : ResidentSet(samples) {
  for (SampleId id = 0; id < samples; ++id)
    if (policy.holds(id)) bytes_[static_cast<std::size_t>(id) / 8] |= std::byte{1} << (id % 8);
}

void ResidentSet::add(std::span<const std::byte> other) {
  TANDEM_CHECK(other.size() == bytes_.size(), other.size(), bytes_.size());
  for (std::size_t i = 0; i < bytes_.size(); ++i) bytes_[i] |= other[i];
}

std::optional<ResidentLists> ResidentLists::of(const Job& job) {
  if (!job.data().from_storage() || !job.chosen().sampler->needs_cached) return std::nullopt;
  return ResidentLists(job.data());
}

std::shared_ptr<const sampling::EpochList> ResidentLists::list(std::int64_t epoch,
                                                               std::span<const float> losses,
                                                               const ResidentSet& resident) const {
  const auto list = std::make_shared<sampling::EpochList>();
  std::vector<float> modelled;
  const EpochLists& lists = data_->lists();
  if (lists.model_losses()) {
    modelled = lists.modelled_losses_of(epoch);
    losses = modelled;
  }
  lists.sampler()->list(epoch, {.losses = losses, .is_cached = [&](SampleId id) { return resident.has(id); }},
                        *list);
  return list;
}

}  // namespace tandem
