// What a cache node reads before anybody waits for it.
#include <algorithm>
#include <string>
#include <string_view>
#include <utility>

#include "workloads/records/cache_rows.hpp"
#include "workloads/roles/cache/cache_node.hpp"

namespace tandem {

/// When no batch waits for samples, asks the policy once after each batch, and begins the next read that it
/// has decided, unless that is to wait for an exchange.
void CacheNode::read_in_background() {
  if (!waiters_.empty() || !tier_waiters_.empty()) return;
  if (background_.is_empty() && !background_.is_running() && open_workers_ > 0 &&
      std::exchange(is_idle_due_, false)) {
    apply(engine_.idle(data_.cache_tiers().front()), *active_, active_->newest_epoch());
  }
  if (open_workers_ == 0 || (watch_ && !watch_->is_quiet())) return;
  if (const auto read = background_.next()) begin(*read);
}

/// A batch waits for the sample, which the policy may have decided to read ahead.
void CacheNode::hurry(SampleId id) {
  if (const auto read = background_.hurry(id)) return begin(*read, true);
  if (!background_.is_running() || !from_peers_.contains(id)) return;
  for (PeerSource* peer : peers_) peer->hurry(id);
}

/// From each of the stores what it has, or from another cache node.
void CacheNode::begin(const BackgroundQueue::Read& read, bool is_awaited) {
  for (std::size_t source = 0; source < reads_.size(); ++source) {
    BackgroundQueue::Read part = read;
    part.ids.clear();
    part.others = 0;
    for (std::size_t i = 0; i < read.ids.size(); ++i) {
      if (source_of(read.from, read.ids[i]) != source) continue;
      part.ids.push_back(read.ids[i]);
      part.others += i + read.others < read.ids.size() ? 0 : 1;
    }
    if (!part.ids.empty()) begin_part(source, part, is_awaited);
  }
}

void CacheNode::begin_part(std::size_t source, const BackgroundQueue::Read& part, bool is_awaited) {
  SampleRead read{.ids = part.ids,
                  .what = part.is_new_package ? SampleRead::What::new_package : SampleRead::What::samples,
                  .why = part.why,
                  .is_awaited = is_awaited,
                  .is_package = part.is_package() && !part.is_new_package,
                  .others = part.others,
                  .job = part.job,
                  .epoch = part.epoch,
                  .from = part.from};
  for (const SampleId id : read.ids) {
    const Bytes size = data_.manifest().size_of(id);
    read.size += size;
    if (!is_real_ || part.is_new_package) continue;
    read.targets.emplace_back(read.records.emplace_back(static_cast<std::size_t>(size.count())));
  }
  background_.note_begun(sources_[source]->reads_of(read.ids));
  sources_[source]->add(std::move(read));
}

/// The epoch of reads that were decided before the first request is not known until that comes: a resumed job
/// does not begin with epoch 0.
void CacheNode::end_in_background(const SampleRead& read) {
  background_.note_end();
  NodeJob& job = job_of(read);
  if (job.has_first_epoch())
    job.record(job.row_epoch(read.epoch), std::string(background_row)).reading += read.duration;
  else
    job.read_at_start += read.duration;
}

void CacheNode::note_first_epoch(NodeJob& job, std::int64_t epoch) {
  job.first_epoch = std::min(job.first_epoch, epoch);
  if (const Seconds at_start = std::exchange(job.read_at_start, {}); at_start > Seconds(0))
    job.record(job.first_epoch, std::string(background_row)).reading += at_start;
  record_kept(job);
}

/// Into caches.csv: what was read since the last time, and what of it turned out to be of no use. Nodes that
/// nobody asks read nothing.
void CacheNode::record_background(NodeJob& job) {
  if (!data_.cache_factory().needs.manifest || !job.has_first_epoch()) return;
  for (std::int64_t epoch = 0; epoch <= job.newest_epoch(); ++epoch) {
    const CacheLedger& ledger = engine_.ledger(job.number, epoch);
    CacheLedger& before = job.recorded[epoch];
    const auto add = [&](std::string_view from, const SampleCount& now, const SampleCount& then) {
      if (now == then) return;
      CacheRecord& row = job.record(job.row_epoch(epoch), std::string(from));
      row.samples += now.samples - then.samples;
      row.bytes += now.bytes - then.bytes;
    };
    add(background_row, ledger.read_in_background(), before.read_in_background());
    add(wasted_row, ledger.wasted, before.wasted);
    before = ledger;
  }
}

}  // namespace tandem
