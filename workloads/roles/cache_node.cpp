#include "workloads/roles/cache_node.hpp"

#include "workloads/data/record_store.hpp"
#include "workloads/protocol.hpp"

namespace tandem {

CacheNode::CacheNode(const Job& job, Context& context, Journal& journal, int index)
    : data_(job.data()), context_(context), journal_(journal), policy_(data_.make_cache()) {
  if (const Dataset* dataset = data_.dataset())
    store_ = std::make_unique<RecordStore>(
        job.spec().directory + "/records_" + std::to_string(index) + ".bin", *dataset);
  const auto workers = job.roster().workers();
  const auto nodes = job.roster().ranks_of(Roster::Role::cache_node).size();
  for (std::size_t worker = static_cast<std::size_t>(index); worker < workers.size(); worker += nodes)
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
      if (!client.sending.empty()) context_.wait(client.sending);
      --open;
      continue;
    }
    const auto request = protocol::unpack<protocol::Request>(arrived.note);
    client.ids.resize(static_cast<std::size_t>(request.samples));
    serve(client, request.epoch);
    inbox_[arrived.index] = listen(client);
  }
}

void CacheNode::serve(Client& client, std::int64_t epoch) {
  CacheRecord& record = record_of(epoch);
  decide(client.ids, record);
  read_missing(record);
  if (!client.sending.empty()) context_.wait(client.sending);
  if (store_) fill(client.records);
  const Bytes size = data_.info().record_bytes() * static_cast<std::int64_t>(client.ids.size());
  client.sending =
      context_.send(client.rank, protocol::batches, {size, store_ ? client.records.data() : nullptr},
                    protocol::pack(protocol::Batch{.samples = static_cast<std::int32_t>(client.ids.size())}));
}

/// Asks the policy for every id in order. It admits and evicts at once, so a repeated id can hit.
void CacheNode::decide(const std::vector<SampleId>& ids, CacheRecord& record) {
  const Bytes size = data_.info().record_bytes();
  served_.clear();
  for (const SampleId id : ids) {
    const bool local = policy_->on_request(id, size).source == cache::Source::local;
    ++(local ? record.local : record.storage);
    (local ? record.local_bytes : record.storage_bytes) += size.count();
    Served& served = served_.emplace_back(Served{id, local, {}});
    if (!local) served.admission = policy_->on_fetched(id, size);
    if (!journal_.keep_decisions) continue;
    std::string decisions = local ? "local" : "storage";
    if (served.admission.keep) decisions += "; keep";
    for (const SampleId evicted : served.admission.evicted) decisions += "; evict " + std::to_string(evicted);
    journal_.decisions.push_back({context_.rank(), "cache", "request " + std::to_string(id), decisions});
  }
}

/// One read for all misses of the request: each is a request to the disk.
void CacheNode::read_missing(CacheRecord& record) {
  const Bytes size = data_.info().record_bytes();
  std::vector<SampleId> ids;
  for (const Served& served : served_)
    if (!served.local) ids.push_back(served.id);
  if (ids.empty()) return;
  const Seconds start = context_.now();
  Kernel transfer;
  if (store_)
    transfer = [&] {
      missing_.clear();
      for (const SampleId id : ids) {
        missing_.emplace_back(static_cast<std::size_t>(size.count()));
        store_->read(id, missing_.back());
      }
    };
  const auto requests = static_cast<std::int64_t>(ids.size());
  Pending reading = context_.read(0, {size * requests, requests}, std::move(transfer));
  context_.wait(reading);
  record.storage_time += context_.now() - start;
}

/// Assembles the batch, and keeps and evicts records as the policy decided.
void CacheNode::fill(std::vector<std::byte>& records) {
  records.clear();
  std::size_t next_missing = 0;
  for (const Served& served : served_) {
    if (served.local) {
      const auto& kept = kept_.at(served.id);
      records.insert(records.end(), kept.begin(), kept.end());
      continue;
    }
    auto& fetched = missing_[next_missing++];
    records.insert(records.end(), fetched.begin(), fetched.end());
    for (const SampleId evicted : served.admission.evicted) kept_.erase(evicted);
    if (served.admission.keep) kept_[served.id] = std::move(fetched);
  }
}

CacheRecord& CacheNode::record_of(std::int64_t epoch) {
  for (CacheRecord& record : journal_.caches)
    if (record.epoch == epoch) return record;
  return journal_.caches.emplace_back(CacheRecord{.rank = context_.rank(), .epoch = epoch});
}

}  // namespace tandem
