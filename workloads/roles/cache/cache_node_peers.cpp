// What a cache node does with other cache nodes: it asks them, answers them, and ends when none needs it.
#include <algorithm>
#include <cstring>
#include <memory>
#include <string>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/records/cache_rows.hpp"
#include "workloads/roles/cache/cache_node.hpp"

namespace tandem {

void CacheNode::add_peers(const Job& job) {
  if (!data_.asks_peers()) return;
  for (const Rank node : job.roster().ranks_of(Roster::Role::cache_node)) {
    if (node == context_.rank()) continue;
    auto peer = std::make_unique<PeerSource>(context_, node, data_.manifest());
    peers_.push_back(peer.get());
    sources_.push_back(std::move(peer));
  }
}

/// Other nodes are behind the stores, without this one.
std::size_t CacheNode::source_of(const cache::Place& place, SampleId id) const {
  const std::size_t stores = std::max<std::size_t>(1, stores_);
  if (place.where != cache::Where::peer) return store_of(id, stores);
  const auto node = static_cast<std::size_t>(place.number);
  TANDEM_CHECK(node != index_ && !peers_.empty(), "node", index_, "reads from node", node);
  return stores + (node < index_ ? node : node - 1);
}

/// When its workers have ended, the node asks no others, and tells them so. It serves them until each has
/// told it the same: only then has no node a use for it.
void CacheNode::end_peer_reads() {
  if (ended_peer_reads_ || awaits_workers() || !std::ranges::all_of(peers_, &PeerSource::is_idle)) return;
  ended_peer_reads_ = true;
  for (PeerSource* peer : peers_) peer->say_end();
}

/// What a node reads from the store to keep it is sent when it is there. One that waited for another node,
/// which may wait for it, would wait for ever.
bool CacheNode::is_coming(SampleId id) const {
  return engine_.in_flight(id) && engine_.tier_of(id) != cache::outside && !from_peers_.contains(id);
}

/// The policy does not know of it: what is here is sent, and nothing else changes.
void CacheNode::answer_peer(Client& peer, std::int64_t epoch) {
  Batch& batch = new_batch(peer);
  batch.epoch = epoch;
  batch.found.samples = static_cast<std::int32_t>(peer.ids.size());
  for_peer_.clear();
  for (std::size_t i = 0; i < peer.ids.size(); ++i) {
    const SampleId id = peer.ids[i];
    if (!engine_.has(id) && !is_coming(id)) continue;
    batch.found.set(i);
    for_peer_.serve.push_back({id, id, cache::tier(engine_.tier_of(id))});
  }
  lay_out(batch, for_peer_);
  collect(batch, for_peer_);
  read_tier(batch);
  for (const cache::Serve& serve : for_peer_.serve) hurry(serve.given);
  send_complete(peer);
}

/// Another node reads these samples itself, and finds that they are bad.
void CacheNode::take_out_bad(Batch& batch) {
  std::ranges::sort(batch.bad);
  std::size_t position = 0, end = 0;
  for (std::size_t i = 0; i < static_cast<std::size_t>(batch.found.samples); ++i) {
    if (!batch.found.has(i)) continue;
    const std::size_t begin = batch.begin_of[position], size = batch.begin_of[position + 1] - begin;
    if (std::ranges::binary_search(batch.bad, position++)) {
      batch.found.clear(i);
      continue;
    }
    if (end != begin) std::memmove(batch.records.data() + end, batch.records.data() + begin, size);
    end += size;
  }
  batch.size = Bytes(static_cast<std::int64_t>(end));
}

/// What the node that was asked did not have is read from the store, if a batch waits for it. `needed`: of
/// the samples, those that did not only come with a package.
void CacheNode::note_arrived(const SampleRead& read, std::size_t needed) {
  arrived_.clear();
  const auto add = [&](SampleId id, cache::Arrived::Outcome outcome) {
    arrived_.push_back({.id = id,
                        .size = data_.manifest().size_of(id),
                        .from = read.from,
                        .why = read.why,
                        .outcome = outcome});
    from_peers_.erase(id);
  };
  for (const SampleId id : std::span(read.ids).first(needed)) {
    add(id, cache::Arrived::Outcome::here);
    not_at_peer_.erase(id);
  }
  for (const SampleId id : read.not_here) {
    add(id, cache::Arrived::Outcome::not_here);
    const auto [begin, end] = waiters_.equal_range(id);
    for (auto each = begin; each != end; ++each) count_peer_miss(id, each->second);
  }
  if (arrived_.empty()) return;
  if (directory_ && !read.not_here.empty())
    directory_->repair(read.not_here, read.from.number, read.moment, job_of(read).row_epoch(read.epoch));
  NodeJob& job = job_of(read);
  const cache::Decisions& decisions = engine_.arrived(job.number, arrived_);
  apply(decisions, job, job.row_epoch(read.epoch));
  for (const SampleId id : read.not_here) {
    if (engine_.in_flight(id) && !from_peers_.contains(id)) not_at_peer_.insert(id);
    // The policy may have decided to read it in the background.
    if (waiters_.contains(id)) hurry(id);
  }
}

/// Another node was asked for it in vain. It counts as from the store then, whether the batch was served it
/// from that node or, while it was read in the background, from the tier that was to keep it.
void CacheNode::count_peer_miss(SampleId id, Waiter& waiter) {
  if (!recount(id, waiter, "store")) return;
  CacheRecord& row = waiter.batch->client->job->record(waiter.batch->epoch, std::string(peer_miss_row));
  ++row.samples;
  row.bytes += data_.manifest().size_of(id).count();
}

}  // namespace tandem
