#include "workloads/roles/cache/node_batches.hpp"

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <utility>

#include "workloads/records/cache_rows.hpp"

namespace tandem {

NodeBatches::NodeBatches(const Setting& setting) : setting_(setting), batches_(setting.clients) {}

NodeBatch& NodeBatches::open(std::size_t client, NodeJob& job, bool is_for_peer) {
  NodeBatch& batch = batches_[client].emplace_back();
  batch.client = client;
  batch.job = &job;
  batch.is_for_peer = is_for_peer;
  return batch;
}

void NodeBatches::lay_out(NodeBatch& batch, std::span<const cache::Serve> serves) {
  if (has_ids(batch)) batch.size = Bytes(static_cast<std::int64_t>(serves.size() * sizeof(SampleId)));
  for (const cache::Serve& serve : serves) {
    if (setting_.is_real) batch.begin_of.push_back(static_cast<std::size_t>(batch.size.count()));
    batch.size += setting_.manifest.size_of(serve.given);
  }
  if (setting_.is_real) batch.begin_of.push_back(static_cast<std::size_t>(batch.size.count()));
  if (!batch.is_for_peer) batch.size += setting_.given.size(serves.size());
  if (!setting_.is_real) return;
  spare_.give(batch);
  for (std::size_t i = 0; has_ids(batch) && i < serves.size(); ++i)
    std::memcpy(batch.records.data() + i * sizeof(SampleId), &serves[i].given, sizeof(SampleId));
}

/// Where a sample of the batch is. Pre: math is real.
std::span<std::byte> NodeBatches::place(NodeBatch& batch, std::size_t position) const {
  const std::size_t begin = batch.begin_of[position];
  return std::span(batch.records).subspan(begin, batch.begin_of[position + 1] - begin);
}

/// Says which sample the batch has there, or that it has none.
void NodeBatches::give(NodeBatch& batch, std::size_t position, SampleId given) const {
  if (batch.is_for_peer) {
    if (given == bad_sample) batch.bad.push_back(position);
    return;
  }
  if (setting_.is_real)
    setting_.given.set(std::span(batch.records).subspan(batch.begin_of.back()), position, given);
}

void NodeBatches::put(NodeBatch& batch, std::size_t position, SampleId given,
                      std::span<const std::byte> record) {
  give(batch, position, given);
  if (!record.empty()) std::ranges::copy(record, place(batch, position).begin());
}

bool NodeBatches::wait(From from, SampleId id, const Waiter& waiter, bool in_vain) {
  Waiters& all = waiters(from);
  const bool is_first = !all.contains(id);
  Waiter& own = all.insert({id, waiter})->second;
  if (in_vain && own.counted == from_peer) count_peer_miss(id, own);
  ++own.batch->missing;
  return is_first;
}

std::span<std::byte> NodeBatches::target_of(From from, SampleId id) const {
  if (!setting_.is_real) return {};
  const Waiter& first = waiters(from).find(id)->second;
  return place(*first.batch, first.position);
}

std::vector<std::size_t> NodeBatches::deliver(From from, const SampleRead& read, std::size_t position,
                                              const std::string& row, Seconds now) {
  std::vector<std::size_t> complete;
  const SampleId id = read.ids[position];
  const bool is_there = !read.has_failed(position);
  const auto [begin, end] = waiters(from).equal_range(id);
  for (auto each = begin; each != end; ++each) {
    Waiter& waiter = each->second;
    // A directory may have named another place than that of a read which had begun before.
    if (setting_.has_directory && (waiter.counted == from_store || waiter.counted == from_peer))
      recount(id, waiter, row);
    NodeBatch& batch = *waiter.batch;
    give(batch, waiter.position, is_there ? id : bad_sample);
    if (setting_.is_real && is_there) {
      const std::span<std::byte> source = read.targets[position];
      const std::span<std::byte> target = place(batch, waiter.position);
      if (target.data() != source.data()) std::ranges::copy(source, target.begin());
    }
    if (--batch.missing > 0 || batch.is_lost) continue;
    if (!batch.is_for_peer) batch.job->record(batch.epoch, row).blocked += now - batch.asked;
    complete.push_back(batch.client);
  }
  waiters(from).erase(begin, end);
  return complete;
}

void NodeBatches::recount(From from, SampleId id, const std::string& row) {
  const auto [begin, end] = waiters(from).equal_range(id);
  for (auto each = begin; each != end; ++each) recount(id, each->second, row);
}

/// Moves a sample that does not come from where the policy has served it to the row of another place.
/// Substituted ones count as such wherever they come from, and those of other nodes do not count.
bool NodeBatches::recount(SampleId id, Waiter& waiter, const std::string& row) const {
  if (waiter.counted.empty() || waiter.counted == substituted || waiter.counted == row) return false;
  NodeBatch& batch = *waiter.batch;
  const std::int64_t bytes = setting_.manifest.size_of(id).count();
  for (const auto& [of, sign] : {std::pair(waiter.counted, -1), std::pair(row, 1)}) {
    const SampleCount count{.samples = sign, .bytes = sign * bytes};
    if (setting_.counts_when_sent)
      batch.delivered.push_back({.row = of, .count = count});
    else
      batch.job->add(batch.epoch, of, count);
  }
  waiter.counted = row;
  return true;
}

void NodeBatches::note_peer_miss(SampleId id) {
  const auto [begin, end] = of_places_.equal_range(id);
  for (auto each = begin; each != end; ++each) count_peer_miss(id, each->second);
}

/// The sample counts as from the store then, whether the batch was served it from that node or, while it was
/// read in advance, from the tier that was to keep it.
void NodeBatches::count_peer_miss(SampleId id, Waiter& waiter) const {
  if (!recount(id, waiter, from_store)) return;
  const SampleCount miss{.samples = 1, .bytes = setting_.manifest.size_of(id).count()};
  waiter.batch->job->add(waiter.batch->epoch, peer_miss_row, miss);
}

std::optional<NodeBatch> NodeBatches::take_complete(std::size_t client) {
  auto& batches = batches_[client];
  if (batches.empty() || batches.front().missing > 0) return std::nullopt;
  NodeBatch batch = std::move(batches.front());
  batches.pop_front();
  if (!batch.bad.empty()) take_out_bad(batch);
  return batch;
}

/// Another node reads these samples itself, and finds that they are bad.
void NodeBatches::take_out_bad(NodeBatch& batch) {
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

void NodeBatches::lose(std::size_t client) {
  for (NodeBatch& batch : batches_[client]) batch.is_lost = true;
  lost_.splice(lost_.end(), batches_[client]);
}

void NodeBatches::drop_lost() {
  std::erase_if(lost_, [this](NodeBatch& batch) {
    if (batch.missing > 0) return false;
    spare_.keep(std::move(batch.records));
    return true;
  });
}

}  // namespace tandem
