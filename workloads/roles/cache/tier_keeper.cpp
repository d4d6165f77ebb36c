#include "workloads/roles/cache/tier_keeper.hpp"

#include <utility>

#include "workloads/records/cache_rows.hpp"

namespace tandem {

std::vector<TierEntry> TierKeeper::begin(std::vector<TierEntry> left, std::int64_t spoiled,
                                         CacheActions& actions) {
  std::erase_if(left, [&](const TierEntry& entry) {
    if (engine_.tier_of(entry.id) > 0) return false;
    actions.emplace_back(RemoveFromTier{entry.id});
    return true;
  });
  for (const TierEntry& entry : left) left_.add(setting_.manifest.size_of(entry.id));
  spoiled_ = spoiled;
  return left;
}

void TierKeeper::record_left(NodeJob& job) {
  if (const SampleCount left = std::exchange(left_, {}); left.samples > 0)
    job.add(job.first_epoch, kept_row, left);
  if (const std::int64_t spoiled = std::exchange(spoiled_, 0); spoiled > 0)
    job.record(job.first_epoch, spoiled_row).samples += spoiled;
}

std::span<const std::byte> TierKeeper::record_of(SampleId id) const {
  return setting_.is_real ? std::span(kept_.at(id)) : std::span<const std::byte>();
}

void TierKeeper::move(std::span<const cache::Move> moves, CacheActions& actions) {
  for (const cache::Move& move : moves) {
    const int tier = engine_.tier_of(move.id);
    const auto kept = tier == 0 ? kept_.end() : kept_.find(move.id);
    if (kept != kept_.end()) {
      if (tier > 0 && !engine_.in_flight(move.id) && !is_bad(move.id))
        write(move.id, std::move(kept->second));
      kept_.erase(kept);
    }
    if (tier == cache::outside && move.from > 0) actions.emplace_back(RemoveFromTier{move.id});
  }
  finish(actions);
}

void TierKeeper::settle(const SampleRead& read, std::size_t position, CacheActions& actions) {
  const SampleId id = read.ids[position];
  const bool is_there = !read.has_failed(position);
  const bool from_tier = read.what == SampleRead::What::from_tier;
  const bool instead = read.what == SampleRead::What::instead_of_tier;
  if (!is_there)
    bad_.insert(id);
  else if (!from_tier)
    bad_.erase(id);
  const std::span<const std::byte> bytes = setting_.is_real && is_there
                                               ? std::span<const std::byte>(read.targets[position])
                                               : std::span<const std::byte>();
  const int tier = engine_.tier_of(id);
  if (tier == 0 && (setting_.is_real || setting_.has_disk)) kept_[id].assign(bytes.begin(), bytes.end());
  if ((from_tier || instead) && tier <= 0) actions.emplace_back(RemoveFromTier{id});
  // A full disk would have no room again.
  const bool is_new = instead || !engine_.is_kept(id);
  if (!from_tier && is_there && is_new && tier > 0 && !(instead && is_full_))
    write(id, {bytes.begin(), bytes.end()});
}

void TierKeeper::write(SampleId id, std::vector<std::byte> record) {
  to_write_.ids.push_back(id);
  to_write_.size += setting_.manifest.size_of(id);
  if (setting_.is_real) to_write_.records.push_back(std::move(record));
}

void TierKeeper::finish(CacheActions& actions) {
  if (to_write_.ids.empty()) return;
  to_write_.what = SampleRead::What::to_tier;
  actions.emplace_back(BeginRead{setting_.disk, std::exchange(to_write_, {})});
}

SampleCount TierKeeper::note_written(const SampleRead& write, CacheActions& actions) {
  SampleCount refused;
  for (std::size_t i = 0; i < write.ids.size(); ++i) {
    const SampleId id = write.ids[i];
    if (write.has_failed(i))
      refused.add(setting_.manifest.size_of(id));
    else if (engine_.tier_of(id) > 0)
      actions.emplace_back(NoteInTier{id});
  }
  is_full_ = is_full_ || refused.samples > 0;
  return refused;
}

}  // namespace tandem
