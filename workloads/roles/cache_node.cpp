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
const std::string from_disk = "tier1";

/// As in caches.csv.
std::string name_of(const cache::Place& place) {
  return place.where == cache::Where::tier ? "tier" + std::to_string(place.number) : from_store;
}

/// Two batches of a worker.
Bytes most_to_write(const DataPlan& data) {
  const cache::Manifest& manifest = data.manifest();
  const Bytes largest = manifest.sizes.empty() ? manifest.each : *std::ranges::max_element(manifest.sizes);
  return largest * (2 * data.batch());
}

}  // namespace

CacheNode::CacheNode(const Job& job, Context& context, Journal& journal, int index)
    : data_(job.data()),
      context_(context),
      journal_(journal),
      records_(job, context.rank(), journal),
      engine_(data_.make_cache_engine()),
      is_real_(data_.dataset() != nullptr),
      stores_(job.roster().ranks_of(Roster::Role::store).size()),
      most_to_write_(most_to_write(data_)) {
  const auto stores = job.roster().ranks_of(Roster::Role::store);
  for (const Rank store : stores) sources_.push_back(std::make_unique<StoreSource>(context, store));
  const std::string number = std::to_string(index) + ".bin";
  if (stores_ == 0) own_disk_ = data_.open_source(job.spec().directory + "/records_" + number);
  if (is_real_ && data_.has_disk_tier())
    tier_file_ = std::make_unique<TierFile>(job.spec().directory + "/tier_" + number, data_.manifest());
  if (stores_ == 0 || data_.has_disk_tier()) {
    auto disk = std::make_unique<DiskSource>(
        context, data_.manifest(), parallel_requests(job, context.rank()), own_disk_.get(), tier_file_.get());
    disk_ = disk.get();
    sources_.push_back(std::move(disk));
  }
  reads_.resize(std::max<std::size_t>(1, stores_));
  const auto workers = job.roster().workers();
  for (std::size_t worker = 0; worker < workers.size(); ++worker)
    if (cache_node_of(job.roster(), worker) == static_cast<std::size_t>(index))
      clients_.emplace_back().rank = workers[worker];
  open_ = clients_.size();
  deliveries_.emplace(data_.manifest(), context_.rank(), journal_, clients_.size());
}

CacheNode::~CacheNode() = default;

void CacheNode::run() {
  wait_.resize(clients_.size() + sources_.size());
  const std::span<Pending> reads = std::span(wait_).subspan(clients_.size());
  while (open_ > 0) {
    listen_to_clients();
    for (std::size_t i = 0; i < sources_.size(); ++i) sources_[i]->put_next(reads[i]);
    const Completion ended = context_.wait_any(wait_);
    if (ended.index >= clients_.size()) {
      if (const auto read = sources_[ended.index - clients_.size()]->finish()) take(*read);
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
  }
  // What is still to be written is of no use any more.
  for (Pending& last : reads)
    if (!last.empty()) context_.wait(last);
  for (const auto& source : sources_) source->close();
}

/// What a batch displaces from memory stays there until it is written, so a slow disk slows down the clients.
void CacheNode::listen_to_clients() {
  if (disk_ != nullptr && disk_->to_write() > most_to_write_) return;
  for (std::size_t client = 0; client < clients_.size(); ++client)
    if (wait_[client].empty() && !clients_[client].has_ended) wait_[client] = listen(clients_[client]);
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
  client.has_ended = true;
  deliveries_->end(number_of(client));
  --open_;
}

std::size_t CacheNode::number_of(const Client& client) const {
  return static_cast<std::size_t>(&client - clients_.data());
}

void CacheNode::begin_batch(Client& client, std::int64_t epoch) {
  const cache::Decisions& decisions = decide(client.ids, epoch);
  deliveries_->note(number_of(client), epoch, decisions.serve);
  Batch& batch = new_batch(client);
  lay_out(batch, decisions);
  batch.samples = static_cast<std::int32_t>(decisions.serve.size());
  batch.epoch = epoch;
  batch.asked = context_.now();
  // Before the moves, which may evict what this batch is served.
  collect(batch, decisions);
  read_tier(epoch);
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
  if (journal_.keep_decisions) note(want, decisions);
  return decisions;
}

/// What the policy has decided. Which samples are then read depends on what is in flight, that is on time.
void CacheNode::note(const cache::Want& want, const cache::Decisions& decisions) {
  cache::Decisions own = decisions;
  std::erase_if(own.fetch, [](const cache::Fetch& read) { return read.why == cache::Why::demand; });
  journal_.decisions.push_back({context_.rank(), "cache", cache::to_text(want), cache::to_text(own)});
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

/// Copies what is in memory. The batch waits for samples in flight, also for those that a tier will hold, and
/// for those that are read from the disk.
void CacheNode::collect(Batch& batch, const cache::Decisions& decisions) {
  if (is_real_) spare_.give(batch);
  for (std::size_t position = 0; position < decisions.serve.size(); ++position) {
    const SampleId id = decisions.serve[position].given;
    if (engine_.in_flight(id)) {
      waiters_.insert({id, {&batch, position}});
      ++batch.missing;
    } else if (is_in_memory(id)) {
      if (is_real_) std::ranges::copy(kept_.at(id), place(batch, position).begin());
    } else {
      const bool is_read = tier_waiters_.contains(id);
      tier_waiters_.insert({id, {&batch, position}});
      if (!is_read) add(tier_read_, tier_waiters_, id);
      ++batch.missing;
    }
  }
}

/// Pre: not in flight. Without a tier on the disk, what is modelled is not kept.
bool CacheNode::is_in_memory(SampleId id) const { return !data_.has_disk_tier() || kept_.contains(id); }

/// Where a sample of the batch is. Pre: math is real.
std::span<std::byte> CacheNode::place(Batch& batch, std::size_t position) const {
  const std::size_t begin = batch.begin_of[position];
  return std::span(batch.records).subspan(begin, batch.begin_of[position + 1] - begin);
}

/// What is read for a batch goes into its message.
void CacheNode::add(SampleRead& read, const Waiters& waiters, SampleId id) {
  read.ids.push_back(id);
  read.size += data_.manifest().size_of(id);
  if (!is_real_) return;
  const Waiter& first = waiters.find(id)->second;
  read.targets.push_back(place(*first.batch, first.position));
}

/// What the batch needs from the tier on the disk, and no batch before it.
void CacheNode::read_tier(std::int64_t epoch) {
  if (tier_read_.ids.empty()) return;
  tier_read_.what = SampleRead::What::from_tier;
  tier_read_.epoch = epoch;
  disk_->add(std::exchange(tier_read_, {}));
}

void CacheNode::read(const cache::Decisions& decisions, std::int64_t epoch) {
  for (const cache::Fetch& fetch : decisions.fetch) {
    for (const SampleId id : decisions.ids_of(fetch)) add(reads_[store_of(id, reads_.size())], waiters_, id);
    for (std::size_t source = 0; source < reads_.size(); ++source) {
      if (reads_[source].ids.empty()) continue;
      reads_[source].epoch = epoch;
      sources_[source]->add(std::exchange(reads_[source], {}));
    }
  }
}

/// To where the samples are when all moves are made. What is being read goes there when it has been read.
void CacheNode::move(const std::vector<cache::Move>& moves) {
  for (const cache::Move& move : moves) {
    const int tier = engine_.tier_of(move.id);
    const auto kept = tier == 0 ? kept_.end() : kept_.find(move.id);
    if (kept != kept_.end()) {
      if (tier > 0 && !engine_.in_flight(move.id)) write(move.id, std::move(kept->second));
      kept_.erase(kept);
    }
    if (tier == cache::outside && move.from > 0) disk_->remove(move.id);
  }
  if (!tier_write_.ids.empty()) disk_->add(std::exchange(tier_write_, {}));
}

/// Into the tier on the disk, with the next write.
void CacheNode::write(SampleId id, std::vector<std::byte> record) {
  tier_write_.what = SampleRead::What::to_tier;
  tier_write_.ids.push_back(id);
  tier_write_.size += data_.manifest().size_of(id);
  if (is_real_) tier_write_.records.push_back(std::move(record));
}

void CacheNode::take(const SampleRead& read) {
  if (read.what == SampleRead::What::to_tier) return;
  const bool from_tier = read.what == SampleRead::What::from_tier;
  const std::string& from = from_tier ? from_disk : from_store;
  record(read.epoch, from).reading += read.duration;
  if (!from_tier) {
    arrived_.clear();
    for (const SampleId id : read.ids)
      arrived_.push_back({.id = id, .size = data_.manifest().size_of(id), .from = cache::store()});
    move(engine_.arrived(arrived_).move);
  }
  complete_.clear();
  for (std::size_t i = 0; i < read.ids.size(); ++i) {
    const SampleId id = read.ids[i];
    const std::span<const std::byte> bytes =
        is_real_ ? std::span<const std::byte>(read.targets[i]) : std::span<const std::byte>();
    deliver(from_tier ? tier_waiters_ : waiters_, from, id, bytes);
    keep(id, bytes);
    if (from_tier && engine_.tier_of(id) <= 0) disk_->remove(id);
    if (!from_tier && engine_.tier_of(id) > 0) write(id, {bytes.begin(), bytes.end()});
  }
  if (!tier_write_.ids.empty()) disk_->add(std::exchange(tier_write_, {}));
  for (Client* client : complete_) send_complete(*client);
}

/// In memory, if it belongs there.
void CacheNode::keep(SampleId id, std::span<const std::byte> record) {
  if (engine_.tier_of(id) == 0 && (is_real_ || data_.has_disk_tier()))
    kept_[id].assign(record.begin(), record.end());
}

/// To all batches that wait for it.
void CacheNode::deliver(Waiters& waiters, const std::string& from, SampleId id,
                        std::span<const std::byte> record) {
  const auto [begin, end] = waiters.equal_range(id);
  for (auto each = begin; each != end; ++each) {
    const auto& [batch, position] = each->second;
    if (is_real_) {
      const std::span<std::byte> target = place(*batch, position);
      if (target.data() != record.data()) std::ranges::copy(record, target.begin());
    }
    if (--batch->missing > 0) continue;
    this->record(batch->epoch, from).blocked += context_.now() - batch->asked;
    complete_.push_back(batch->client);
  }
  waiters.erase(begin, end);
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
