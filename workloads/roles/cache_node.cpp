#include "workloads/roles/cache_node.hpp"

#include "policies/cache/text.hpp"
#include "workloads/data/record_store.hpp"
#include "workloads/protocol.hpp"
#include "workloads/roles/cache_clients.hpp"

namespace tandem {

CacheNode::CacheNode(const Job& job, Context& context, Journal& journal, int index)
    : data_(job.data()),
      context_(context),
      journal_(journal),
      records_(job, context.rank(), journal),
      engine_(data_.make_cache_engine()) {
  if (const Dataset* dataset = data_.dataset())
    store_ =
        std::make_unique<RecordStore>(job.spec().directory + "/records_" + std::to_string(index) + ".bin",
                                      *dataset, job.spec().experiment.data.cold);
  const auto workers = job.roster().workers();
  for (std::size_t worker = 0; worker < workers.size(); ++worker)
    if (cache_node_of(job.roster(), worker) == static_cast<std::size_t>(index))
      clients_.emplace_back().rank = workers[worker];
}

CacheNode::~CacheNode() = default;

void CacheNode::run() {
  const auto listen = [this](Client& client) {
    client.ids.resize(static_cast<std::size_t>(data_.largest_batch()));
    return context_.receive(client.rank, protocol::requests,
                            {Bytes(static_cast<std::int64_t>(client.ids.size() * sizeof(SampleId))),
                             reinterpret_cast<std::byte*>(client.ids.data())});
  };
  for (Client& client : clients_) inbox_.push_back(listen(client));
  for (std::size_t open = clients_.size(); open > 0;) {
    const Completion arrived = context_.wait_any(inbox_);
    Client& client = clients_[arrived.index];
    if (protocol::holds<protocol::End>(arrived.note)) {
      for (Sending& batch : client.sending) context_.wait(batch.send);
      --open;
      continue;
    }
    const auto request = protocol::unpack<protocol::Request>(arrived.note);
    client.ids.resize(static_cast<std::size_t>(request.samples));
    serve(client, request.epoch);
    records_.note_done(context_.now());
    inbox_[arrived.index] = listen(client);
  }
}

void CacheNode::serve(Client& client, std::int64_t epoch) {
  CacheRecord& record = record_of(epoch);
  const cache::Decisions& decisions = decide(client.ids, epoch, record);
  // Reading reports arrivals, for which the engine reuses its decisions.
  served_.assign(decisions.serve.begin(), decisions.serve.end());
  moves_.assign(decisions.move.begin(), decisions.move.end());
  arrived_.clear();
  for (const cache::Fetch& read : decisions.fetch)
    for (const SampleId id : decisions.ids_of(read))
      arrived_.push_back({id, data_.info().record_bytes(), read.from, read.why});
  read_missing(record);
  Sending& batch = next_batch(client);
  if (store_) fill(batch.records);
  const Bytes size = data_.info().record_bytes() * static_cast<std::int64_t>(client.ids.size());
  batch.send =
      context_.send(client.rank, protocol::batches, {size, store_ ? batch.records.data() : nullptr},
                    protocol::pack(protocol::Batch{.samples = static_cast<std::int32_t>(client.ids.size())}));
}

/// A batch to be sent to the client, behind those that are on their way. There are at most as many as the
/// client has requested ahead. The node does not wait for them: a client with a slow link must not delay the
/// others.
CacheNode::Sending& CacheNode::next_batch(Client& client) {
  std::vector<std::byte> records;
  while (!client.sending.empty() && context_.is_done(client.sending.front().send)) {
    context_.wait(client.sending.front().send);
    records = std::move(client.sending.front().records);
    client.sending.pop_front();
  }
  return client.sending.emplace_back(Sending{std::move(records), {}});
}

const cache::Decisions& CacheNode::decide(const std::vector<SampleId>& ids, std::int64_t epoch,
                                          CacheRecord& record) {
  const Bytes size = data_.info().record_bytes();
  wanted_.clear();
  for (const SampleId id : ids) {
    wanted_.push_back({id, size});
    if (journal_.keep_requests) journal_.requests.push_back({context_.rank(), epoch, id, size.count()});
  }
  const cache::Want want{.epoch = epoch, .now = wanted_};
  const cache::Decisions& decisions = engine_.want(want);
  for (const cache::Serve& serve : decisions.serve) {
    const bool local = serve.from.where == cache::Where::tier;
    ++(local ? record.local : record.storage);
    (local ? record.local_bytes : record.storage_bytes) += size.count();
  }
  if (journal_.keep_decisions)
    journal_.decisions.push_back({context_.rank(), "cache", cache::to_text(want), cache::to_text(decisions)});
  return decisions;
}

/// One read for all misses of the request: each is a request to the disk.
void CacheNode::read_missing(CacheRecord& record) {
  if (arrived_.empty()) return;
  const Bytes size = data_.info().record_bytes();
  const Seconds start = context_.now();
  Kernel transfer;
  if (store_)
    transfer = [&] {
      for (const cache::Arrived& read : arrived_) {
        auto& record = missing_[read.id];
        record.resize(static_cast<std::size_t>(size.count()));
        store_->read(read.id, record);
      }
    };
  const auto requests = static_cast<std::int64_t>(arrived_.size());
  Pending reading = context_.read(0, {size * requests, requests}, std::move(transfer));
  context_.wait(reading);
  record.storage_time += context_.now() - start;
  engine_.arrived(arrived_);
}

/// Assembles the batch, then keeps and evicts records as the policy decided.
void CacheNode::fill(std::vector<std::byte>& records) {
  records.clear();
  for (const cache::Serve& serve : served_) {
    const auto fetched = missing_.find(serve.given);
    const auto& record = fetched != missing_.end() ? fetched->second : kept_.at(serve.given);
    records.insert(records.end(), record.begin(), record.end());
  }
  for (const cache::Move& move : moves_) {
    if (move.to == cache::outside)
      kept_.erase(move.id);
    else
      kept_[move.id] = missing_.at(move.id);
  }
  missing_.clear();
}

CacheRecord& CacheNode::record_of(std::int64_t epoch) {
  for (CacheRecord& record : journal_.caches)
    if (record.epoch == epoch) return record;
  return journal_.caches.emplace_back(CacheRecord{.rank = context_.rank(), .epoch = epoch});
}

}  // namespace tandem
