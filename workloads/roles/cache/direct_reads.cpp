#include "workloads/roles/cache/direct_reads.hpp"

#include <algorithm>
#include <string>
#include <utility>

#include "workloads/membership/joining_client.hpp"

namespace tandem {

DirectReads::DirectReads(const Roster& roster, const DataPlan& data, Context& context,
                         const GivenSamples& given, std::function<Completion(Pending&)> wait,
                         Journal& journal)
    : context_(context),
      manifest_(data.manifest()),
      given_(given),
      wait_(std::move(wait)),
      journal_(journal),
      deliveries_(manifest_, context.rank(), journal, 1) {
  for (const Rank store : roster.ranks_of(Roster::Role::store))
    stores_.push_back({.rank = store, .source = StoreSource(context, store, given)});
}

/// Stores stay.
void DirectReads::join(int incarnation) {
  constexpr int only_one = 1;
  for (const Store& store : stores_)
    join_server(context_, store.rank, incarnation, only_one, wait_, [] { return true; });
}

void DirectReads::ask(Batch& batch) {
  std::vector<SampleRead> reads(stores_.size());
  std::vector<Part> parts(stores_.size(), Part{.batch = &batch, .positions = {}});
  std::span<std::byte> rest = batch.records;
  for (std::size_t position = 0; position < batch.ids.size(); ++position) {
    const SampleId id = batch.ids[position];
    const std::size_t store = store_of(id, stores_.size());
    SampleRead& read = reads[store];
    read.ids.push_back(id);
    read.size += manifest_.size_of(id);
    read.epoch = batch.epoch;
    parts[store].positions.push_back(position);
    if (batch.records.empty()) continue;
    const auto size = static_cast<std::size_t>(manifest_.size_of(id).count());
    read.targets.push_back(rest.first(size));
    rest = rest.subspan(size);
  }
  for (std::size_t store = 0; store < stores_.size(); ++store) {
    if (reads[store].ids.empty()) continue;
    ++batch.missing;
    stores_[store].parts.push_back(std::move(parts[store]));
    stores_[store].source.add(std::move(reads[store]));
  }
}

bool DirectReads::has(const Batch& batch) {
  for (Store& store : stores_)
    while (!store.parts.empty()) {
      store.source.put_next(store.next);
      if (!context_.is_done(store.next)) break;
      store.source.on_ended(context_.wait(store.next));
      take(store);
    }
  return batch.missing == 0;
}

void DirectReads::await(const Batch& batch) {
  const auto is_of_batch = [&](const Part& part) { return part.batch == &batch; };
  for (Store& store : stores_)
    while (std::ranges::any_of(store.parts, is_of_batch)) {
      store.source.put_next(store.next);
      store.source.on_ended(wait_(store.next));
      take(store);
    }
}

/// The oldest read has ended.
void DirectReads::take(Store& store) {
  const auto read = store.source.finish();
  if (!read) return;
  const Part part = std::move(store.parts.front());
  store.parts.pop_front();
  Batch& batch = *part.batch;
  --batch.missing;
  row_of(batch).reading += read->duration;
  if (batch.records.empty()) return;
  const auto numbers = batch.records.last(static_cast<std::size_t>(given_.size(batch.ids.size()).count()));
  for (std::size_t i = 0; i < part.positions.size(); ++i)
    given_.set(numbers, part.positions[i], read->has_failed(i) ? bad_sample : read->ids[i]);
}

/// The row that cache nodes use for reads from stores.
CacheRecord& DirectReads::row_of(const Batch& batch) {
  return cache_record(journal_.caches, context_.rank(), batch.epoch, "store");
}

void DirectReads::note(const Batch& batch, Seconds blocked) {
  CacheRecord& row = row_of(batch);
  for (const SampleId id : batch.ids) {
    ++row.samples;
    row.bytes += manifest_.size_of(id).count();
  }
  row.blocked += blocked;
  deliveries_.note(0, batch.epoch, batch.ids);
}

void DirectReads::close() {
  for (Store& store : stores_) store.source.close(store.next);
}

}  // namespace tandem
