#include "workloads/roles/cache/cache_node.hpp"

#include <algorithm>
#include <cstring>
#include <limits>
#include <string>
#include <utility>

#include "policies/vocabulary/check.hpp"
#include "workloads/job/cache_clients.hpp"
#include "workloads/job/cache_policy.hpp"
#include "workloads/records/cache_rows.hpp"
#include "workloads/roles/cache/recorded_policy.hpp"

namespace tandem {
namespace {

const std::string from_store = "store";
const std::string from_peer = "peer";
const std::string substituted = "substituted";
const std::string from_disk = "tier1";

/// As in caches.csv.
std::string name_of(const cache::Place& place) {
  switch (place.where) {
    case cache::Where::tier:
      return "tier" + std::to_string(place.number);
    case cache::Where::peer:
      return from_peer;
    case cache::Where::store:
      break;
  }
  return from_store;
}

std::string class_of(const cache::Serve& serve) {
  return serve.given != serve.asked && !serve.swapped ? substituted : name_of(serve.from);
}

CacheEngine make_engine(std::span<const ServedJob> served, Rank rank, int index, int incarnation) {
  const Job& job = *served.front().job;
  const DataPlan& data = job.data();
  const auto nodes = static_cast<int>(job.roster().ranks_of(Roster::Role::cache_node).size());
  const bool wants_alone = !data.cache_factory().needs.manifest && !job.roster().directory();
  auto policy = data.make_cache_policy(index, nodes, static_cast<int>(served.size()));
  auto recorded =
      std::make_unique<RecordedPolicy>(std::move(policy), *served.front().journal, rank, wants_alone);
  if (incarnation > 1 || job.spec().experiment.data.keep) recorded->record_new();
  return {std::move(recorded), data.cache_tiers(), data.manifest(), static_cast<int>(served.size())};
}

int largest_own_batch(std::span<const ServedJob> jobs) {
  int largest = 0;
  for (const ServedJob& served : jobs) largest = std::max(largest, served.job->data().batch());
  return largest;
}

}  // namespace

CacheNode::CacheNode(std::span<const ServedJob> jobs, Context& context, int index, const Life& life)
    : job_(*jobs.front().job),
      data_(job_.data()),
      context_(context),
      life_(life),
      own_records_(life.records == nullptr
                       ? std::make_optional<RecordFiles>(job_, context.rank(), *jobs.front().journal)
                       : std::nullopt),
      records_(life.records == nullptr ? *own_records_ : *life.records),
      engine_(make_engine(jobs, context.rank(), index, life.incarnation)),
      given_(jobs.front().job->spec().experiment),
      is_real_(data_.dataset() != nullptr),
      stores_(jobs.front().job->roster().ranks_of(Roster::Role::store).size()),
      index_(static_cast<std::size_t>(index)),
      steward_(job_.roster().steward()),
      reads_ahead_(data_.cache_factory().needs.idle),
      resident_lists_(ResidentLists::of(job_)),
      background_(static_cast<std::size_t>(largest_own_batch(jobs)), most_samples_of_read(jobs)),
      most_to_write_(data_.largest_sample() * (2 * largest_own_batch(jobs))) {
  add_sources(job_, index);
  add_clients(jobs);
}

void CacheNode::add_sources(const Job& job, int index) {
  const std::string number = std::to_string(index) + ".bin";
  const std::string& directory = job.spec().directory;
  const bool keeps = job.spec().experiment.data.keep;
  if (keeps) left_tier_ = find_left_tier(job);
  if (is_real_ && data_.has_disk_tier())
    tier_file_ = std::make_unique<TierFile>(tier_file_path(directory, index), data_.manifest(),
                                            !keeps                    ? TierFile::Begin::nameless
                                            : left_tier_ == directory ? TierFile::Begin::as_left
                                                                      : TierFile::Begin::empty);
  const auto add_disk = [&] {
    auto disk =
        std::make_unique<DiskSource>(context_, data_.manifest(), parallel_requests(job, context_.rank()),
                                     own_disk_.get(), tier_file_.get(), given_.is_sent());
    disk_ = disk.get();
    sources_.push_back(std::move(disk));
  };
  for (const Rank store : job.roster().ranks_of(Roster::Role::store)) {
    auto source = std::make_unique<StoreSource>(context_, store, given_);
    store_sources_.push_back(source.get());
    sources_.push_back(std::move(source));
  }
  if (stores_ == 0) {
    own_disk_ = data_.open_source(job.spec().directory + "/records_" + number);
    add_disk();
  }
  add_peers(job);
  reads_.resize(sources_.size());
  if (stores_ > 0 && data_.has_disk_tier()) add_disk();
}

CacheNode::~CacheNode() = default;

void CacheNode::run() {
  wait_.resize(clients_.size() + sources_.size() + (directory_ ? 1 : 0) + (watch_ ? watch_->size() : 0) +
               (steward_ ? 1 : 0));
  const bool joins = life_.incarnation > 1;
  if (steward_ && !joins) wait_.back() = protocol::receive<"membership">(context_, *steward_);
  if (job_.spec().experiment.data.keep) begin_tier(job_);
  if (joins) join();
  begin_job(jobs_.front());
  serve();
  for (NodeJob& job : jobs_) record_background(job);
  // One that came later does not know what the node before it was asked for.
  if (jobs_.size() == 1 && life_.incarnation == 1) record_most(jobs_.front());
  for (std::size_t i = 0; i < sources_.size(); ++i) sources_[i]->close(wait_[clients_.size() + i]);
  if (directory_) directory_->close();
  if (steward_) end_membership();
}

/// What a worker that is gone has asked for is read to its end, and what is kept is written.
bool CacheNode::is_over() const {
  if (tier_index_ && disk_->to_write() > Bytes(0)) return false;
  return open_ == 0 && ended_peer_reads_ && !awaits_workers() && !background_.is_running() &&
         waiters_.empty() && tier_waiters_.empty() && (!watch_ || watch_->has_ended());
}

void CacheNode::serve() {
  const std::span<Pending> reads = std::span(wait_).subspan(clients_.size(), sources_.size());
  const std::size_t of_directory = clients_.size() + sources_.size();
  const std::size_t of_watch = of_directory + (directory_ ? 1 : 0);
  for (end_peer_reads(); !is_over(); end_peer_reads()) {
    listen_to_clients();
    read_in_background();
    if (steward_ && take_refused()) continue;
    for (std::size_t i = 0; i < sources_.size(); ++i) sources_[i]->put_next(reads[i]);
    if (directory_) directory_->put_next(wait_[of_directory]);
    if (watch_) watch_->listen(std::span(wait_).subspan(of_watch, watch_->size()));
    const Completion ended = context_.wait_any(wait_);
    if (steward_) drop_lost();
    if (ended.index < clients_.size()) {
      Client& client = clients_[ended.index];
      if (client.is_joining)
        advance_join(client, ended);
      else
        hear(client, ended.note);
    } else if (ended.index < of_directory) {
      SampleReads& source = *sources_[ended.index - clients_.size()];
      source.hear(ended);
      if (const auto read = source.finish()) take(*read);
    } else if (ended.index < of_watch) {
      hear_directory(ended.note);
    } else if (watch_ && ended.index < of_watch + watch_->size()) {
      watch_->hear(ended.index - of_watch, ended.note);
    } else {
      hear_steward(ended.note);
    }
  }
}

/// Of other nodes that are not there. Each may lead to other reads.
bool CacheNode::take_refused() {
  for (PeerSource* peer : peers_)
    if (const auto read = peer->take_refused()) {
      take(*read);
      return true;
    }
  return false;
}

/// What a batch displaces from memory stays there until it is written, so a slow disk slows down the workers.
/// Other nodes displace nothing.
void CacheNode::listen_to_clients() {
  const bool is_behind = disk_ != nullptr && disk_->to_write() > most_to_write_;
  for (std::size_t i = 0; i < clients_.size(); ++i) {
    Client& client = clients_[i];
    if (is_behind && !client.is_peer) continue;
    if (wait_[i].empty() && !client.has_ended && !client.is_held) wait_[i] = listen(client);
  }
}

Pending CacheNode::listen(Client& client) {
  client.ids.resize(client.is_peer ? protocol::Found::most
                                   : static_cast<std::size_t>(client.job->data.largest_batch()));
  const Slice ids{Bytes(static_cast<std::int64_t>(client.ids.size() * sizeof(SampleId))),
                  reinterpret_cast<std::byte*>(client.ids.data())};
  return client.is_peer ? protocol::receive<"peer-reads">(context_, client.rank, ids)
                        : protocol::receive<"requests">(context_, client.rank, ids);
}

void CacheNode::hear(Client& client, const Note& note) {
  if (protocol::as<protocol::End>(note)) {
    end(client);
    return begin_due_epoch(*client.job);
  }
  if (client.is_peer) {
    const auto read = protocol::unpack<protocol::Read>(note);
    client.ids.resize(static_cast<std::size_t>(read.samples));
    client.request.epoch = read.epoch;
    client.is_held = must_wait(client);
    if (!client.is_held) answer_peer(client, read.epoch);
    return;
  }
  client.request = protocol::unpack<protocol::Request>(note);
  if (client.request.samples == 0) return tell_residents(client);
  client.ids.resize(static_cast<std::size_t>(client.request.samples));
  NodeJob& job = *client.job;
  begin_job(job);
  note_first_epoch(job, client.request.epoch);
  if (!job.epoch || client.request.epoch <= job.epoch->epoch()) return begin_request(client);
  client.is_held = true;
  begin_due_epoch(job);
}

/// Among the workers of its job.
std::size_t CacheNode::number_of(const Client& client) const {
  return index_of(client) - client.job->first_client;
}

std::size_t CacheNode::index_of(const Client& client) const {
  return static_cast<std::size_t>(&client - clients_.data());
}

std::span<CacheNode::Client> CacheNode::clients_of(const NodeJob& job) {
  return std::span(clients_).subspan(job.first_client, job.clients);
}

void CacheNode::begin_batch(Client& client) {
  const std::int64_t epoch = client.request.epoch;
  NodeJob& job = *client.job;
  active_ = &job;
  job.last_epoch = std::max(job.last_epoch, epoch);
  if (directory_) tell_holders(client);
  if (job.probe) tell(job, job.probe->begin_batch());
  const cache::Decisions& decisions = decide(client);
  if (!may_depart()) job.deliveries.note(number_of(client), epoch, client.ids, decisions.serve);
  if (jobs_.size() == 1) job.order.add(epoch, decisions.serve);
  Batch& batch = new_batch(client);
  if (job.probe) batch.probe = job.probe->tag();
  lay_out(batch, decisions);
  batch.samples = static_cast<std::int32_t>(decisions.serve.size());
  batch.epoch = epoch;
  if (may_depart()) {
    batch.asked_for = client.ids;
    batch.counted = counted_;
  }
  const bool has_waited = std::exchange(client.lookups, 0) > 0;
  batch.asked = has_waited ? client.asked : context_.now();
  // Before the moves, which may evict what this batch is served.
  collect(batch, decisions);
  read_tier(batch);
  apply(decisions, job, epoch);
  for (const cache::Serve& serve : decisions.serve) hurry(serve.given);
  is_idle_due_ = reads_ahead_;
  // What was awaited is here meanwhile.
  if (has_waited && batch.missing == 0)
    job.record(epoch, class_of(decisions.serve.back())).blocked += context_.now() - batch.asked;
  send_complete(client);
}

const cache::Decisions& CacheNode::decide(const Client& client) {
  const cache::Want want = want_of(client);
  NodeJob& job = *client.job;
  if (job.journal.keep_requests)
    for (const SampleId id : client.ids)
      job.journal.requests.push_back({job.rank, want.epoch, id, data_.manifest().size_of(id).count()});
  const cache::Decisions& decisions = engine_.want(want);
  if (job.epoch) job.epoch->note_served(decisions.serve);
  count(decisions);
  if (!may_depart()) note_counted(job, want.epoch, counted_);
  return decisions;
}

cache::Want CacheNode::want_of(const Client& client) {
  NodeJob& job = *client.job;
  cache::Want want;
  if (job.epoch) {
    want = job.epoch->want(number_of(client), client.request.position, client.ids);
    // A worker that joins a node which has come back may be behind the others.
    want.epoch = client.request.epoch;
    return want;
  }
  wanted_.clear();
  for (const SampleId id : client.ids) wanted_.push_back({id, data_.manifest().size_of(id)});
  want.job = job.number;
  want.epoch = client.request.epoch;
  want.now = wanted_;
  return want;
}

void CacheNode::count(const cache::Decisions& decisions) {
  counted_.clear();
  for (const cache::Serve& serve : decisions.serve) {
    const std::string from = class_of(serve);
    const auto of = std::ranges::find(counted_, from, &Count::from);
    Count& count = of != counted_.end() ? *of : counted_.emplace_back(Count{.from = from});
    count.delivered.add(data_.manifest().size_of(serve.given));
  }
}

void CacheNode::note_counted(NodeJob& job, std::int64_t epoch, const std::vector<Count>& counted) {
  for (const auto& [from, delivered] : counted) {
    CacheRecord& row = job.record(epoch, from);
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

bool CacheNode::has_ids(const Batch& batch) const { return data_.may_replace() && !batch.client->is_peer; }

/// Gives each sample its place in the message, behind the ids if it has them.
void CacheNode::lay_out(Batch& batch, const cache::Decisions& decisions) const {
  if (has_ids(batch))
    batch.size = Bytes(static_cast<std::int64_t>(decisions.serve.size() * sizeof(SampleId)));
  for (const cache::Serve& serve : decisions.serve) {
    if (is_real_) batch.begin_of.push_back(static_cast<std::size_t>(batch.size.count()));
    batch.size += data_.manifest().size_of(serve.given);
  }
  if (is_real_) batch.begin_of.push_back(static_cast<std::size_t>(batch.size.count()));
  if (!batch.client->is_peer) batch.size += given_.size(decisions.serve.size());
}

/// Says which sample the batch has there, or that it has none.
void CacheNode::give(Batch& batch, std::size_t position, SampleId given) const {
  if (batch.client->is_peer) {
    if (given == bad_sample) batch.bad.push_back(position);
    return;
  }
  if (is_real_) given_.set(std::span(batch.records).subspan(batch.begin_of.back()), position, given);
}

/// Copies what is in memory. The batch waits for samples in flight, also for those that a tier will hold, and
/// for those that are read from the disk. What another job reads past the tiers is here meanwhile.
void CacheNode::collect(Batch& batch, const cache::Decisions& decisions) {
  if (is_real_) spare_.give(batch);
  for (std::size_t position = 0; position < decisions.serve.size(); ++position) {
    const SampleId id = decisions.serve[position].given;
    const auto counted = [&] {
      return batch.client->is_peer ? std::string() : class_of(decisions.serve[position]);
    };
    if (is_real_ && has_ids(batch))
      std::memcpy(batch.records.data() + position * sizeof(SampleId), &id, sizeof(SampleId));
    if (engine_.must_wait(decisions.serve[position])) {
      Waiter& waiter = waiters_.insert({id, {&batch, position, counted()}})->second;
      if (waiter.counted == from_peer && not_at_peer_.contains(id)) count_peer_miss(id, waiter);
      ++batch.missing;
    } else if (bad_.contains(id)) {
      give(batch, position, bad_sample);
    } else if (is_in_memory(id)) {
      give(batch, position, id);
      if (is_real_) std::ranges::copy(kept_.at(id), place(batch, position).begin());
    } else {
      const bool is_read = tier_waiters_.contains(id);
      tier_waiters_.insert({id, {&batch, position, counted()}});
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
void CacheNode::read_tier(const Batch& batch) {
  if (tier_read_.ids.empty()) return;
  tier_read_.what = SampleRead::What::from_tier;
  tier_read_.job = batch.client->job->number;
  tier_read_.epoch = batch.epoch;
  disk_->add(std::exchange(tier_read_, {}));
}

/// What follows an event: reads, then moves.
void CacheNode::apply(const cache::Decisions& decisions, const NodeJob& job, std::int64_t epoch) {
  read(decisions, job, epoch);
  move(decisions.move);
  if (directory_) directory_->note(decisions, epoch);
}

void CacheNode::read(const cache::Decisions& decisions, const NodeJob& job, std::int64_t epoch) {
  background_.add(decisions, epoch, job.number);
  for (const cache::Fetch& fetch : decisions.fetch) {
    const auto ids = decisions.ids_of(fetch);
    if (fetch.from.where == cache::Where::peer) from_peers_.insert(ids.begin(), ids.end());
    if (fetch.why != cache::Why::demand) continue;
    for (const SampleId id : ids) add(reads_[source_of(fetch.from, id)], waiters_, id);
    for (std::size_t source = 0; source < reads_.size(); ++source) {
      if (reads_[source].ids.empty()) continue;
      reads_[source].job = job.number;
      reads_[source].epoch = epoch;
      reads_[source].from = fetch.from;
      reads_[source].moment = moment_;
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
      if (tier > 0 && !engine_.in_flight(move.id) && !bad_.contains(move.id))
        write(move.id, std::move(kept->second));
      kept_.erase(kept);
    }
    if (tier == cache::outside && move.from > 0) remove_from_disk(move.id);
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
  if (read.what == SampleRead::What::to_tier) return note_writes(read);
  const bool from_tier = read.what == SampleRead::What::from_tier;
  if (read.why != cache::Why::demand)
    end_in_background(read);
  else
    job_of(read).record(read.epoch, from_tier ? from_disk : name_of(read.from)).reading += read.duration;
  const std::size_t needed = read.ids.size() - read.others;
  if (read.what == SampleRead::What::samples) note_arrived(read, needed);
  complete_.clear();
  for (std::size_t i = 0; i < needed; ++i) {
    if (from_tier && read.has_failed(i))
      read_instead(read, i);
    else
      settle(read, i);
  }
  if (!tier_write_.ids.empty()) disk_->add(std::exchange(tier_write_, {}));
  for (Client* client : complete_) send_complete(*client);
}

/// A sample is here, or cannot be had.
void CacheNode::settle(const SampleRead& read, std::size_t position) {
  const SampleId id = read.ids[position];
  const bool is_there = !read.has_failed(position);
  const bool from_tier = read.what == SampleRead::What::from_tier;
  const bool instead = read.what == SampleRead::What::instead_of_tier;
  if (!is_there)
    bad_.insert(id);
  else if (!from_tier)
    bad_.erase(id);
  if (instead) {
    const auto [begin, end] = tier_waiters_.equal_range(id);
    for (auto each = begin; each != end; ++each) recount(id, each->second, from_store);
  }
  deliver(from_tier || instead ? tier_waiters_ : waiters_, from_tier ? from_disk : name_of(read.from), id,
          read, position);
  const std::span<const std::byte> bytes = is_real_ && is_there
                                               ? std::span<const std::byte>(read.targets[position])
                                               : std::span<const std::byte>();
  keep(id, bytes);
  if ((from_tier || instead) && engine_.tier_of(id) <= 0) remove_from_disk(id);
  // A full disk would have no room again.
  const bool is_new = instead || !engine_.is_kept(id);
  if (!from_tier && is_there && is_new && engine_.tier_of(id) > 0 && !(instead && tier_is_full_))
    write(id, {bytes.begin(), bytes.end()});
}

/// The tier should have the sample, and has not, or something else: its data set has it.
void CacheNode::read_instead(const SampleRead& read, std::size_t position) {
  const SampleId id = read.ids[position];
  sources_[source_of(cache::store(), id)]->add({.ids = {id},
                                                .size = data_.manifest().size_of(id),
                                                .targets = {read.targets[position]},
                                                .what = SampleRead::What::instead_of_tier,
                                                .job = read.job,
                                                .epoch = read.epoch});
}

/// Moves a sample that does not come from where the policy has served it to the row of another place.
/// Substituted ones count as such wherever they come from, and those of other nodes do not count.
bool CacheNode::recount(SampleId id, Waiter& waiter, const std::string& to) {
  if (waiter.counted.empty() || waiter.counted == substituted || waiter.counted == to) return false;
  const std::int64_t bytes = data_.manifest().size_of(id).count();
  for (const auto& [from, sign] : {std::pair(waiter.counted, -1), std::pair(to, 1)}) {
    if (may_depart()) {
      waiter.batch->counted.push_back({.from = from, .delivered = {.samples = sign, .bytes = sign * bytes}});
      continue;
    }
    CacheRecord& row = waiter.batch->client->job->record(waiter.batch->epoch, from);
    row.samples += sign;
    row.bytes += sign * bytes;
  }
  waiter.counted = to;
  return true;
}

/// What the disk had no room for is read from the data set again: the tier is smaller than its capacity.
void CacheNode::note_writes(const SampleRead& read) {
  for (std::size_t i = 0; i < read.ids.size(); ++i) {
    if (!read.has_failed(i)) {
      if (engine_.tier_of(read.ids[i]) > 0) note_in_tier(read.ids[i], true);
      continue;
    }
    tier_is_full_ = true;
    CacheRecord& row = active_->record(active_->last_epoch, std::string(no_room_row));
    ++row.samples;
    row.bytes += data_.manifest().size_of(read.ids[i]).count();
  }
}

/// In memory, if it belongs there.
void CacheNode::keep(SampleId id, std::span<const std::byte> record) {
  if (engine_.tier_of(id) == 0 && (is_real_ || data_.has_disk_tier()))
    kept_[id].assign(record.begin(), record.end());
}

/// To all batches that wait for it.
void CacheNode::deliver(Waiters& waiters, const std::string& from, SampleId id, const SampleRead& read,
                        std::size_t position) {
  const bool is_there = !read.has_failed(position);
  const auto [begin, end] = waiters.equal_range(id);
  for (auto each = begin; each != end; ++each) {
    // A directory may have named another place than that of a read which had begun before.
    if (directory_ && (each->second.counted == from_store || each->second.counted == from_peer))
      recount(id, each->second, from);
    const auto& [batch, in_batch, unused] = each->second;
    give(*batch, in_batch, is_there ? id : bad_sample);
    if (is_real_ && is_there) {
      const std::span<std::byte> source = read.targets[position];
      const std::span<std::byte> target = place(*batch, in_batch);
      if (target.data() != source.data()) std::ranges::copy(source, target.begin());
    }
    if (--batch->missing > 0) continue;
    if (batch->is_lost) continue;
    const Client& client = *batch->client;
    if (!client.is_peer) client.job->record(batch->epoch, from).blocked += context_.now() - batch->asked;
    complete_.push_back(batch->client);
  }
  waiters.erase(begin, end);
}

/// A client gets its batches in the order of its requests.
void CacheNode::send_complete(Client& client) {
  for (Batch& batch : client.batches) {
    if (batch.is_sent) continue;
    if (batch.missing > 0) return;
    if (!batch.bad.empty()) take_out_bad(batch);
    const Slice data{batch.size, is_real_ ? batch.records.data() : nullptr};
    batch.send = client.is_peer ? protocol::send<"peer-data">(context_, client.rank, batch.found, data)
                                : protocol::send<"batches">(context_, client.rank,
                                                            protocol::Batch{.samples = batch.samples}, data);
    batch.is_sent = true;
    if (may_depart() && !client.is_peer) {
      note_counted(*client.job, batch.epoch, batch.counted);
      client.job->deliveries.note(number_of(client), batch.epoch, batch.asked_for);
    }
    records_.note_done(context_.now());
    if (directory_ && !client.is_peer) directory_->send_updates();
    note_sent(batch);
  }
}

}  // namespace tandem
