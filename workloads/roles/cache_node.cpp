#include "workloads/roles/cache_node.hpp"

#include <algorithm>
#include <cstring>
#include <string>
#include <utility>

#include "policies/cache/text.hpp"
#include "policies/vocabulary/check.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/cache_clients.hpp"

namespace tandem {
namespace {

const std::string from_store = "store";

/// As in caches.csv.
std::string name_of(const cache::Place& place) {
  return place.where == cache::Where::tier ? "tier" + std::to_string(place.number) : from_store;
}

}  // namespace

CacheNode::CacheNode(const Job& job, Context& context, Journal& journal, int index)
    : data_(job.data()),
      context_(context),
      journal_(journal),
      records_(job, context.rank(), journal),
      engine_(data_.make_cache_engine()),
      is_real_(data_.dataset() != nullptr) {
  const auto stores = job.roster().ranks_of(Roster::Role::store);
  for (const Rank store : stores) sources_.push_back(std::make_unique<StoreSource>(context, store));
  if (stores.empty()) {
    own_disk_ = data_.open_source(job.spec().directory + "/records_" + std::to_string(index) + ".bin");
    sources_.push_back(std::make_unique<DiskSource>(context, own_disk_.get()));
  }
  reads_.resize(sources_.size());
  const auto workers = job.roster().workers();
  for (std::size_t worker = 0; worker < workers.size(); ++worker)
    if (cache_node_of(job.roster(), worker) == static_cast<std::size_t>(index))
      clients_.emplace_back().rank = workers[worker];
  open_ = clients_.size();
}

CacheNode::~CacheNode() = default;

void CacheNode::run() {
  for (Client& client : clients_) wait_.push_back(listen(client));
  wait_.resize(clients_.size() + sources_.size());
  const std::span<Pending> reads = std::span(wait_).subspan(clients_.size());
  while (open_ > 0) {
    for (std::size_t i = 0; i < sources_.size(); ++i) sources_[i]->put_next(reads[i]);
    const Completion ended = context_.wait_any(wait_);
    if (ended.index >= clients_.size()) {
      take(sources_[ended.index - clients_.size()]->finish());
      continue;
    }
    Client& client = clients_[ended.index];
    if (protocol::holds<protocol::End>(ended.note)) {
      end(client);
      continue;
    }
    const auto request = protocol::unpack<protocol::Request>(ended.note);
    client.ids.resize(static_cast<std::size_t>(request.samples));
    begin_batch(client, request.epoch);
    wait_[ended.index] = listen(client);
  }
  for (const auto& source : sources_) source->close();
}

Pending CacheNode::listen(Client& client) {
  client.ids.resize(static_cast<std::size_t>(data_.largest_batch()));
  return context_.receive(client.rank, protocol::requests,
                          {Bytes(static_cast<std::int64_t>(client.ids.size() * sizeof(SampleId))),
                           reinterpret_cast<std::byte*>(client.ids.data())});
}

/// It has received all of its batches.
void CacheNode::end(Client& client) {
  wait_for_sends(context_, client.batches);
  --open_;
}

void CacheNode::begin_batch(Client& client, std::int64_t epoch) {
  const cache::Decisions& decisions = decide(client.ids, epoch);
  Batch& batch = new_batch(client);
  lay_out(batch, decisions);
  batch.samples = static_cast<std::int32_t>(decisions.serve.size());
  batch.epoch = epoch;
  batch.asked = context_.now();
  // Before the moves, which may evict what this batch is served.
  collect(batch, decisions);
  read(decisions, epoch);
  move(decisions.move);
  send_complete(client);
}

const cache::Decisions& CacheNode::decide(const std::vector<SampleId>& ids, std::int64_t epoch) {
  wanted_.clear();
  for (const SampleId id : ids) {
    const Bytes size = data_.manifest().size_of(id);
    wanted_.push_back({id, size});
    if (journal_.keep_requests) journal_.requests.push_back({context_.rank(), epoch, id, size.count()});
  }
  const cache::Want want{.epoch = epoch, .now = wanted_};
  const cache::Decisions& decisions = engine_.want(want);
  count(decisions, epoch);
  if (journal_.keep_decisions)
    journal_.decisions.push_back({context_.rank(), "cache", cache::to_text(want), cache::to_text(decisions)});
  return decisions;
}

void CacheNode::count(const cache::Decisions& decisions, std::int64_t epoch) {
  counted_.clear();
  for (const cache::Serve& serve : decisions.serve) {
    const auto of = std::ranges::find(counted_, serve.from, &Count::from);
    Count& count = of != counted_.end() ? *of : counted_.emplace_back(Count{.from = serve.from});
    count.delivered.add(data_.manifest().size_of(serve.given));
  }
  for (const auto& [from, delivered] : counted_) {
    CacheRecord& row = record(epoch, name_of(from));
    row.samples += delivered.samples;
    row.bytes += delivered.bytes;
  }
}

/// Behind the client's batches that are on their way. There are at most as many as the client has requested
/// in advance. The node does not wait for them: a client with a slow link must not delay the others.
CacheNode::Batch& CacheNode::new_batch(Client& client) {
  drop_sent(context_, client.batches, spare_);
  Batch& batch = client.batches.emplace_back();
  batch.client = &client;
  return batch;
}

/// Gives each sample its place in the message.
void CacheNode::lay_out(Batch& batch, const cache::Decisions& decisions) const {
  for (const cache::Serve& serve : decisions.serve) {
    if (is_real_) batch.begin_of.push_back(static_cast<std::size_t>(batch.size.count()));
    batch.size += data_.manifest().size_of(serve.given);
  }
  if (is_real_) batch.begin_of.push_back(static_cast<std::size_t>(batch.size.count()));
}

/// Copies what is here. The batch waits for samples in flight, also for those that a tier will hold.
void CacheNode::collect(Batch& batch, const cache::Decisions& decisions) {
  if (is_real_) spare_.give(batch);
  for (std::size_t position = 0; position < decisions.serve.size(); ++position) {
    const SampleId id = decisions.serve[position].given;
    if (engine_.in_flight(id)) {
      waiters_.insert({id, {&batch, position}});
      ++batch.missing;
    } else if (is_real_) {
      std::ranges::copy(kept_.at(id), place(batch, position).begin());
    }
  }
}

/// Where a sample of the batch is. Pre: math is real.
std::span<std::byte> CacheNode::place(Batch& batch, std::size_t position) const {
  const std::size_t begin = batch.begin_of[position];
  return std::span(batch.records).subspan(begin, batch.begin_of[position + 1] - begin);
}

/// What is read for a batch goes into its message.
void CacheNode::read(const cache::Decisions& decisions, std::int64_t epoch) {
  for (const cache::Fetch& fetch : decisions.fetch) {
    for (const SampleId id : decisions.ids_of(fetch)) {
      SampleRead& read = reads_[store_of(id, sources_.size())];
      read.ids.push_back(id);
      read.size += data_.manifest().size_of(id);
      if (!is_real_) continue;
      const Waiter& first = waiters_.find(id)->second;
      read.targets.push_back(place(*first.batch, first.position));
    }
    for (std::size_t source = 0; source < sources_.size(); ++source) {
      if (reads_[source].ids.empty()) continue;
      reads_[source].epoch = epoch;
      sources_[source]->add(std::exchange(reads_[source], {}));
    }
  }
}

/// What is kept before it arrived is here when it arrives.
void CacheNode::move(const std::vector<cache::Move>& moves) {
  for (const cache::Move& move : moves)
    if (move.to == cache::outside) kept_.erase(move.id);
}

void CacheNode::take(SampleRead read) {
  record(read.epoch, from_store).reading += read.duration;
  arrived_.clear();
  for (const SampleId id : read.ids)
    arrived_.push_back({.id = id, .size = data_.manifest().size_of(id), .from = cache::store()});
  move(engine_.arrived(arrived_).move);
  complete_.clear();
  for (std::size_t i = 0; i < read.ids.size(); ++i)
    deliver(read.ids[i],
            is_real_ ? std::span<const std::byte>(read.targets[i]) : std::span<const std::byte>());
  for (Client* client : complete_) send_complete(*client);
}

/// To all batches that wait for the sample, and to the tier that keeps it.
void CacheNode::deliver(SampleId id, std::span<const std::byte> record) {
  if (is_real_ && engine_.has(id)) kept_[id].assign(record.begin(), record.end());
  const auto [begin, end] = waiters_.equal_range(id);
  for (auto each = begin; each != end; ++each) {
    const auto& [batch, position] = each->second;
    if (is_real_) {
      const std::span<std::byte> target = place(*batch, position);
      if (target.data() != record.data()) std::ranges::copy(record, target.begin());
    }
    if (--batch->missing > 0) continue;
    this->record(batch->epoch, from_store).blocked += context_.now() - batch->asked;
    complete_.push_back(batch->client);
  }
  waiters_.erase(begin, end);
}

/// A client gets its batches in the order of its requests.
void CacheNode::send_complete(Client& client) {
  for (Batch& batch : client.batches) {
    if (batch.is_sent) continue;
    if (batch.missing > 0) return;
    batch.send =
        context_.send(client.rank, protocol::batches, {batch.size, is_real_ ? batch.records.data() : nullptr},
                      protocol::pack(protocol::Batch{.samples = batch.samples}));
    batch.is_sent = true;
    records_.note_done(context_.now());
  }
}

CacheRecord& CacheNode::record(std::int64_t epoch, const std::string& from) {
  return cache_record(journal_.caches, context_.rank(), epoch, from);
}

}  // namespace tandem
