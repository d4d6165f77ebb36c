#include "workloads/roles/cache/node_reads.hpp"

#include <utility>

#include "workloads/roles/cache/peer_parts.hpp"

namespace tandem {

NodeReads::NodeReads(const Setting& setting)
    : setting_(setting),
      background_(setting.most_of_batch, setting.most_of_package, setting.concurrent),
      on_demand_(setting.places.stores_and_peers()) {}

void NodeReads::add(const cache::Decisions& decisions, int job, std::int64_t epoch,
                    const NodeBatches& batches, CacheActions& actions) {
  background_.add(decisions, epoch, job);
  for (const cache::Fetch& fetch : decisions.fetch) {
    const auto ids = decisions.ids_of(fetch);
    if (fetch.from.where == cache::Where::peer) from_peers_.insert(ids.begin(), ids.end());
    if (fetch.why != cache::Why::demand) continue;
    for (const SampleId id : ids) {
      SampleRead& read = on_demand_[setting_.places.number_of(fetch.from, id)];
      read.ids.push_back(id);
      read.size += setting_.manifest.size_of(id);
      if (setting_.is_real) read.targets.push_back(batches.target_of(NodeBatches::From::place, id));
    }
    for (std::size_t place = 0; place < on_demand_.size(); ++place) {
      if (on_demand_[place].ids.empty()) continue;
      SampleRead read = std::exchange(on_demand_[place], {});
      read.job = job;
      read.epoch = epoch;
      read.from = fetch.from;
      read.moment = moment_;
      actions.emplace_back(BeginRead{place, std::move(read)});
    }
  }
}

void NodeReads::add_from_tier(SampleId id, std::span<std::byte> target) {
  from_tier_.ids.push_back(id);
  from_tier_.size += setting_.manifest.size_of(id);
  if (setting_.is_real) from_tier_.targets.push_back(target);
}

void NodeReads::read_tier(int job, std::int64_t epoch, CacheActions& actions) {
  if (from_tier_.ids.empty()) return;
  SampleRead read = std::exchange(from_tier_, {});
  read.what = SampleRead::What::from_tier;
  read.job = job;
  read.epoch = epoch;
  actions.emplace_back(BeginRead{setting_.places.disk(), std::move(read)});
}

void NodeReads::read_instead(const SampleRead& read, std::size_t position, CacheActions& actions) const {
  const SampleId id = read.ids[position];
  actions.emplace_back(BeginRead{setting_.places.number_of(cache::store(), id),
                                 {.ids = {id},
                                  .size = setting_.manifest.size_of(id),
                                  .targets = {read.targets[position]},
                                  .what = SampleRead::What::instead_of_tier,
                                  .job = read.job,
                                  .epoch = read.epoch}});
}

void NodeReads::hurry(SampleId id, CacheActions& actions) {
  if (const auto read = background_.hurry(id)) return begin(*read, true, actions);
  if (background_.is_running() && from_peers_.contains(id)) actions.emplace_back(HurryRead{id});
}

void NodeReads::begin_next(CacheActions& actions) {
  while (const auto read = background_.next()) begin(*read, false, actions);
}

/// Reads the samples of each store from it, or all from another cache node.
void NodeReads::begin(const BackgroundQueue::Read& read, bool is_awaited, CacheActions& actions) {
  for (std::size_t place = 0; place < on_demand_.size(); ++place) {
    BackgroundQueue::Read part = read;
    part.ids.clear();
    part.others = 0;
    for (std::size_t i = 0; i < read.ids.size(); ++i) {
      if (setting_.places.number_of(read.from, read.ids[i]) != place) continue;
      part.ids.push_back(read.ids[i]);
      part.others += i + read.others < read.ids.size() ? 0 : 1;
    }
    if (!part.ids.empty()) begin_part(place, part, is_awaited, actions);
  }
}

void NodeReads::begin_part(std::size_t place, const BackgroundQueue::Read& part, bool is_awaited,
                           CacheActions& actions) {
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
    const Bytes size = setting_.manifest.size_of(id);
    read.size += size;
    if (!setting_.is_real || part.is_new_package) continue;
    read.targets.emplace_back(read.records.emplace_back(static_cast<std::size_t>(size.count())));
  }
  const bool is_divided = setting_.places.is_peer(place);
  background_.note_begun(is_divided ? ends_of_peer_parts(setting_.manifest, read.ids).size() : 1);
  actions.emplace_back(BeginRead{place, std::move(read)});
}

void NodeReads::note_here(SampleId id) {
  from_peers_.erase(id);
  not_at_peer_.erase(id);
}

void NodeReads::note_read_again(SampleId id) {
  if (!from_peers_.contains(id)) not_at_peer_.insert(id);
}

}  // namespace tandem
