// What a cache node reads before anybody waits for it.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "workloads/records/cache_rows.hpp"
#include "workloads/roles/cache_node.hpp"

namespace tandem {

/// When no batch waits for samples, asks the policy once after each batch, and begins the next read that it
/// has decided, unless that is to wait for an exchange.
void CacheNode::read_in_background() {
  if (!waiters_.empty() || !tier_waiters_.empty()) return;
  if (background_.is_empty() && !background_.is_running() && open_workers_ > 0 &&
      std::exchange(is_idle_due_, false)) {
    apply(engine_.idle(data_.cache_tiers().front()), epoch_ ? epoch_->epoch() : last_epoch_);
  }
  if (open_workers_ == 0 || (watch_ && !watch_->is_quiet())) return;
  if (const auto read = background_.next()) begin(*read);
}

/// From each of the stores what it has, or from another cache node.
void CacheNode::begin(const BackgroundQueue::Read& read) {
  for (std::size_t source = 0; source < reads_.size(); ++source) {
    BackgroundQueue::Read part = read;
    part.ids.clear();
    part.others = 0;
    for (std::size_t i = 0; i < read.ids.size(); ++i) {
      if (source_of(read.from, read.ids[i]) != source) continue;
      part.ids.push_back(read.ids[i]);
      part.others += i + read.others < read.ids.size() ? 0 : 1;
    }
    if (!part.ids.empty()) begin_part(source, part);
  }
}

void CacheNode::begin_part(std::size_t source, const BackgroundQueue::Read& part) {
  SampleRead read{.ids = part.ids,
                  .what = part.is_new_package ? SampleRead::What::new_package : SampleRead::What::samples,
                  .why = part.why,
                  .is_package = part.is_package() && !part.is_new_package,
                  .others = part.others,
                  .epoch = part.epoch,
                  .from = part.from};
  for (const SampleId id : read.ids) {
    const Bytes size = data_.manifest().size_of(id);
    read.size += size;
    if (!is_real_ || part.is_new_package) continue;
    read.targets.emplace_back(read.records.emplace_back(static_cast<std::size_t>(size.count())));
  }
  background_.note_begun(part.from.where == cache::Where::peer ? PeerSource::requests_for(read.ids.size())
                                                               : 1);
  sources_[source]->add(std::move(read));
}

/// The epoch of reads that were decided before the first request is not known until that comes: a resumed job
/// does not begin with epoch 0.
void CacheNode::end_in_background(const SampleRead& read) {
  background_.note_end();
  if (has_first_epoch())
    record(row_epoch(read.epoch), std::string(background_row)).reading += read.duration;
  else
    read_at_start_ += read.duration;
}

void CacheNode::note_first_epoch(std::int64_t epoch) {
  first_epoch_ = std::min(first_epoch_, epoch);
  if (const Seconds at_start = std::exchange(read_at_start_, {}); at_start > Seconds(0))
    record(first_epoch_, std::string(background_row)).reading += at_start;
}

/// Into caches.csv: what was read since the last time, and what of it turned out to be of no use. Nodes that
/// nobody asks read nothing.
void CacheNode::record_background() {
  if (!data_.cache_factory().needs.manifest || !has_first_epoch()) return;
  const std::int64_t last = epoch_ ? epoch_->epoch() : last_epoch_;
  for (std::int64_t epoch = 0; epoch <= last; ++epoch) {
    const CacheLedger& ledger = engine_.ledger(0, epoch);
    CacheLedger& before = recorded_[epoch];
    const auto add = [&](std::string_view from, const SampleCount& now, const SampleCount& then) {
      if (now == then) return;
      CacheRecord& row = record(row_epoch(epoch), std::string(from));
      row.samples += now.samples - then.samples;
      row.bytes += now.bytes - then.bytes;
    };
    add(background_row, ledger.read_in_background(), before.read_in_background());
    add(wasted_row, ledger.wasted, before.wasted);
    before = ledger;
  }
}

}  // namespace tandem
